#include <dlfcn.h>

#include <cstdlib>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/failure.hpp"
#include "device/cuda_state.hpp"

namespace tenon {

static int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

// Uses the dynamic linker, because the CUDA runtime does not guarantee that querying the driver
// version leaves CUDA uninitialized.
bool has_cuda_driver() {
#if defined(TENON_SIMULATED_CUDA)
  return driver_version() > 0;
#else
  static const bool found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  return found;
#endif
}

CudaState detect_cuda() {
  CudaQueryResult answer;
  answer.runtime = CUDART_VERSION;
  answer.driver = driver_version();
  const auto result = cudaGetDeviceCount(&answer.devices);
  if (result != cudaSuccess) answer.error = error_text(result);
  answer.visible = std::getenv("CUDA_VISIBLE_DEVICES");
  cudaGetLastError();
  CudaState state = classify(answer);
  if (state.status != CudaStatus::usable) return state;
  for (int id = 0; id < answer.devices; ++id)
    state.devices.push_back(std::make_unique<CudaDevice>(id));
  return state;
}

}  // namespace tenon
