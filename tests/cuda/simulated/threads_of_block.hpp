// The threads of one block of a simulated kernel.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "fiber.hpp"

namespace simulated {

/// Runs blocks, one after the other: each thread of a block is a fiber, and all meet at every sync. Of one thread of the CPU.
class ThreadsOfBlock {
 public:
  static constexpr int count = 256;
  using Run = void (*)(const void* body, std::int64_t i);

  /// Empty, or what the threads did wrong.
  std::string run(Run run, const void* body, std::int64_t i);
  /// Called by the fibers.
  static int thread();
  static void sync();

 private:
  struct Phase {
    int ended = 0, waiting = 0;
    int one_ended = -1, one_waiting = -1;
  };
  static void begin(void* self);
  Phase resume_all(bool forward);

  std::array<Fiber, count> fibers_;
  Run run_ = nullptr;
  const void* body_ = nullptr;
  std::int64_t i_ = 0;
  int thread_ = 0;
  bool threw_ = false;
};

}  // namespace simulated
