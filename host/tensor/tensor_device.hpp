// Tensors and the devices they lie on.
#pragma once
#include <tenon/host/tensor.hpp>

#include "device/stream.hpp"

namespace tenon {

/// Throws Failure (usage) where this machine has no such device.
Device& device_of(const tenon_dense& dense);
inline Device& device_of(const Tensor& tensor) {
  return device_of(tensor.abi().dense);
}

/// The one stream of a device on which the host works on tensors outside of sessions: copies, and eager calls. Every function that uses it
/// waits for its work before it returns, so that a tensor that somebody holds is whole. Memory of tensors is given back on it: who uses a
/// tensor on another stream holds the tensor until that is done. It stays as long as the process.
const Stream& tensor_stream(Device& device);

/// Where its bytes begin. Throws what device_of() throws.
Place place_of(const tenon_dense& dense);

/// Between contiguous tensors on any devices; done when it returns.
void copy_bytes(const tenon_dense& from, const tenon_dense& to, std::uint64_t bytes);

}  // namespace tenon
