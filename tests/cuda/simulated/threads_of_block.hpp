// The threads of one block of a simulated kernel.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "stacks.hpp"

namespace simulated {

/// Runs blocks, one after the other: each thread of a block has a stack, and all meet at every sync. Of one thread of the CPU.
class ThreadsOfBlock {
 public:
  static constexpr int count = 256;
  using Run = void (*)(const void* body, std::int64_t i);

  /// Empty, or what the threads did wrong.
  std::string run(Run run, const void* body, std::int64_t i);
  /// Called by the threads.
  static int thread();
  static void sync();

 private:
  static void begin();
  void next(void** own);

  Stacks stacks_{count};
  std::array<void*, count> stopped_{};  // where each thread did
  void* caller_ = nullptr;
  Run run_ = nullptr;
  const void* body_ = nullptr;
  std::int64_t i_ = 0;
  int thread_ = 0, turn_ = 0;  // who runs, and how many had their turn before since the last sync
  bool forward_ = true;
  int ended_ = 0, one_ended_ = 0, one_waiting_ = 0;
  bool threw_ = false;
};

}  // namespace simulated
