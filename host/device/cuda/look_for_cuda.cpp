#include <cstdlib>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/failure.hpp"
#include "device/cuda_state.hpp"

namespace tenon {

static int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

bool has_cuda_driver() {
  return driver_version() > 0;
}

CudaState look_for_cuda() {
  CudaAnswer answer;
  answer.runtime = CUDART_VERSION;
  answer.driver = driver_version();
  const auto result = cudaGetDeviceCount(&answer.devices);
  if (result != cudaSuccess) answer.error = error_text(result);
  answer.visible = std::getenv("CUDA_VISIBLE_DEVICES");
  cudaGetLastError();
  CudaState state = judge(answer);
  if (state.status != CudaStatus::usable) return state;
  for (int id = 0; id < answer.devices; ++id) state.devices.push_back(std::make_unique<CudaDevice>(id));
  return state;
}

}  // namespace tenon
