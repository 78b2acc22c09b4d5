// Handles of CUDA's libraries: cuBLAS, cuDNN, cuSPARSE and others that work through a handle for each thread and device.
#pragma once
#include <map>
#include <mutex>
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

namespace detail {

// Of one thread, by device. A handle takes tens of MB of a GPU, so one that a thread leaves when it ends is the next thread's.
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

  // Null where none is left: the caller makes one.
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
  // Of all threads, for each type of handle in each plugin.
  static Idle& idle() {
    static auto& only = *new Idle;  // threads may end after the program's static objects
    return only;
  }

  std::map<int, Handle> handles_;
};

// One for all functions that make such handles, whatever makes them.
template <class Handle>
ThreadHandles<Handle>& thread_handles() {
  static thread_local ThreadHandles<Handle> handles;
  return handles;
}

}  // namespace detail

/// The current device's handle of this thread, which no other thread uses meanwhile. Handle is a pointer type.
///
/// create(&handle) makes it the first time, and should throw Error on failure; the next call then tries again. RelaxedCapture holds
/// while create runs; but making a handle may still break a capture, as by waiting for the device, so Tenon lets each thread run a kernel
/// once before it captures it.
///
/// A thread that ends leaves its handles to others, so there are as many as threads that used them at once. None is ever destroyed: at the
/// end of the program, CUDA may be gone already. The handle keeps what the last user set, so set stream and workspace in every call.
///
/// Throws Error if CUDA fails, and what create throws.
///
/// Example:
///
///     const auto cublas = tenon::gpu::library_handle<cublasHandle_t>([](cublasHandle_t* made) {
///       if (cublasCreate(made) != CUBLAS_STATUS_SUCCESS) throw tenon::Error("cuBLAS does not start");
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
