#include "tensor/tracked_tensor.hpp"

#include <atomic>
#include <mutex>

#include "tensor/tensor_device.hpp"
#include "tensor/tensor_impl.hpp"

namespace tenon {
namespace {

std::atomic<std::uint64_t> total_exposed{0};
// guards Impl::handle_count, which has_application_handle() compares with the use count
std::mutex counting;

}  // namespace

// `handle_count` is incremented after the handle is created and decremented before it is released:
// a concurrent comparison may see one handle too many, never one too few.
Tensor::TrackedHandle::TrackedHandle(std::shared_ptr<Impl> shared) : original(std::move(shared)) {
  const std::lock_guard lock(counting);
  ++original->handle_count;
}
Tensor::TrackedHandle::~TrackedHandle() {
  const std::lock_guard lock(counting);
  --original->handle_count;
}

Tensor TrackedTensor::track(const Tensor& tensor) {
  if (!tensor || tensor.impl_->tracked != nullptr) return tensor;
  const auto& source = *tensor.impl_;
  if (source.sparse() || (source.memory == nullptr && !source.exclusive) ||
      source.abi.dense.device_type != TENON_CPU)
    return tensor;
  auto shared = std::make_shared<Tensor::Impl>(source.dtype(), source.shape(),
                                               source.contiguous() ? nullptr : source.strides);
  shared->abi.dense.data = source.abi.dense.data;
  shared->read_only = source.read_only;
  shared->unchanging = source.unchanging;
  shared->tracked = std::make_unique<const Tensor::TrackedHandle>(tensor.impl_);
  return Tensor(std::move(shared));
}

Tensor TrackedTensor::exclusive(Tensor tensor) {
  if (tensor) tensor.impl_->exclusive = true;
  return tensor;
}

Tensor TrackedTensor::frozen(Tensor indices) {
  if (indices) indices.impl_->frozen = indices.impl_->read_only = indices.impl_->unchanging = true;
  return indices;
}

Tensor TrackedTensor::frozen_or_copy(const Tensor& indices) {
  return indices.impl().frozen ? indices : indices.clone();
}

Tensor TrackedTensor::expose(const Tensor& tensor) {
  if (!tensor || tensor.impl_->tracked == nullptr || tensor.impl_->read_only) return tensor;
  const auto& original = tensor.impl_->tracked->original;
  // before the version changes: a thread that sees the new version also sees the handle
  Tensor handle(original);
  original->times_exposed.fetch_add(1);
  total_exposed.fetch_add(1);
  return handle;
}

Constancy TrackedTensor::constancy(const Tensor& tensor) {
  if (!tensor || tensor.impl_->sparse()) return Constancy::changes;
  if (tensor.impl_->unchanging) return Constancy::always;
  return tensor.impl_->tracked != nullptr ? Constancy::unless_exposed : Constancy::changes;
}

bool TrackedTensor::has_application_handle(const Tensor& tensor) {
  const auto* tracked = tensor.impl_->tracked.get();
  if (tracked == nullptr) return false;
  const std::lock_guard lock(counting);
  return has_owners(tracked->original, tracked->original->handle_count + std::size_t{1});
}

bool TrackedTensor::may_be_written(const Tensor& tensor) {
  const auto known = constancy(tensor);
  return known == Constancy::changes ||
         (known == Constancy::unless_exposed && has_application_handle(tensor));
}

std::uint64_t TrackedTensor::version(const Tensor& tensor) {
  const auto* tracked = tensor.impl_->tracked.get();
  return tracked == nullptr ? 0 : tracked->original->times_exposed.load();
}

std::uint64_t TrackedTensor::all_versions() {
  return total_exposed.load(std::memory_order_acquire);
}

// If possible, a handle like a graph's, which does not count as an application's: nothing is
// written through it.
Tensor Tensor::read_only_view() const {
  if (read_only() || impl_->sparse()) return *this;
  Tensor view =
      TrackedTensor::track(impl_->tracked != nullptr ? Tensor(impl_->tracked->original) : *this);
  if (view.impl_ == impl_) {
    const bool owns_memory = impl_->memory != nullptr;
    view = borrow_on(device_of(*this), impl_->abi.dense.data, dtype(), shape(), strides(),
                     owns_memory ? std::shared_ptr<const void>(impl_) : impl_->owner);
  }
  view.impl_->read_only = true;
  return view;
}

}  // namespace tenon
