#include <cstdlib>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/failure.hpp"
#include "device/cuda_state.hpp"

namespace tenon {

CudaState look_for_cuda() {
  CudaAnswer answer;
  answer.runtime = CUDART_VERSION;
  if (cudaDriverGetVersion(&answer.driver) != cudaSuccess) answer.driver = 0;
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
