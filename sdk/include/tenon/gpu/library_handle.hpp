// Handles of CUDA's libraries: cuBLAS, cuDNN, cuSPARSE and others that work through a handle for each thread and device.
#pragma once
#include <cstddef>
#include <vector>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// While this object lives, this thread may call what CUDA otherwise forbids while a stream is being captured, such as the allocations that
/// libraries make for a handle or a plan. Create and destroy it on the same thread. The constructor throws Error if CUDA fails.
class RelaxedCapture {
 public:
  RelaxedCapture() { require(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }  // gives back what it was
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The current device's handle of this thread. create(&handle) makes it the first time and should throw Error on failure; the next call
/// then tries again. Handle is a pointer type. Handles are never destroyed: at the end of a thread, or of the program, CUDA may be gone
/// already. The handle keeps what the last user set, so set stream and workspace in every call.
///
/// Example:
///
///     const auto cublas = tenon::gpu::library_handle<cublasHandle_t>([](cublasHandle_t* made) {
///       if (cublasCreate(made) != CUBLAS_STATUS_SUCCESS) throw tenon::Error("cuBLAS does not start");
///     });
///     cublasSetStream(cublas, tenon::gpu::stream_of(call));
template <class Handle, class Create>
Handle library_handle(Create&& create) {
  static thread_local std::vector<Handle> handles;
  int device = 0;
  require(cudaGetDevice(&device));
  const auto place = static_cast<std::size_t>(device);
  if (place >= handles.size()) handles.resize(place + 1);
  if (!handles[place]) {
    const RelaxedCapture relaxed;
    create(&handles[place]);
  }
  return handles[place];
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
