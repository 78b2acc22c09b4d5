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

/// A capture under way: the work that its streams got, in the order of the calls, which is one that the graph allows.
struct Capture {
  struct Progress {
    std::uint64_t added = 0, joined = 0;  // joined: as much of it as another stream of the capture waited for
  };
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode{};
  std::thread::id thread;
  std::vector<Work> work;
  std::map<cudaStream_t, Progress> streams;
  bool broken = false, ended = false;
};

/// The stream itself, or for cudaStreamLegacy and cudaStreamPerThread that of the current device, which is made when it is first needed.
cudaStream_t own(cudaStream_t stream);
/// Guards all captures, the streams' and events' part in them, and the set of streams.
std::mutex& captures_mutex();

/// That it was last recorded on; null where that is destroyed.
std::shared_ptr<CUstream_st> stream_of(cudaEvent_t event);
/// All streams: what this thread waits for may be the work of any.
void hurry_all();
/// Waits for all work on the current device.
void finish_device();

/// Whether CUDA would refuse a call that is no work on a stream, such as an allocation: while this thread captures, or another does for
/// all. Breaks those captures.
bool refused_by_capture();

/// Work that touches memory of a device.
template <class Function>
Work touching(int device, Function function) {
  return [device, function] {
    const Opened opened(device);
    function();
  };
}

}  // namespace simulated

/// Its work is done in order, a row of it at a time: by a thread of its own, which comes late, or by a thread that waits for the stream,
/// for most do, and so no thread has to wake up another.
struct CUstream_st {
  CUstream_st();
  ~CUstream_st();

  /// Work that is done later; while the stream captures, it becomes part of the graph.
  void add(simulated::Work work);
  /// Does its work on this thread until enough() holds, as far as no other thread is at it.
  void help(const std::function<bool()>& enough);
  void finish();
  bool idle();
  /// Somebody waits: its thread is late no longer.
  void hurry();

  const int device = simulated::current_device();
  std::shared_ptr<simulated::Capture> capture;

 private:
  void run();
  void do_row(std::unique_lock<std::mutex>& lock, const std::function<bool()>& enough);
  std::uint64_t random();

  std::mutex mutex_;
  std::condition_variable arrived_, done_;  // two, so that none wakes up for what it does not wait for
  std::deque<simulated::Work> work_;
  bool busy_ = false, ending_ = false, hurried_ = false, parked_ = false;
  std::uint64_t random_;
  std::thread thread_;
};

namespace simulated {

/// A place on a stream. Work on streams keeps it when its event is gone or was recorded again.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false;
};

}  // namespace simulated

struct CUevent_st {
  const int device = simulated::current_device();
  std::mutex mutex;
  std::shared_ptr<simulated::Mark> mark;        // of the last record; null before
  std::shared_ptr<simulated::Capture> capture;  // that it was last recorded in
  cudaStream_t stream = nullptr;
  std::uint64_t added = 0;  // of the stream's work in it
};

struct CUgraph_st {
  std::vector<simulated::Work> work;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<simulated::Work>> work;
};
