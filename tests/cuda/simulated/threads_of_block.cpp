#include "threads_of_block.hpp"

#include <cstdio>
#include <cstdlib>

namespace simulated {
namespace {

thread_local ThreadsOfBlock* running = nullptr;

ThreadsOfBlock& block() {
  if (running != nullptr) return *running;
  std::fputs(
      "simulated GPU: a body of for_each() used the threads of its block; use for_each_block()\n",
      stderr);
  std::abort();
}

}  // namespace

int ThreadsOfBlock::thread() {
  return block().thread_;
}

void ThreadsOfBlock::sync() {
  ThreadsOfBlock& self = block();
  self.one_waiting_ = self.thread_;
  self.next(&self.stopped_[static_cast<std::size_t>(self.thread_)]);
}

// Switches directly to the next thread instead of through run(): half the switches, which take most
// of a simulated kernel's time.
void ThreadsOfBlock::next(void** own) {
  if (++turn_ == count) return switch_stacks(own, caller_);
  thread_ = forward_ ? turn_ : count - 1 - turn_;
  switch_stacks(own, stopped_[static_cast<std::size_t>(thread_)]);
}

void ThreadsOfBlock::begin() {
  ThreadsOfBlock& self = *running;
  try {
    self.run_(self.body_, self.i_);
  } catch (...) {
    self.threw_ = true;
  }
  self.one_ended_ = self.thread_;
  ++self.ended_;
  self.next(&self.stopped_[static_cast<std::size_t>(self.thread_)]);
}

// Threads run in ascending order up to one sync and in descending order up to the next, and the
// other way round in the next block: if a sync is missing, some thread of some block reads values
// that are not there yet.
std::string ThreadsOfBlock::run(Run run, const void* body, std::int64_t i) {
  run_ = run;
  body_ = body;
  i_ = i;
  ended_ = 0;
  threw_ = false;
  for (int k = 0; k < count; ++k) stopped_[static_cast<std::size_t>(k)] = stacks_.begin(k, begin);
  running = this;
  {
    const Stacks::InUse in_use(stacks_);
    for (forward_ = i % 2 == 0; ended_ == 0; forward_ = !forward_) {
      turn_ = 0;
      thread_ = forward_ ? 0 : count - 1;
      switch_stacks(&caller_, stopped_[static_cast<std::size_t>(thread_)]);
    }
  }
  running = nullptr;
  if (ended_ == count && !threw_) return {};
  stacks_.forget();
  if (threw_) return "the body threw an exception, which device code cannot do";
  return "thread " + std::to_string(one_ended_) + " of block " + std::to_string(i) +
         " ended while thread " + std::to_string(one_waiting_) +
         " waits at a sync: all threads of a block must reach every sync";
}

}  // namespace simulated
