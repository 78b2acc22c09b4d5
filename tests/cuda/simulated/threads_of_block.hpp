// The threads of one block of a simulated kernel.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "stacks.hpp"

namespace simulated {

/// Runs blocks one after the other: each thread of a block has a stack, and all threads meet at
/// every sync. For use by one CPU thread.
class ThreadsOfBlock {
 public:
  static constexpr int count = 256;
  using Run = void (*)(const void* body, std::int64_t i);

  /// Returns an empty string, or the error of the block's threads.
  std::string run(Run run, const void* body, std::int64_t i);
  /// Called by the block's threads.
  static int thread();
  static void sync();

 private:
  static void begin();
  void next(void** own);

  Stacks stacks_{count};
  std::array<void*, count> stopped_{};  // where each thread stopped
  void* caller_ = nullptr;
  Run run_ = nullptr;
  const void* body_ = nullptr;
  std::int64_t i_ = 0;
  int thread_ = 0, turn_ = 0;  // the running thread, and the number of threads that ran before it
                               // since the last sync
  bool forward_ = true;
  int ended_ = 0, one_ended_ = 0, one_waiting_ = 0;
  bool threw_ = false;
};

}  // namespace simulated
