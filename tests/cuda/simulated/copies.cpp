#include <cstring>

#include "in_flight.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "stream.hpp"

using namespace simulated;

static void copy_later(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream) {
  ++counters().copies;
  stream->add(touching(stream->device, [=, device = stream->device] {
    const InFlight flight(device, Kind::copy);
    std::memcpy(to, from, bytes);
  }));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (state() != cudaSuccess) return result_of();
  stream = own(stream);
  const bool known = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToDevice ||
                     kind == cudaMemcpyDeviceToDevice;
  const bool to_fits =
      kind == cudaMemcpyDeviceToHost ? is_pinned(to, bytes) : on_device(to, bytes, stream->device);
  const bool from_fits = kind == cudaMemcpyHostToDevice ? is_pinned(from, bytes)
                                                        : on_device(from, bytes, stream->device);
  if (!known || !to_fits || !from_fits) return result_of(cudaErrorInvalidValue);
  copy_later(to, from, bytes, stream);
  return result_of();
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  if (state() != cudaSuccess) return result_of();
  if (!on_device(to, bytes, to_device) || !on_device(from, bytes, from_device))
    return result_of(cudaErrorInvalidValue);
  if (!open_to(to_device, from_device) || !open_to(from_device, to_device))
    return result_of(cudaErrorPeerAccessNotEnabled);
  ++counters().copies;
  stream->add(touching(to_device, [=] {
    const Opened other(from_device);
    const InFlight reading(from_device, Kind::copy), writing(to_device, Kind::copy);
    std::memcpy(to, from, bytes);
  }));
  return result_of();
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  if (state() != cudaSuccess) return result_of();
  if (!on_device(memory, bytes, stream->device)) return result_of(cudaErrorInvalidValue);
  ++counters().copies;
  stream->add(touching(stream->device, [=] { std::memset(memory, value, bytes); }));
  return result_of();
}
