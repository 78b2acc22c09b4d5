// Two GPUs that are not there: enough of CUDA's runtime, on the CPU, to run the device layer and its tests on. Streams are threads that are
// late, so that what relies on luck fails; what CUDA would let pass slowly or wrongly (memory that is not pinned, places out of bounds,
// pools that are closed to a peer) is refused.
#pragma once
#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

inline constexpr int device_count = 2;
inline constexpr std::uint64_t device_bytes = 1u << 30;

/// Remembers an error as CUDA does and gives it back. Where the device is lost, that is the error of every call.
cudaError_t result_of(cudaError_t error = cudaSuccess);
void lose_device(cudaError_t error);

int current_device();

/// Its work is done by a thread of its own, in order.
struct CUstream_st {
  CUstream_st();
  ~CUstream_st();
  void add(std::function<void()> work);
  void finish();

  const int device = current_device();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false, ending_ = false;
  std::thread thread_;
};

/// How often an event was recorded, and how much of that is reached. Work on streams keeps it when the event is gone.
struct Marks {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0, reached = 0;
};

struct CUevent_st {
  const int device = current_device();
  const std::shared_ptr<Marks> marks = std::make_shared<Marks>();
};
