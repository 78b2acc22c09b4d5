// CudaDevice: capture of work as CUDA graphs.
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/failure.hpp"
#include "device/device.hpp"

namespace tenon {

// Other threads may do anything during a capture except wait for the device.
void CudaDevice::begin_capture(void* stream) {
  const CurrentDevice current(*this);
  std::shared_lock lock(captures_);
  check(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal),
        *this, "beginning a capture");
  lock.release();
}

void* CudaDevice::end_capture(void* stream) {
  const std::shared_lock lock(captures_, std::adopt_lock);
  const CurrentDevice current(*this);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph), *this, "capturing work");
  cudaGraphExec_t runnable = nullptr;
  const auto result = cudaGraphInstantiate(&runnable, graph, 0);
  cudaGraphDestroy(graph);
  check(result, *this, "instantiating captured work");
  return runnable;
}

void CudaDevice::drop_capture(void* stream) noexcept {
  const std::shared_lock lock(captures_, std::adopt_lock);
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph) != cudaSuccess)
    cudaGetLastError();
  if (graph != nullptr) cudaGraphDestroy(graph);
}

bool CudaDevice::is_capturing(void* stream) {
  auto status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status), *this,
        "querying the capture status");
  return status != cudaStreamCaptureStatusNone;
}

void CudaDevice::launch(void* captured, void* stream) {
  const CurrentDevice current(*this);
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(captured), static_cast<cudaStream_t>(stream)),
        *this, "launching captured work");
}

void CudaDevice::free_captured(void* captured) noexcept {
  if (cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(captured)) != cudaSuccess)
    cudaGetLastError();
}

}  // namespace tenon
