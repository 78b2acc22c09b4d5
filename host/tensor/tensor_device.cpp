#include "tensor/tensor_device.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <tenon/host/devices.hpp>
#include <tenon/host/failure.hpp>

#include "device/block.hpp"
#include "device/devices.hpp"
#include "device/stream.hpp"
#include "tensor/tensor_impl.hpp"

namespace tenon {

Device& device_of(const tenon_dense& dense) {
  if (dense.device_type == TENON_CPU) return cpu_device();
  for (Device* device : devices())
    if (device->type() == dense.device_type && device->id() == dense.device_id) return *device;
  throw Failure(FailureKind::usage,
                join("a tensor is on device ", dense.device_id, " of DLPack type ",
                     dense.device_type, ", which this machine does not have"));
}

const Stream& tensor_stream(Device& device) {
  static std::mutex mutex;
  static auto& streams =
      *new std::map<Device*, Stream>;  // never destroyed: static tensors are freed later
  const std::lock_guard lock(mutex);
  return streams.try_emplace(&device, device).first->second;
}

void wait_for_application(std::string_view name) {
  Device& device = find_device(name);
  if (device.is_cpu()) return;
  const Stream& stream = tensor_stream(device);
  device.wait_for_application(stream.handle());
  stream.synchronize();
}

DeviceAddress address_of(const tenon_dense& dense) {
  return {device_of(dense), static_cast<std::byte*>(dense.data) + dense.byte_offset};
}

void copy_bytes(const tenon_dense& from, const tenon_dense& to, std::uint64_t bytes) {
  if (bytes == 0) return;
  const DeviceAddress source = address_of(from), target = address_of(to);
  const Stream& stream = tensor_stream(target.device.is_cpu() ? source.device : target.device);
  copy(target, source, bytes, stream);
  stream.synchronize();
}

static std::shared_ptr<Block> block_for(Device& device, DType dtype, const Shape& shape,
                                        std::uint64_t bytes) {
  return std::make_shared<Block>(tensor_stream(device), bytes,
                                 join("a tensor of ", dtype, " ", shape).c_str());
}

// The new memory may be used on any stream, because this one has been synchronized.
Tensor Tensor::empty_on(Device& device, DType dtype, const Shape& shape) {
  const Impl target(dtype, shape, nullptr);
  const auto block = block_for(device, dtype, shape, target.bytes());
  block->stream().synchronize();
  return borrow_on(device, block->data(), dtype, shape, {}, block);
}

const std::string& Tensor::device() const {
  return device_of(impl().abi.dense).name();
}

// Copies the whole range of memory from the first element to the last, including gaps.
Tensor Tensor::strided_on_cpu() const {
  std::int64_t first = 0, last = 0;
  for (int axis = 0; axis < impl_->abi.dense.ndim; ++axis) {
    const std::int64_t reach = (impl_->dims[axis] - 1) * impl_->strides[axis];
    (reach < 0 ? first : last) += reach;
  }
  const auto element = static_cast<std::int64_t>(size_of(dtype()));
  const Tensor bytes = empty(dtype(), {last - first + 1});
  tenon_dense from = impl_->abi.dense;
  from.data = impl_->data() + first * element;
  copy_bytes(from, bytes.impl_->abi.dense, bytes.impl_->bytes());
  return borrow(bytes.impl_->data() - first * element, dtype(), shape(), strides(),
                std::make_shared<Tensor>(bytes));
}

Tensor Tensor::to(std::string_view device) const {
  Device& target = find_device(device);
  if (&target == &device_of(*this)) return *this;
  if (impl_->sparse()) {
    const SparseArrays& from = impl_->arrays;
    return sparse(storage(),
                  {from.values.to(device), from.indices.to(device),
                   from.row_starts ? from.row_starts.to(device) : Tensor()},
                  shape());
  }
  const Tensor from = make_contiguous();
  const auto bytes = from.impl_->bytes();
  if (target.is_cpu() || bytes == 0) {
    Tensor result = empty(dtype(), shape(), device);
    copy_bytes(from.impl_->abi.dense, result.impl_->abi.dense, bytes);
    return result;
  }
  // ordered before the copy on the same stream
  const auto block = block_for(target, dtype(), shape(), bytes);
  Tensor result = borrow_on(target, block->data(), dtype(), shape(), {}, block);
  copy_bytes(from.impl_->abi.dense, result.impl_->abi.dense, bytes);
  return result;
}

void Tensor::require_on_cpu() const {
  if (impl().abi.dense.device_type == TENON_CPU) return;
  throw Failure(FailureKind::usage,
                join("the elements of this tensor, ", dtype(), " ", shape(), ", are on ", device(),
                     ", where the CPU cannot read them"),
                ".to(\"cpu\") returns a copy on the CPU");
}

}  // namespace tenon
