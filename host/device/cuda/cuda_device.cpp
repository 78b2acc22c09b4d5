#include "device/cuda/cuda_device.hpp"

#include "device/cuda/failure.hpp"
#include "device/device.hpp"
#include "device/stream.hpp"

namespace tenon {
namespace {

cudaStream_t stream_of(void* handle) {
  return static_cast<cudaStream_t>(handle);
}
cudaEvent_t event_of(void* handle) {
  return static_cast<cudaEvent_t>(handle);
}

}  // namespace

DeviceProperties CudaDevice::properties() {
  cudaDeviceProp found{};
  check(cudaGetDeviceProperties(&found, id()), *this, "querying properties");
  return {found.name, found.major, found.minor, found.multiProcessorCount};
}

DeviceMemory CudaDevice::memory() {
  const CurrentDevice current(*this);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), *this, "querying free memory");
  return {free + pool().idle(), total};
}

void CudaDevice::synchronize() {
  const CurrentDevice current(*this);
  const std::unique_lock lock(captures_);
  check(cudaDeviceSynchronize(), *this, "waiting for the device");
}

std::string CudaDevice::lost_reason() {
  try {
    const CurrentDevice current(*this);
    // Not a stream of Tenon: querying one that is being captured is not allowed.
    const auto now =
        is_capturing(cudaStreamPerThread) ? cudaSuccess : cudaStreamQuery(cudaStreamPerThread);
    if (now != cudaSuccess) cudaGetLastError();
    return is_sticky(now) ? lost_device_text(name()) : std::string();
  } catch (const Failure&) {
    return lost_device_text(name());  // the only cause of failures of these calls
  }
}

void CudaDevice::make_current() {
  check(cudaSetDevice(id()), *this, "making the device current");
}

int CudaDevice::current() {
  int number = 0;
  check(cudaGetDevice(&number), *this, "querying the current device");
  return number;
}

void CudaDevice::restore_current(int number) noexcept {
  if (cudaSetDevice(number) != cudaSuccess) cudaGetLastError();
}

void* CudaDevice::create_stream() {
  const CurrentDevice current(*this);
  cudaStream_t stream = nullptr;
  // Non-blocking: other code in this process may use the default stream, and must not be waited
  // for.
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), *this, "creating a stream");
  return stream;
}

void CudaDevice::free_stream(void* stream) noexcept {
  if (cudaStreamDestroy(stream_of(stream)) != cudaSuccess) cudaGetLastError();
}

void CudaDevice::synchronize_stream(void* stream) {
  check(cudaStreamSynchronize(stream_of(stream)), *this, "waiting for a stream");
}

void* CudaDevice::create_event() {
  const CurrentDevice current(*this);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), *this, "creating an event");
  return event;
}

void CudaDevice::free_event(void* event) noexcept {
  if (cudaEventDestroy(event_of(event)) != cudaSuccess) cudaGetLastError();
}

void CudaDevice::record(void* event, void* stream) {
  check(cudaEventRecord(event_of(event), stream_of(stream)), *this, "recording an event");
}

bool CudaDevice::is_complete(void* event) {
  const auto result = cudaEventQuery(event_of(event));
  if (result != cudaErrorNotReady) check(result, *this, "querying an event");
  cudaGetLastError();
  return result == cudaSuccess;
}

void CudaDevice::synchronize_event(void* event) {
  check(cudaEventSynchronize(event_of(event)), *this, "waiting for an event");
}

void CudaDevice::wait(void* stream, void* event) {
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), *this,
        "making a stream wait for an event");
}

void CudaDevice::wait_for_application(void* stream) noexcept {
  try {
    const CurrentDevice current(*this);
    const Event event(*this);
    for (const auto application : {cudaStreamLegacy, cudaStreamPerThread}) {
      if (application == cudaStreamPerThread && is_capturing(application))
        continue;  // waiting for it would join the capture
      record(event.handle(), application);
      wait(stream, event.handle());
    }
  } catch (const Failure&) {
  }
}

}  // namespace tenon
