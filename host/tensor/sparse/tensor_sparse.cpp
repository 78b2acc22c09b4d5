// Sparse tensors: three dense arrays with validated indices.
#include <algorithm>
#include <cstddef>
#include <tenon/host/failure.hpp>
#include <utility>

#include "tensor/sparse/sparse_rules.hpp"
#include "tensor/tensor_device.hpp"
#include "tensor/tensor_impl.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse(Storage storage, DType dtype, const Shape& shape,
                         const std::string& reason) {
  throw Failure(FailureKind::usage, join(storage, " ", dtype, " ", shape, ": ", reason));
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

// Returns the expected shape of the values: [stored] for csr, [stored, shape[1], ...] for
// row_sparse.
Shape values_shape(Storage storage, const Shape& shape, std::int64_t stored) {
  if (storage == Storage::csr || shape.rank() < 1) return {stored};
  Shape values = shape;
  values.set(0, stored);
  return values;
}

void check_kinds(Storage storage, const Tensor& values, const Tensor& indices,
                 const Tensor& row_starts, const Shape& shape) {
  const auto require = [&](bool holds, const auto&... reason) {
    if (!holds) refuse(storage, values.dtype(), shape, join(reason...));
  };
  require(!low_bit.has(values.dtype()), "its values are ", values.dtype(),
          ", a dtype of dense tensors only");
  const char* const name = storage == Storage::csr ? "columns" : "row ids";
  require(indices.dtype() == i32 || indices.dtype() == i64, "its ", name, " are ", indices.dtype(),
          " but must be int32 or int64");
  require(indices.shape().rank() == 1, "its ", name, " have shape ", indices.shape(),
          " but must be a list");
  const Shape requested = values_shape(storage, shape, indices.size());
  require(values.shape() == requested, "its values have shape ", values.shape(), ", but its ", name,
          ", ", indices.shape(), ", need ", requested);
  require(indices.device() == values.device(), "its values are on ", values.device(), ", but its ",
          name, " are on ", indices.device());
  if (storage != Storage::csr) return;
  require(row_starts.device() == values.device(), "its values are on ", values.device(),
          ", but its row starts are on ", row_starts.device());
  require(row_starts.shape().rank() == 1, "its row starts have shape ", row_starts.shape(),
          " but must be a list");
  require(row_starts.dtype() == indices.dtype(), "its columns are ", indices.dtype(),
          ", but its row starts are ", row_starts.dtype());
}

void check_indices(Storage storage, const Tensor& values, const Tensor& indices,
                   const Tensor& row_starts, const Shape& shape) {
  SparseBuffers arrays;
  arrays.type.rank = shape.rank();
  std::copy(shape.begin(), shape.end(), arrays.type.dims);
  arrays.type.dtype = static_cast<std::uint8_t>(values.dtype());
  arrays.type.storage = static_cast<std::uint8_t>(storage);
  arrays.stored = static_cast<std::uint64_t>(indices.size());
  arrays.index_dtype = static_cast<std::uint8_t>(indices.dtype());
  const Tensor checked = indices.to("cpu"),
               checked_starts = row_starts ? row_starts.to("cpu") : Tensor();
  arrays.values = bytes_of(values);  // only their size is checked
  arrays.indices = bytes_of(checked);
  if (row_starts) arrays.row_starts = bytes_of(checked_starts);
  if (const auto fault = sparse_fault(arrays); !fault.empty())
    refuse(storage, values.dtype(), shape, fault);
}

}  // namespace

// Does not check: `arrays` are contiguous and valid, and the caller has no writable handle of the
// indices.
Tensor Tensor::sparse(Storage storage, SparseArrays arrays, const Shape& shape) {
  arrays.indices = TrackedTensor::frozen(std::move(arrays.indices));
  arrays.row_starts = TrackedTensor::frozen(std::move(arrays.row_starts));
  auto impl = std::make_shared<Impl>(arrays.values.dtype(), shape, nullptr);
  impl->abi.storage = static_cast<std::uint8_t>(storage);
  impl->abi.index_dtype = static_cast<std::uint8_t>(arrays.indices.dtype());
  impl->abi.stored = arrays.indices.size();
  impl->abi.dense.data = arrays.values.data();
  impl->abi.dense.device_type = arrays.values.abi().dense.device_type;
  impl->abi.dense.device_id = arrays.values.abi().dense.device_id;
  impl->abi.indices = arrays.indices.data();
  impl->abi.row_starts = arrays.row_starts ? arrays.row_starts.data() : nullptr;
  impl->arrays = std::move(arrays);
  return Tensor(std::move(impl));
}

Tensor Tensor::csr(const Tensor& values, const Tensor& columns, const Tensor& row_starts,
                   const Shape& shape) {
  SparseArrays arrays{values.make_contiguous(), TrackedTensor::frozen_or_copy(columns),
                      TrackedTensor::frozen_or_copy(row_starts)};
  const Impl whole(values.dtype(), shape, nullptr);  // rejects shapes whose size overflows
  check_kinds(Storage::csr, arrays.values, arrays.indices, arrays.row_starts, shape);
  check_indices(Storage::csr, arrays.values, arrays.indices, arrays.row_starts, shape);
  return sparse(Storage::csr, std::move(arrays), shape);
}

