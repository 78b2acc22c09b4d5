// Handles of CUDA's libraries.
#pragma once
#include <cstddef>
#include <vector>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Libraries allocate memory for a handle, which a stream that is being captured would not let them do: while this lives, this thread may.
class RelaxedCapture {
 public:
  RelaxedCapture() { require(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }  // gives back what it was
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The current device's handle of this thread, made by create(&handle) when it is first asked for and never destroyed: at the end of a
/// thread, or of the program, CUDA may be gone already.
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
