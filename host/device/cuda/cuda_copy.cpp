// CudaDevice: copies.
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/failure.hpp"
#include "device/device.hpp"

namespace tenon {

// Whether the device can access this CPU memory directly.
static bool is_pinned(const std::byte* memory, const Device& device) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, memory), device, "querying the location of memory");
  return found.type != cudaMemoryTypeUnregistered;
}

void CudaDevice::copy_from_cpu(const DeviceAddress& to, const std::byte* from, std::uint64_t bytes,
                               void* stream) {
  if (!is_pinned(from, *this))
    return stagings_.with([&](Staging& staging) { staging.to_device(to, from, bytes, stream); });
  check(cudaMemcpyAsync(to.data, from, bytes, cudaMemcpyHostToDevice,
                        static_cast<cudaStream_t>(stream)),
        *this, "copying from the CPU");
}

void CudaDevice::copy_to_cpu(std::byte* to, const DeviceAddress& from, std::uint64_t bytes,
                             void* stream) {
  if (!is_pinned(to, *this))
    return stagings_.with([&](Staging& staging) { staging.from_device(to, from, bytes, stream); });
  check(cudaMemcpyAsync(to, from.data, bytes, cudaMemcpyDeviceToHost,
                        static_cast<cudaStream_t>(stream)),
        *this, "copying to the CPU");
}

void CudaDevice::copy_to_peer(const DeviceAddress& to, const DeviceAddress& from,
                              std::uint64_t bytes, void* stream) {
  // Every device other than the CPU is a CudaDevice.
  static_cast<CudaDevice&>(to.device).pool().open_to(from.device);
  static_cast<CudaDevice&>(from.device).pool().open_to(to.device);
  check(cudaMemcpyPeerAsync(to.data, to.device.id(), from.data, from.device.id(), bytes,
                            static_cast<cudaStream_t>(stream)),
        *this, "copying between devices");
}

void CudaDevice::copy(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
                      void* stream) {
  const CurrentDevice current(*this);
  if (from.device.is_cpu()) return copy_from_cpu(to, from.data, bytes, stream);
  if (to.device.is_cpu()) return copy_to_cpu(to.data, from, bytes, stream);
  if (&to.device != &from.device) return copy_to_peer(to, from, bytes, stream);
  check(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice,
                        static_cast<cudaStream_t>(stream)),
        *this, "copying");
}

}  // namespace tenon
