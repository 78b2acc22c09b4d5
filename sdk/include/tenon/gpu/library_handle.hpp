// Handles of CUDA's libraries.
#pragma once
#include <cstddef>
#include <vector>

#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::gpu {

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
    // Libraries allocate memory for a handle, which a stream that is being captured would not let them do.
    auto mode = cudaStreamCaptureModeRelaxed;
    require(cudaThreadExchangeStreamCaptureMode(&mode));
    create(&handles[place]);
    require(cudaThreadExchangeStreamCaptureMode(&mode));
  }
  return handles[place];
}

}  // namespace tenon::gpu
#pragma GCC visibility pop
