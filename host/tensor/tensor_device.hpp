// Devices of tensors.
#pragma once
#include <tenon/host/tensor.hpp>

#include "device/stream.hpp"

namespace tenon {

/// Throws Failure (usage) if this machine has no such device.
Device& device_of(const tenon_dense& dense);
inline Device& device_of(const Tensor& tensor) {
  return device_of(tensor.abi().dense);
}

/// Returns the stream on which the host works on tensors outside of sessions: copies and eager
/// calls. Functions that use it wait for its work before they return, so tensors are always
/// complete. Tensor memory is freed on this stream: users of other streams must hold the tensor
/// until their work is done. Lives as long as the process.
const Stream& tensor_stream(Device& device);

/// Returns where the tensor's bytes begin. Throws like device_of().
DeviceAddress address_of(const tenon_dense& dense);

/// Copies between contiguous tensors on any devices; complete on return.
void copy_bytes(const tenon_dense& from, const tenon_dense& to, std::uint64_t bytes);

}  // namespace tenon
