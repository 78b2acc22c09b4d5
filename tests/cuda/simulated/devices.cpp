#include <cstdlib>
#include <cstring>
#include <string_view>

#include "memory.hpp"
#include "state.hpp"
#include "stream.hpp"

using namespace simulated;

namespace {

thread_local int current = 0;

// CUDA_VISIBLE_DEVICES: "", "0", "1", "0,1" ...; the first invalid device ends the list.
int visible_devices() {
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return max_devices;
  int count = 0;
  for (std::string_view rest = text; !rest.empty() && count < max_devices; ++count) {
    const auto end = rest.find(',');
    const auto word = rest.substr(0, end);
    if (word != "0" && word != "1") break;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return count;
}

bool is_device(int device) {
  return device >= 0 && device < device_count();
}

}  // namespace

int simulated::current_device() {
  return current;
}

int simulated::device_count() {
  static const int count = visible_devices();
  return count;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return result_of(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return result_of();
}

cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return result_of(cudaErrorInvalidDevice);
  current = device;
  return result_of();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_device(device)) return result_of(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "simulated GPU");
  properties->major = 9;
  properties->multiProcessorCount = 1;
  properties->totalGlobalMem = device_bytes;
  return result_of();
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!is_device(device)) return result_of(cudaErrorInvalidDevice);
  *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
           : attribute == cudaDevAttrComputeCapabilityMinor ? 0
           : attribute == cudaDevAttrMemoryPoolsSupported   ? has_pools()
                                                            : 1;
  return result_of();
}

cudaError_t cudaDeviceCanAccessPeer(int* linked, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return result_of(cudaErrorInvalidDevice);
  *linked = device != peer;
  return result_of();
}
