#include "tensor/sparse/rows.hpp"

#include <cstring>
#include <numeric>
#include <tenon/host/cast_storage.hpp>
#include <tenon/visit.hpp>

#include "tensor/tracked_tensor.hpp"

namespace tenon {

Tensor csr_rows(const Tensor& csr, std::span<const std::int64_t> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const Tensor all_values = csr.stored_values(), all_columns = csr.columns(),
               all_starts = csr.row_starts();
  const auto element = static_cast<std::int64_t>(size_of(csr.dtype()));
  return visit<Types{i32, i64}>(csr.index_dtype(), [&]<class Index>() {
    const auto* const from = all_starts.data<Index>();
    Tensor starts = Tensor::empty(csr.index_dtype(), {count + 1});
    auto* const start = starts.data<Index>();
    start[0] = 0;
    std::int64_t stored =
        0;  // may overflow int32 if rows repeat: csr() then rejects the wrapped starts
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = rows[static_cast<std::size_t>(i)];
      stored += from[row + 1] - from[row];
      start[i + 1] = static_cast<Index>(stored);
    }
    Tensor values = Tensor::empty(csr.dtype(), {stored}),
           columns = Tensor::empty(csr.index_dtype(), {stored});
    auto* value = static_cast<std::byte*>(values.data());
    auto* column = columns.data<Index>();
    for (const std::int64_t row : rows) {
      const std::int64_t size = from[row + 1] - from[row];
      if (size == 0) continue;
      std::memcpy(value, static_cast<const std::byte*>(all_values.data()) + from[row] * element,
                  static_cast<std::size_t>(size * element));
      std::memcpy(column, all_columns.data<Index>() + from[row],
                  static_cast<std::size_t>(size) * sizeof(Index));
      value += size * element;
      column += size;
    }
    return Tensor::csr(values, TrackedTensor::frozen(columns), TrackedTensor::frozen(starts),
                       {count, csr.shape()[1]});
  });
}

namespace {

Shape with_rows(Shape shape, std::int64_t rows) {
  shape.set(0, rows);
  return shape;
}

/// Copies pieces to consecutive memory.
struct Filling {
  explicit Filling(Tensor whole)
      : tensor(std::move(whole)), next(static_cast<std::byte*>(tensor.data())) {}
  void add(const Tensor& chunk) {
    if (chunk.bytes() == 0) return;
    std::memcpy(next, chunk.data(), static_cast<std::size_t>(chunk.bytes()));
    next += chunk.bytes();
  }
  Tensor tensor;
  std::byte* next;
};

Tensor join_csr(std::vector<Tensor>& chunks, std::int64_t rows, std::int64_t stored) {
  const auto dtype = chunks.front().dtype();
  const auto shape = with_rows(chunks.front().shape(), rows);
  Filling values(Tensor::empty(dtype, {stored})), columns(Tensor::empty(i64, {stored}));
  const Tensor starts = Tensor::empty(i64, {rows + 1});
  auto* start = starts.data<std::int64_t>();
  std::int64_t before = 0;
  *start++ = 0;
  for (auto& chunk : chunks) {
    values.add(chunk.stored_values());
    columns.add(chunk.columns());
    const auto source = chunk.row_starts();
    for (const auto end : source.values<std::int64_t>().subspan(1)) *start++ = before + end;
    before += chunk.stored();
    chunk = Tensor();
  }
  return Tensor::csr(values.tensor, TrackedTensor::frozen(columns.tensor),
                     TrackedTensor::frozen(starts), shape);
}

Tensor join_row_sparse(std::vector<Tensor>& chunks, std::int64_t rows, std::int64_t stored) {
  const auto shape = with_rows(chunks.front().shape(), rows);
  Filling values(Tensor::empty(chunks.front().dtype(), with_rows(shape, stored)));
  const Tensor ids = Tensor::empty(i64, {stored});
  auto* id = ids.data<std::int64_t>();
  std::int64_t before = 0;
  for (auto& chunk : chunks) {
    values.add(chunk.stored_values());
    const auto source = chunk.row_ids();
    for (const auto row : source.values<std::int64_t>()) *id++ = before + row;
    before += chunk.shape()[0];
    chunk = Tensor();
  }
  return Tensor::row_sparse(values.tensor, TrackedTensor::frozen(ids), shape);
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

Tensor join_sparse_rows(std::vector<Tensor> chunks) {
  std::int64_t rows = 0, stored = 0;
  for (auto& chunk : chunks) {
    chunk = cast_storage(chunk, chunk.storage());  // with int64 indices
    rows += chunk.shape()[0];
    stored += chunk.stored();
  }
  return chunks.front().storage() == Storage::csr ? join_csr(chunks, rows, stored)
                                                  : join_row_sparse(chunks, rows, stored);
}

}  // namespace tenon
