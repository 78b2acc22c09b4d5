#include "threads_of_block.hpp"

#include <cstdio>
#include <cstdlib>

namespace simulated {
namespace {

thread_local ThreadsOfBlock* running = nullptr;

ThreadsOfBlock& block() {
  if (running != nullptr) return *running;
  std::fputs("simulated GPU: a body of for_each() asked for the threads of its block; for_each_block() gives them\n", stderr);
  std::abort();
}

}  // namespace

int ThreadsOfBlock::thread() {
  block();
  return running->thread_;
}

void ThreadsOfBlock::sync() {
  ThreadsOfBlock& self = block();
  const int thread = self.thread_;
  self.fibers_[static_cast<std::size_t>(thread)].pause();
  self.thread_ = thread;
}

void ThreadsOfBlock::begin(void* argument) {
  auto& self = *static_cast<ThreadsOfBlock*>(argument);
  try {
    self.run_(self.body_, self.i_);
  } catch (...) {
    self.threw_ = true;
  }
}

ThreadsOfBlock::Phase ThreadsOfBlock::resume_all(bool forward) {
  Phase phase;
  for (int k = 0; k < count; ++k) {
    thread_ = forward ? k : count - 1 - k;
    const int thread = thread_;
    Fiber& fiber = fibers_[static_cast<std::size_t>(thread)];
    fiber.resume();
    (fiber.ended() ? phase.one_ended : phase.one_waiting) = thread;
    ++(fiber.ended() ? phase.ended : phase.waiting);
  }
  return phase;
}

// Threads take turns forwards between two syncs and backwards between the next, and the other way round in the next block: a sync that is
// missing lets some thread of some block see what is not there yet.
std::string ThreadsOfBlock::run(Run run, const void* body, std::int64_t i) {
  run_ = run;
  body_ = body;
  i_ = i;
  threw_ = false;
  for (Fiber& fiber : fibers_) fiber.start(begin, this);
  running = this;
  Phase phase;
  for (bool forward = i % 2 == 0; phase.ended == 0; forward = !forward) phase = resume_all(forward);
  running = nullptr;
  if (threw_) return "the body threw, which device code cannot";
  if (phase.waiting == 0) return {};
  return "thread " + std::to_string(phase.one_ended) + " of block " + std::to_string(i) + " ended while thread " +
         std::to_string(phase.one_waiting) + " waits at a sync: all threads of a block must meet every sync";
}

}  // namespace simulated
