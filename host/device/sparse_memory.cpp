#include "device/sparse_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/failure.hpp>

#include "device/sparse_rules.hpp"

namespace tenon {
namespace {

std::int64_t row_size(const tenon_dense& dense) {
  std::int64_t size = 1;
  for (int axis = 1; axis < dense.ndim; ++axis) size *= dense.shape[axis];
  return size;
}

// The shape was counted in elements when it was planned, so nothing here overflows once `stored` fits it.
std::int64_t most_stored(const tenon_tensor& tensor) {
  return tensor.storage == TENON_CSR ? tensor.dense.shape[0] * tensor.dense.shape[1] : tensor.dense.shape[0];
}

std::int64_t value_bytes(const tenon_tensor& tensor, std::int64_t stored) {
  const auto elements = tensor.storage == TENON_CSR ? stored : stored * row_size(tensor.dense);
  return elements * static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.dtype)));
}

// The first memory is as large as it must be; what turns out too small gets a quarter more than that.
void* grow(Tensor& memory, std::int64_t bytes) {
  if (!memory || memory.bytes() < bytes) {
    const auto wanted = memory ? bytes + bytes / 4 : bytes;
    memory = Tensor();  // both at once would be more than is needed
    memory = Tensor::empty(DType::u8, {std::max<std::int64_t>(wanted, 1)});
  }
  return memory.data();
}

template <class T>
std::span<const std::byte> bytes_at(const T* data, std::int64_t bytes) {
  return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)};
}

}  // namespace

void SparseMemory::allocate(tenon_tensor& tensor, std::int64_t stored) {
  const bool csr = tensor.storage == TENON_CSR;
  if (stored < 0 || stored > most_stored(tensor))
    throw Failure(FailureKind::failed, fmt::format("{} {} were asked for, but {} {} hold at most {}", stored, csr ? "values" : "rows",
                                                   name_of(static_cast<Storage>(tensor.storage)),
                                                   to_string(Shape(tensor.dense.shape, tensor.dense.ndim)), most_stored(tensor)));
  constexpr std::int64_t index = sizeof(std::int64_t);
  auto& parts = parts_[&tensor];
  tensor.dense.data = grow(parts.values, value_bytes(tensor, stored));
  tensor.indices = grow(parts.indices, stored * index);
  tensor.row_starts = csr ? grow(parts.row_starts, (tensor.dense.shape[0] + 1) * index) : nullptr;
  tensor.index_dtype = TENON_I64;
  tensor.stored = stored;
}

Tensor SparseMemory::release(tenon_tensor& tensor) {
  const auto parts = std::make_shared<Parts>(std::move(parts_[&tensor]));
  parts_.erase(&tensor);
  return Tensor::borrow(tensor, parts);
}

std::int64_t SparseMemory::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [tensor, parts] : parts_)
    for (const auto* part : {&parts.values, &parts.indices, &parts.row_starts}) sum += *part ? part->bytes() : 0;
  return sum;
}

std::string sparse_fault(const tenon_tensor& tensor) {
  constexpr std::int64_t index = sizeof(std::int64_t);
  SparseParts parts;
  parts.type.dtype = tensor.dtype;
  parts.type.storage = tensor.storage;
  parts.type.rank = tensor.dense.ndim;
  std::copy_n(tensor.dense.shape, tensor.dense.ndim, parts.type.dims);
  parts.stored = static_cast<std::uint64_t>(tensor.stored);
  parts.values = bytes_at(tensor.dense.data, value_bytes(tensor, tensor.stored));
  parts.indices = bytes_at(tensor.indices, tensor.stored * index);
  if (tensor.storage == TENON_CSR) parts.row_starts = bytes_at(tensor.row_starts, (tensor.dense.shape[0] + 1) * index);
  return sparse_fault(parts);
}

}  // namespace tenon
