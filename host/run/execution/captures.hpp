// Segments of steps that are captured as CUDA graphs.
#pragma once
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "device/captured.hpp"
#include "run/execution/stream_sync.hpp"

namespace tenon {

/// Steps [begin, end), all of them kernels on the stream's device that only enqueue work there, the same in every run.
struct CaptureSegment {
  std::uint32_t begin, end;
  std::vector<Step> kernels;  ///< those steps without their waits and events, which stay outside of what is captured
  const StreamSync* sync;
};

/// A CUDA graph uses the addresses and write modes that it was captured with, which a key tells. A key's first run goes step by step, and
/// so does each thread's, which lets kernels set themselves up: libraries have handles of each thread, and making one may break a capture.
/// A later run captures. Threads: one at a time.
class Captures {
 public:
  Captures(std::vector<CaptureSegment> segments, const std::vector<Step>& steps) : segments_(std::move(segments)), steps_(steps) {}

  /// What to call in a run with this key: the steps, or with one launch in place of each segment.
  const std::vector<Step>& steps_for(std::span<const std::uint64_t> key);
  /// Why capturing failed too often, after which all runs go step by step; empty if it did not.
  const std::string& failure() const { return failure_; }

 private:
  struct Launch {
    Captured captured;
    const StreamSync& sync;
  };
  struct Variant {
    std::vector<std::uint64_t> key;
    std::deque<Launch> launches;  // one for each segment
    std::vector<Step> steps;      // empty before it is captured
  };
  static std::int32_t launch(void* self, const tenon_call* call);
  void capture(Variant& variant);
  bool first_in_this_thread();

  std::vector<CaptureSegment> segments_;
  const std::vector<Step>& steps_;   // of the execution
  std::deque<Variant> variants_;     // the oldest first
  std::set<std::thread::id> ready_;  // threads that have run the steps one by one
  int failures_ = 0;
  std::string failure_;
};

}  // namespace tenon
