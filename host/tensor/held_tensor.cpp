#include "tensor/held_tensor.hpp"

#include <atomic>
#include <mutex>

#include "io/owners.hpp"
#include "tensor/tensor_device.hpp"
#include "tensor/tensor_impl.hpp"

namespace tenon {
namespace {

std::atomic<std::uint64_t> given_out{0};
std::mutex counting;  // guards Impl::holds, which is_held_outside() compares with the use count

}  // namespace

// `holds` is incremented after the handle is created and decremented before it is released: a
// concurrent comparison may see one handle too many, never one too few.
Tensor::Hold::Hold(std::shared_ptr<Impl> held) : of(std::move(held)) {
  const std::lock_guard lock(counting);
  ++of->holds;
}
Tensor::Hold::~Hold() {
  const std::lock_guard lock(counting);
  --of->holds;
}

Tensor HeldTensor::hold(const Tensor& tensor) {
  if (!tensor || tensor.impl_->hold != nullptr) return tensor;
  const auto& own = *tensor.impl_;
  if (own.sparse() || (own.memory == nullptr && !own.exclusive) ||
      own.abi.dense.device_type != TENON_CPU)
    return tensor;
  auto held = std::make_shared<Tensor::Impl>(own.dtype(), own.shape(),
                                             own.contiguous() ? nullptr : own.strides);
  held->abi.dense.data = own.abi.dense.data;
  held->read_only = own.read_only;
  held->unchanging = own.unchanging;
  held->hold = std::make_unique<const Tensor::Hold>(tensor.impl_);
  return Tensor(std::move(held));
}

Tensor HeldTensor::exclusive(Tensor tensor) {
  if (tensor) tensor.impl_->exclusive = true;
  return tensor;
}

Tensor HeldTensor::frozen(Tensor indices) {
  if (indices) indices.impl_->frozen = indices.impl_->read_only = indices.impl_->unchanging = true;
  return indices;
}

Tensor HeldTensor::own_indices(const Tensor& indices) {
  return indices.impl().frozen ? indices : indices.clone();
}

Tensor HeldTensor::give_out(const Tensor& tensor) {
  if (!tensor || tensor.impl_->hold == nullptr || tensor.impl_->read_only) return tensor;
  const auto& original = tensor.impl_->hold->of;
  // before the version changes: a thread that sees the new version also sees the handle
  Tensor handle(original);
  original->times_given_out.fetch_add(1);
  given_out.fetch_add(1);
  return handle;
}

Constancy HeldTensor::constancy(const Tensor& tensor) {
  if (!tensor || tensor.impl_->sparse()) return Constancy::changes;
  if (tensor.impl_->unchanging) return Constancy::always;
  return tensor.impl_->hold != nullptr ? Constancy::unless_held : Constancy::changes;
}

bool HeldTensor::is_held_outside(const Tensor& tensor) {
  const auto* hold = tensor.impl_->hold.get();
  if (hold == nullptr) return false;
  const std::lock_guard lock(counting);
  return has_owners(hold->of, hold->of->holds + std::size_t{1});
}

std::uint64_t HeldTensor::version(const Tensor& tensor) {
  const auto* hold = tensor.impl_->hold.get();
  return hold == nullptr ? 0 : hold->of->times_given_out.load();
}

std::uint64_t HeldTensor::all_versions() {
  return given_out.load(std::memory_order_acquire);
}

// If possible, a handle like a graph's, which does not count as an application's: nothing is
// written through it.
Tensor Tensor::read_only_view() const {
  if (read_only() || impl_->sparse()) return *this;
  Tensor view = HeldTensor::hold(impl_->hold != nullptr ? Tensor(impl_->hold->of) : *this);
  if (view.impl_ == impl_) {
    const bool keeps_alive = impl_->memory != nullptr;
    view = borrow_on(device_of(*this), impl_->abi.dense.data, dtype(), shape(), strides(),
                     keeps_alive ? std::shared_ptr<const void>(impl_) : impl_->owner);
  }
  view.impl_->read_only = true;
  return view;
}

}  // namespace tenon
