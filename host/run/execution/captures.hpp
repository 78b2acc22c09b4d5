// Segments of steps that are captured as CUDA graphs.
#pragma once
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "device/captured_graph.hpp"
#include "run/execution/stream_sync.hpp"

namespace tenon {

/// Steps [begin, end): all are kernels on the stream's device that only enqueue work there and are
/// the same in every run.
struct CaptureSegment {
  std::uint32_t begin, end;
  std::vector<Step> kernels;  ///< the steps without their waits and events, which are not captured
  const StreamSync* sync;
};

/// A CUDA graph is valid for the addresses and write modes that it was captured with, which the key
/// encodes. The first run of a key, and of each thread, executes step by step, so that kernels can
/// set themselves up: libraries have per-thread handles, and creating one may break a capture. A
/// later run captures. Threads: one at a time.
class Captures {
 public:
  Captures(std::vector<CaptureSegment> segments, const std::vector<Step>& steps)
      : segments_(std::move(segments)), steps_(steps) {}

  /// The steps to call in a run with this key; each captured segment is replaced by one launch.
  const std::vector<Step>& steps_for(std::span<const std::uint64_t> key);
  /// Why capturing failed too often, so that all later runs execute step by step; empty if it did
  /// not.
  const std::string& failure() const { return failure_; }

 private:
  struct Launch {
    CapturedGraph captured;
    const StreamSync& sync;
  };
  struct Variant {
    std::vector<std::uint64_t> key;
    std::deque<Launch> launches;  // one per segment
    std::vector<Step> steps;      // empty until captured
  };
  static std::int32_t launch(void* self, const tenon_call* call);
  void capture(Variant& variant);
  bool first_in_this_thread();

  std::vector<CaptureSegment> segments_;
  const std::vector<Step>& steps_;   // of the execution
  std::deque<Variant> variants_;     // oldest first
  std::set<std::thread::id> ready_;  // threads that have run the steps one by one
  int failures_ = 0;
  std::string failure_;
};

}  // namespace tenon
