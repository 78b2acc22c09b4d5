#include <atomic>
#include <cstring>
#include <utility>

#include "../kernels.hpp"
#include "device.hpp"

namespace {

std::atomic<cudaError_t> lost = cudaSuccess;
thread_local cudaError_t last = cudaSuccess;
thread_local int current = 0;

}  // namespace

cudaError_t result_of(cudaError_t error) {
  const cudaError_t found = lost;
  if (found != cudaSuccess) error = found;
  if (error != cudaSuccess) last = error;
  return error;
}

void lose_device(cudaError_t error) {
  lost = error;
}

int current_device() {
  return current;
}

// Names and meanings are the real ones of those errors that the tests meet.
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidValue ? "invalid argument" : "simulated";
}

cudaError_t cudaGetLastError() {
  return std::exchange(last, cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return result_of();
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count;
  return result_of();
}

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return result_of();
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count) return result_of(cudaErrorInvalidDevice);
  current = device;
  return result_of();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "simulated GPU");
  properties->major = 9;
  properties->multiProcessorCount = 1;
  return result_of();
}

cudaError_t cudaDeviceCanAccessPeer(int* linked, int, int) {
  *linked = 1;
  return result_of();
}

void launch_add_one(std::uint32_t* data, std::int64_t n, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (on->device != current) return static_cast<void>(result_of(cudaErrorInvalidResourceHandle));
  on->add([=] {
    for (std::int64_t i = 0; i < n; ++i) data[i] += 1;
  });
}

void launch_wild_write(void* stream) {
  static_cast<cudaStream_t>(stream)->add([] { lose_device(cudaErrorIllegalAddress); });
}