Tensor Tensor::row_sparse(const Tensor& values, const Tensor& row_ids, const Shape& shape) {
  SparseArrays arrays{values.make_contiguous(), TrackedTensor::frozen_or_copy(row_ids), {}};
  const Impl whole(values.dtype(), shape, nullptr);
  if (shape.rank() < 1)
    refuse(Storage::row_sparse, values.dtype(), shape, "row_sparse needs at least one dimension");
  check_kinds(Storage::row_sparse, arrays.values, arrays.indices, {}, shape);
  check_indices(Storage::row_sparse, arrays.values, arrays.indices, {}, shape);
  return sparse(Storage::row_sparse, std::move(arrays), shape);
}

// Borrows the arrays of a sparse tensor whose fields have been checked.
Tensor::SparseArrays Tensor::borrow_arrays(const tenon_tensor& from,
                                           const std::shared_ptr<const void>& owner) {
  const Device& device = device_of(from.dense);
  const Shape shape(from.dense.shape, from.dense.ndim);
  const auto storage = static_cast<Storage>(from.storage);
  const auto array = [&](const void* at, std::int64_t count) {
    return borrow_on(device, const_cast<void*>(at), static_cast<DType>(from.index_dtype), {count},
                     {}, owner);
  };
  auto* const data = from.dense.data == nullptr
                         ? nullptr
                         : static_cast<std::byte*>(from.dense.data) + from.dense.byte_offset;
  return {borrow_on(device, data, static_cast<DType>(from.dtype),
                    values_shape(storage, shape, from.stored), {}, owner),
          array(from.indices, from.stored),
          storage == Storage::csr ? array(from.row_starts, shape[0] + 1) : Tensor()};
}

// Does not check that `from` satisfies the rules of its storage.
Tensor Tensor::borrow_checked(const tenon_tensor& from, const std::shared_ptr<const void>& owner) {
  return sparse(static_cast<Storage>(from.storage), borrow_arrays(from, owner),
                Shape(from.dense.shape, from.dense.ndim));
}

// Every field of the ABI struct is checked.
Tensor Tensor::borrow(const tenon_tensor& from, std::shared_ptr<const void> owner) {
  const auto refuse_struct = [](const auto&... reason) {
    throw Failure(FailureKind::usage, join("this tenon_tensor ", reason...));
  };
  const tenon_dense& dense = from.dense;
  // size in ABI 1.0; later versions only append
  constexpr auto first_size = offsetof(tenon_tensor, row_starts) + sizeof from.row_starts;
  if (from.size < first_size) refuse_struct("has ", from.size, " bytes but needs ", first_size);
  Device& device = device_of(dense);
  if (dense.ndim < 0 || dense.ndim > TENON_MAX_RANK)
    refuse_struct("has ", dense.ndim, " dimensions, but at most 8 are supported");
  if (dense.ndim > 0 && dense.shape == nullptr) refuse_struct("has no shape");
  if (from.dtype >= TENON_DTYPE_COUNT)
    refuse_struct("has unknown dtype ", static_cast<int>(from.dtype));
  if (from.storage > TENON_CSR)
    refuse_struct("has unknown storage ", static_cast<int>(from.storage));
  const auto dtype = static_cast<DType>(from.dtype);
  const auto storage = static_cast<Storage>(from.storage);
  for (int axis = 0; axis < dense.ndim; ++axis)
    if (dense.shape[axis] < 0)
      refuse_struct("has dimension ", dense.shape[axis], " at axis ", axis);
  const Shape shape(dense.shape, dense.ndim);
  auto* const data =
      dense.data == nullptr ? nullptr : static_cast<std::byte*>(dense.data) + dense.byte_offset;
  const auto rank = dense.strides != nullptr ? static_cast<std::size_t>(dense.ndim) : 0;
  if (storage == Storage::dense)
    return borrow_on(device, data, dtype, shape, {dense.strides, rank}, std::move(owner));

  if (dense.strides != nullptr) refuse_struct("is ", storage, " but has strides");
  if (from.index_dtype != TENON_I32 && from.index_dtype != TENON_I64)
    refuse_struct("has indices of dtype ", static_cast<int>(from.index_dtype),
                  " but needs int32 or int64");
  if (from.stored < 0) refuse_struct("has ", from.stored, " stored entries");
  if (storage == Storage::csr && (shape.rank() != 2 || shape[0] == INT64_MAX))
    refuse(storage, dtype, shape, "csr needs two dimensions and fewer than 2^63 - 1 rows");
  const auto [values, indices, row_starts] = borrow_arrays(from, owner);
  return storage == Storage::csr ? csr(values, indices, row_starts, shape)
                                 : row_sparse(values, indices, shape);
}

Storage Tensor::storage() const {
  return static_cast<Storage>(impl().abi.storage);
}
std::int64_t Tensor::stored() const {
  return impl().abi.stored;
}

// `requested` dense accepts any sparse storage.
const Tensor::SparseArrays& Tensor::arrays(Storage requested, const char* name) const {
  const Storage found = storage();
  if (found != Storage::dense && (found == requested || requested == Storage::dense))
    return impl_->arrays;
  throw Failure(FailureKind::usage, join("a ", found, " tensor has no ", name));
}

DType Tensor::index_dtype() const {
  return arrays(Storage::dense, "indices").indices.dtype();
}
Tensor Tensor::stored_values() const {
  return impl().sparse() ? impl_->arrays.values : *this;
}
Tensor Tensor::columns() const {
  return arrays(Storage::csr, "columns").indices;
}
Tensor Tensor::row_starts() const {
  return arrays(Storage::csr, "row starts").row_starts;
}
Tensor Tensor::row_ids() const {
  return arrays(Storage::row_sparse, "row ids").indices;
}

}  // namespace tenon
