#include <algorithm>
#include <cstring>
#include <tenon/host/failure.hpp>

#include "device/devices.hpp"
#include "io/counted.hpp"
#include "tensor/element_count.hpp"
#include "tensor/strided_copy.hpp"
#include "tensor/tensor_device.hpp"
#include "tensor/tensor_impl.hpp"

namespace tenon {

Tensor Tensor::empty(DType dtype, const Shape& shape, std::string_view device) {
  if (Device& found = find_device(device); !found.is_cpu()) return empty_on(found, dtype, shape);
  auto impl = std::make_shared<Impl>(dtype, shape, nullptr);
  impl->memory = allocate(impl->bytes());
  impl->abi.dense.data = impl->memory.get();
  return Tensor(std::move(impl));
}

Tensor Tensor::zeros(DType dtype, const Shape& shape) {
  Tensor result = empty(dtype, shape);
  std::memset(result.data(), 0, result.impl_->bytes());
  return result;
}

Tensor Tensor::copy_of(const void* values, std::size_t count, DType dtype, const Shape& shape) {
  Tensor result = empty(dtype, shape);
  if (count != static_cast<std::size_t>(result.size())) {
    throw Failure(FailureKind::usage, join("a tensor of shape ", shape, " needs ",
                                           counted(result.size(), "value"), ", not ", count));
  }
  if (count != 0) std::memcpy(result.data(), values, result.impl_->bytes());
  return result;
}

Tensor Tensor::borrow(void* data, DType dtype, const Shape& shape,
                      std::span<const std::int64_t> strides, std::shared_ptr<const void> owner) {
  return borrow_on(cpu_device(), data, dtype, shape, strides, std::move(owner));
}

Tensor Tensor::borrow_read_only(const void* data, DType dtype, const Shape& shape,
                                std::span<const std::int64_t> strides,
                                std::shared_ptr<const void> owner) {
  Tensor result = borrow(const_cast<void*>(data), dtype, shape, strides, std::move(owner));
  result.impl_->read_only = result.impl_->unchanging = true;
  return result;
}

Tensor Tensor::borrow_on(const Device& device, void* data, DType dtype, const Shape& shape,
                         std::span<const std::int64_t> strides, std::shared_ptr<const void> owner) {
  if (!strides.empty() && shape.has_rank() &&
      strides.size() != static_cast<std::size_t>(shape.rank())) {
    throw Failure(FailureKind::usage,
                  join("a tensor of shape ", shape, " needs ", counted(shape.rank(), "stride"),
                       ", not ", strides.size()));
  }
  auto impl = std::make_shared<Impl>(dtype, shape, strides.empty() ? nullptr : strides.data());
  if (data == nullptr && impl->size != 0) {
    throw Failure(FailureKind::usage,
                  join("a tensor of ", dtype, " ", shape, " needs memory, not a null pointer"));
  }
  if (impl->size != 0 && !is_aligned(data, dtype)) {
    throw Failure(FailureKind::usage,
                  join(dtype, " elements must be aligned to ", counted(size_of(dtype), "byte")));
  }
  impl->abi.dense.data = data;
  impl->abi.dense.device_type = device.type();
  impl->abi.dense.device_id = device.id();
  impl->owner = std::move(owner);
  return Tensor(std::move(impl));
}

const Tensor::Impl& Tensor::impl() const {
  if (impl_ == nullptr)
    throw Failure(FailureKind::usage, "this tensor is empty: it has no dtype, shape or elements");
  return *impl_;
}

DType Tensor::dtype() const {
  return impl().dtype();
}
Shape Tensor::shape() const {
  return impl().shape();
}
std::int64_t Tensor::size() const {
  return impl().size;
}
std::int64_t Tensor::bytes() const {
  if (!impl().sparse()) return static_cast<std::int64_t>(impl_->bytes());
  const SparseArrays& arrays = impl_->arrays;
  return arrays.values.bytes() + arrays.indices.bytes() +
         (arrays.row_starts ? arrays.row_starts.bytes() : 0);
}
bool Tensor::read_only() const {
  return impl().sparse() ? impl_->arrays.values.read_only() : impl_->read_only;
}
bool Tensor::contiguous() const {
  return impl().contiguous();
}
void* Tensor::data() const {
  require_dense();
  return impl_->abi.dense.data;
}
const tenon_tensor& Tensor::abi() const {
  return impl().abi;
}

std::vector<std::int64_t> Tensor::strides() const {
  require_dense();
  return {impl_->strides, impl_->strides + impl_->abi.dense.ndim};
}

void Tensor::require_dense() const {
  if (!impl().sparse()) return;
  throw Failure(
      FailureKind::usage,
      join("a dense tensor is needed, but this one is ", storage(), " ", dtype(), " ", shape()),
      "cast_storage(tensor, Storage::dense) returns all elements, stored_values() the stored ones");
}

void Tensor::require_dtype(DType requested) const {
  if (dtype() != requested)
    throw Failure(FailureKind::usage,
                  join("this tensor's elements are ", dtype(), ", not ", requested));
}

void Tensor::require_contiguous() const {
  if (!contiguous()) {
    throw Failure(FailureKind::usage, join("this tensor ", shape(), " is not contiguous"),
                  "make_contiguous() returns a contiguous copy");
  }
}

Tensor Tensor::clone() const {
  if (impl().sparse()) {
    const SparseArrays& from = impl_->arrays;
    return sparse(storage(),
                  {from.values.clone(), from.indices.clone(),
                   from.row_starts ? from.row_starts.clone() : Tensor()},
                  shape());
  }
  Device& here = device_of(*this);
  if (!contiguous() && !here.is_cpu()) return strided_on_cpu().clone().to(device());
  Tensor result = empty(dtype(), shape(), device());
  if (contiguous())
    copy_bytes(impl_->abi.dense, result.impl_->abi.dense, impl_->bytes());
  else
    copy_to_contiguous(impl_->abi.dense, result.impl_->data());
  return result;
}

Tensor Tensor::make_contiguous() const {
  return contiguous() ? *this : clone();
}

// Returns `requested` with its unknown dimension, if any, chosen so that the sizes match.
static Shape filled_in(const Shape& requested, std::int64_t size) {
  const auto missing = std::find(requested.begin(), requested.end(), unknown);
  if (missing == requested.end()) return requested;
  Shape filled = requested;
  const auto axis = static_cast<int>(missing - requested.begin());
  filled.set(axis, 1);
  const std::int64_t rest = element_count(filled).value_or(0);
  filled.set(axis, rest == 0 ? unknown : size / rest);
  return filled;
}

Tensor Tensor::reshape(const Shape& requested) const {
  require_dense();
  require_contiguous();
  const Shape filled = filled_in(requested, size());
  if (element_count(filled) != size()) {
    throw Failure(FailureKind::usage,
                  join("a tensor of shape ", shape(), ", ", counted(size(), "element"),
                       ", cannot be reshaped to ", requested));
  }
  // The result keeps owned memory alive through this tensor, and borrowed memory through its owner.
  // It is a handle of tensors whose handles are counted.
  const bool holds_this = impl_->memory != nullptr || impl_->exclusive || impl_->tracked != nullptr;
  Tensor result = borrow_on(device_of(*this), data(), dtype(), filled, {},
                            holds_this ? std::shared_ptr<const void>(impl_) : impl_->owner);
  result.impl_->read_only = impl_->read_only;
  result.impl_->unchanging = impl_->unchanging;
  return result;
}

bool same_bits(const Tensor& left, const Tensor& right) {
  if (!left || !right) return !left && !right;
  if (left.device() != "cpu" || right.device() != "cpu")
    return same_bits(left.to("cpu"), right.to("cpu"));
  if (left.storage() != right.storage() || left.dtype() != right.dtype() ||
      left.shape() != right.shape())
    return false;
  if (left.storage() == Storage::csr && !same_bits(left.row_starts(), right.row_starts()))
    return false;
  if (left.storage() == Storage::csr && !same_bits(left.columns(), right.columns())) return false;
  if (left.storage() == Storage::row_sparse && !same_bits(left.row_ids(), right.row_ids()))
    return false;
  if (left.storage() != Storage::dense)
    return same_bits(left.stored_values(), right.stored_values());
  const Tensor a = left.make_contiguous(), b = right.make_contiguous();
  return a.size() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace tenon
