// Handles of CUDA libraries such as cuBLAS, cuDNN and cuSPARSE, which need one handle per thread
// and device.
#pragma once
#include <map>
#include <mutex>
#include <vector>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// While this object lives, this thread may make calls that CUDA otherwise forbids while a stream
/// is being captured, such as the allocations of libraries for a handle or a plan. Create and
/// destroy it on the same thread. The constructor throws Error if CUDA fails.
class RelaxedCapture {
 public:
  RelaxedCapture() { require(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }  // restores the previous mode
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

namespace detail {

// The handles of one thread, by device. A handle takes tens of MB of GPU memory, so handles of a
// thread that ends are reused by the next thread.
template <class Handle>
class ThreadHandles {
 public:
  ThreadHandles() = default;
  ~ThreadHandles() {
    const std::lock_guard lock(idle().mutex);
    for (const auto& [device, handle] : handles_)
      if (handle) idle().handles[device].push_back(handle);
  }
  ThreadHandles(const ThreadHandles&) = delete;
  ThreadHandles& operator=(const ThreadHandles&) = delete;

  // Returns null if none is left: the caller creates one.
  Handle& on(int device) {
    Handle& handle = handles_[device];
    if (handle) return handle;
    const std::lock_guard lock(idle().mutex);
    if (auto& left = idle().handles[device]; !left.empty()) {
      handle = left.back();
      left.pop_back();
    }
    return handle;
  }

 private:
  struct Idle {
    std::mutex mutex;
    std::map<int, std::vector<Handle>> handles;
  };
  // Idle handles of all threads, for each type of handle in each plugin.
  static Idle& idle() {
    static auto& only = *new Idle;  // never destroyed: threads may outlive static objects
    return only;
  }

  std::map<int, Handle> handles_;
};

// Shared by all functions that create such handles.
template <class Handle>
ThreadHandles<Handle>& thread_handles() {
  static thread_local ThreadHandles<Handle> handles;
  return handles;
}

}  // namespace detail

/// Returns this thread's handle for the current device, which no other thread uses meanwhile.
/// Handle is a pointer type.
///
/// create(&handle) creates it on first use, and should throw Error on failure; the next call then
/// tries again. create runs under RelaxedCapture, but creating a handle may still break a capture,
/// for example by waiting for the device. Tenon therefore lets each thread run a kernel once before
/// it captures it.
///
/// Handles of a thread that ends are passed on to other threads, so there are at most as many as
/// threads that used them at once. None is ever destroyed: at the end of the program, CUDA may
/// already be shut down. The handle keeps the settings of its last user, so set stream and
/// workspace in every call.
///
/// Throws Error if CUDA fails, and passes on exceptions of create.
///
/// Example:
///
///     const auto cublas = tenon::gpu::library_handle<cublasHandle_t>([](cublasHandle_t* made) {
///       if (cublasCreate(made) != CUBLAS_STATUS_SUCCESS)
///         throw tenon::Error("cuBLAS failed to initialize");
///     });
///     cublasSetStream(cublas, tenon::gpu::stream_of(call));
template <class Handle, class Create>
Handle library_handle(Create&& create) {
  int device = 0;
  require(cudaGetDevice(&device));
  Handle& handle = detail::thread_handles<Handle>().on(device);
  if (!handle) {
    const RelaxedCapture relaxed;
    create(&handle);
  }
  return handle;
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
