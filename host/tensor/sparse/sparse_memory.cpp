#include "tensor/sparse/sparse_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "io/counted.hpp"
#include "tensor/sparse/sparse_rules.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

// Shapes and counts come from plugins and may overflow 64 bits.
[[noreturn]] void refuse_bytes() {
  throw Failure(FailureKind::failed, "it needs more memory than can be counted");
}

std::int64_t product(std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(left, right, &result)) refuse_bytes();
  return result;
}

std::int64_t row_size(const tenon_dense& dense) {
  std::int64_t size = 1;
  for (int axis = 1; axis < dense.ndim; ++axis) size = product(size, dense.shape[axis]);
  return size;
}

std::int64_t max_stored(const tenon_tensor& tensor) {
  return tensor.storage == TENON_CSR ? product(tensor.dense.shape[0], tensor.dense.shape[1])
                                     : tensor.dense.shape[0];
}

std::int64_t value_bytes(const tenon_tensor& tensor, std::int64_t stored) {
  const auto elements =
      tensor.storage == TENON_CSR ? stored : product(stored, row_size(tensor.dense));
  return product(elements, static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.dtype))));
}

std::int64_t index_bytes(std::int64_t count) {
  return product(count, sizeof(std::int64_t));
}

std::int64_t row_start_bytes(const tenon_tensor& csr) {
  std::int64_t count = 0;
  if (__builtin_add_overflow(csr.dense.shape[0], 1, &count)) refuse_bytes();
  return index_bytes(count);
}

template <class T>
std::span<const std::byte> bytes_at(const T* data, std::int64_t bytes) {
  return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)};
}

}  // namespace

void SparseMemory::allocate(tenon_tensor& tensor, std::int64_t stored) {
  tensor.stored = -1;  // until memory is allocated: a kernel may continue after a failure
  const bool csr = tensor.storage == TENON_CSR;
  if (stored < 0 || stored > max_stored(tensor))
    throw Failure(
        FailureKind::failed,
        fmt::format("{} requested, but {} {} holds at most {}",
                    counted(stored, csr ? "value is" : "row is", csr ? "values are" : "rows are"),
                    name_of(static_cast<Storage>(tensor.storage)),
                    to_string(Shape(tensor.dense.shape, tensor.dense.ndim)), max_stored(tensor)));
  const auto values = value_bytes(tensor, stored), indices = index_bytes(stored);
  const auto starts = csr ? row_start_bytes(tensor) : 0;
  auto& arrays = arrays_of(tensor);
  tensor.dense.data = grow(arrays.values, tensor, values);
  tensor.indices = grow(arrays.indices, tensor, indices);
  tensor.row_starts = csr ? grow(arrays.row_starts, tensor, starts) : nullptr;
  tensor.index_dtype = TENON_I64;
  tensor.stored = stored;
}

void SparseMemory::allocate_dense(tenon_tensor& tensor, std::span<const std::int64_t> dims) {
  auto& dense = tensor.dense;
  bool fits = dense.ndim < 0 ? std::ssize(dims) <= TENON_MAX_RANK : std::ssize(dims) == dense.ndim;
  for (std::size_t axis = 0; fits && axis < dims.size(); ++axis)
    fits = dims[axis] >= 0 &&
           (dense.ndim < 0 || dense.shape[axis] < 0 || dense.shape[axis] == dims[axis]);
  if (!fits)
    throw Failure(
        FailureKind::failed,
        fmt::format("{} [{}], but infer() gave {}", other_shape,
                    fmt::join(dims.first(std::min<std::size_t>(dims.size(), TENON_MAX_RANK)), ", "),
                    to_string(Shape(dense.shape, dense.ndim))));
  auto bytes = static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.dtype)));
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) bytes = 0;
  for (const auto dim : dims) bytes = product(bytes, dim);
  dense.data = grow(arrays_of(tensor).values, tensor, bytes);
  dense.ndim = static_cast<std::int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), dense.shape);
  tensor.storage = TENON_DENSE;
}

SparseMemory::Arrays& SparseMemory::arrays_of(const tenon_tensor& tensor) {
  const std::scoped_lock lock(mutex_);
  return arrays_[&tensor];
}

// The first allocation is exact; a reallocation adds a quarter.
void* SparseMemory::grow(Tensor& memory, const tenon_tensor& tensor, std::int64_t bytes) const {
  if (source_) {
    memory = source_(tensor, bytes);
  } else if (!memory || memory.bytes() < bytes) {
    const auto new_bytes = memory ? bytes + bytes / 4 : bytes;
    memory = Tensor();  // free the old memory first, to limit peak memory
    memory = Tensor::empty(DType::u8, {std::max<std::int64_t>(new_bytes, 1)},
                           device_of(tensor.dense).name());
  }
  return memory.data();
}

std::shared_ptr<const SparseMemory::Arrays> SparseMemory::release_arrays(
    const tenon_tensor& tensor) {
  auto arrays = std::make_shared<const Arrays>(std::move(arrays_[&tensor]));
  arrays_.erase(&tensor);
  return arrays;
}

Tensor SparseMemory::release(tenon_tensor& tensor) {
  return Tensor::borrow(tensor, release_arrays(tensor));
}

Tensor SparseMemory::release_checked(tenon_tensor& tensor) {
  return Tensor::borrow_checked(tensor, release_arrays(tensor));
}

std::int64_t SparseMemory::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [tensor, arrays] : arrays_)
    for (const auto* array : {&arrays.values, &arrays.indices, &arrays.row_starts})
      sum += *array ? array->bytes() : 0;
  return sum;
}

void expect_allocation(tenon_tensor& tensor, const tenon_type& type) {
  tensor.storage = TENON_STORAGE_UNKNOWN;
  tensor.dense.data = nullptr;
  tensor.dense.ndim = type.rank;
  if (type.rank > 0) std::copy_n(type.dims, type.rank, tensor.dense.shape);
}

std::string not_allocated(std::size_t output) {
  return fmt::format(
      "its kernel did not allocate output {}; it must, even for a shape without elements", output);
}

std::string sparse_fault(const tenon_tensor& tensor) {
  if (tensor.dense.device_type != TENON_CPU || tensor.storage == TENON_DENSE) return {};
  SparseBuffers arrays;
  arrays.type.dtype = tensor.dtype;
  arrays.type.storage = tensor.storage;
  arrays.type.rank = tensor.dense.ndim;
  std::copy_n(tensor.dense.shape, tensor.dense.ndim, arrays.type.dims);
  arrays.stored = static_cast<std::uint64_t>(tensor.stored);
  arrays.values = bytes_at(tensor.dense.data, value_bytes(tensor, tensor.stored));
  arrays.indices = bytes_at(tensor.indices, index_bytes(tensor.stored));
  if (tensor.storage == TENON_CSR)
    arrays.row_starts = bytes_at(tensor.row_starts, row_start_bytes(tensor));
  return sparse_fault(arrays);
}

}  // namespace tenon
