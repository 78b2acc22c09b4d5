// Streams, events and captures of simulated GPUs.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "arena.hpp"
#include "state.hpp"

namespace simulated {

using Work = std::function<void()>;

/// A capture in progress: the work of its streams in the order of the calls, which is one that the
/// graph allows.
struct Capture {
  struct Progress {
    std::uint64_t added = 0,
                  joined = 0;  // joined: how much of it another stream of the capture waited for
  };
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode{};
  std::thread::id thread;
  std::vector<Work> work;
  std::map<cudaStream_t, Progress> streams;
  bool broken = false, ended = false;
};

/// Returns the stream itself; for cudaStreamLegacy and cudaStreamPerThread, the current device's,
/// which is created on first use.
cudaStream_t own(cudaStream_t stream);
/// Guards all captures, the streams' and events' capture state, and the set of streams.
std::mutex& captures_mutex();

/// The stream that the event was last recorded on; null if that is destroyed.
std::shared_ptr<CUstream_st> stream_of(cudaEvent_t event);
/// Hurries all streams: the calling thread may wait for work of any of them.
void hurry_all();
/// Waits for all work on the current device.
void finish_device();

/// Whether CUDA would reject a call that is not work on a stream, such as an allocation: if this
/// thread captures, or another thread captures in global mode. Breaks those captures.
bool refused_by_capture();

/// Work that accesses memory of a device.
template <class Function>
Work touching(int device, Function function) {
  return [device, function] {
    const Opened opened(device);
    function();
  };
}

}  // namespace simulated

/// Runs its work in order, in batches: by a thread of its own, which starts late, or by a thread
/// that waits for the stream. The latter is the usual case and saves waking up another thread.
struct CUstream_st {
  CUstream_st();
  ~CUstream_st();

  /// Adds work that runs later; if the stream captures, it becomes part of the graph.
  void add(simulated::Work work);
  /// Runs the stream's work on this thread until enough() holds, unless another thread is running
  /// it.
  void help(const std::function<bool()>& enough);
  void finish();
  bool idle();
  /// Called by waiting threads: the stream's thread no longer delays.
  void hurry();

  const int device = simulated::current_device();
  std::shared_ptr<simulated::Capture> capture;

 private:
  void run();
  void do_row(std::unique_lock<std::mutex>& lock, const std::function<bool()>& enough);
  std::uint64_t random();

  std::mutex mutex_;
  std::condition_variable arrived_, done_;  // two, so that no thread wakes up unnecessarily
  std::deque<simulated::Work> work_;
  bool busy_ = false, ending_ = false, hurried_ = false, parked_ = false;
  std::uint64_t random_;
  std::thread thread_;
};

namespace simulated {

/// A position in a stream's work. Waiting work holds it even if its event is destroyed or recorded
/// again.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false;
};

}  // namespace simulated

struct CUevent_st {
  const int device = simulated::current_device();
  std::mutex mutex;
  std::shared_ptr<simulated::Mark> mark;        // of the last record; null before that
  std::shared_ptr<simulated::Capture> capture;  // in which it was last recorded
  cudaStream_t stream = nullptr;
  std::uint64_t added = 0;  // the amount of its stream's work in the capture
};

struct CUgraph_st {
  std::vector<simulated::Work> work;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<simulated::Work>> work;
};
