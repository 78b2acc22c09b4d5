#include "tensor/sparse/row_range.hpp"

#include <cstring>
#include <numeric>
#include <tenon/host/cast_storage.hpp>

#include "tensor/held_tensor.hpp"
#include "tensor/sparse/csr_rows.hpp"

namespace tenon {
namespace {

Shape with_rows(Shape shape, std::int64_t rows) {
  shape.set(0, rows);
  return shape;
}

/// Copies pieces to consecutive memory.
struct Filling {
  explicit Filling(Tensor whole)
      : tensor(std::move(whole)), next(static_cast<std::byte*>(tensor.data())) {}
  void add(const Tensor& piece) {
    if (piece.bytes() == 0) return;
    std::memcpy(next, piece.data(), static_cast<std::size_t>(piece.bytes()));
    next += piece.bytes();
  }
  Tensor tensor;
  std::byte* next;
};

Tensor join_csr(std::vector<Tensor>& pieces, std::int64_t rows, std::int64_t stored) {
  const auto dtype = pieces.front().dtype();
  const auto shape = with_rows(pieces.front().shape(), rows);
  Filling values(Tensor::empty(dtype, {stored})), columns(Tensor::empty(i64, {stored}));
  const Tensor starts = Tensor::empty(i64, {rows + 1});
  auto* start = starts.data<std::int64_t>();
  std::int64_t before = 0;
  *start++ = 0;
  for (auto& piece : pieces) {
    values.add(piece.stored_values());
    columns.add(piece.columns());
    const auto own = piece.row_starts();
    for (const auto end : own.values<std::int64_t>().subspan(1)) *start++ = before + end;
    before += piece.stored();
    piece = Tensor();
  }
  return Tensor::csr(values.tensor, HeldTensor::frozen(columns.tensor), HeldTensor::frozen(starts),
                     shape);
}

Tensor join_row_sparse(std::vector<Tensor>& pieces, std::int64_t rows, std::int64_t stored) {
  const auto shape = with_rows(pieces.front().shape(), rows);
  Filling values(Tensor::empty(pieces.front().dtype(), with_rows(shape, stored)));
  const Tensor ids = Tensor::empty(i64, {stored});
  auto* id = ids.data<std::int64_t>();
  std::int64_t before = 0;
  for (auto& piece : pieces) {
    values.add(piece.stored_values());
    const auto own = piece.row_ids();
    for (const auto row : own.values<std::int64_t>()) *id++ = before + row;
    before += piece.shape()[0];
    piece = Tensor();
  }
  return Tensor::row_sparse(values.tensor, HeldTensor::frozen(ids), shape);
}

}  // namespace

Tensor row_range(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == tensor.shape()[0]) return tensor;
  if (tensor.storage() == Storage::csr) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(end - begin));
    std::iota(rows.begin(), rows.end(), begin);
    return csr_rows(tensor, rows);
  }
  const auto row = tensor.shape()[0] == 0 ? 0 : tensor.bytes() / tensor.shape()[0];
  auto* const first = static_cast<std::byte*>(tensor.data()) + begin * row;
  const auto shape = with_rows(tensor.shape(), end - begin);
  auto owner = std::make_shared<Tensor>(tensor);
  return tensor.read_only()
             ? Tensor::borrow_read_only(first, tensor.dtype(), shape, {}, std::move(owner))
             : Tensor::borrow(first, tensor.dtype(), shape, {}, std::move(owner));
}

Tensor join_sparse_rows(std::vector<Tensor> pieces) {
  std::int64_t rows = 0, stored = 0;
  for (auto& piece : pieces) {
    piece = cast_storage(piece, piece.storage());  // with int64 indices
    rows += piece.shape()[0];
    stored += piece.stored();
  }
  return pieces.front().storage() == Storage::csr ? join_csr(pieces, rows, stored)
                                                  : join_row_sparse(pieces, rows, stored);
}

}  // namespace tenon
