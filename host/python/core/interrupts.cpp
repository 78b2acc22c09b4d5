#include "python/core/interrupts.hpp"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <utility>

namespace tenon::python {
namespace {

// Sources are never freed: a handler that runs in another thread may still use a replaced one. Each
// interrupt between runs costs one.
std::stop_source* new_source() {
  static auto& all = *new std::deque<std::stop_source>;
  return &all.emplace_back();
}

std::atomic<std::stop_source*> source = new_source();
struct sigaction python_action;

// Python's handler only sets a flag, which is not checked before the run ends. request_stop() is
// safe here, since no callbacks are registered.
void note_interrupt(int signal, siginfo_t* info, void* context) {
  source.load()->request_stop();
  if ((python_action.sa_flags & SA_SIGINFO) != 0)
    python_action.sa_sigaction(signal, info, context);
  else
    python_action.sa_handler(signal);
}

// Installed ahead of Python's handler; signal.signal() installs Python's own again.
void watch() {
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool informed = (now.sa_flags & SA_SIGINFO) != 0;
  if (informed ? now.sa_sigaction == note_interrupt
               : now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
    return;
  python_action = now;
  now.sa_sigaction = note_interrupt;
  now.sa_flags |= SA_SIGINFO;
  sigaction(SIGINT, &now, nullptr);
}

}  // namespace

std::stop_token interrupt_token() {
  // a check costs a system call; the coarse clock is free and ticks every few milliseconds
  static std::int64_t looked = 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (const auto tick = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
      tick != std::exchange(looked, tick))
    watch();
  auto* current = source.load();
  if (current->stop_requested()) {  // an interrupt between runs is only for Python
    current = new_source();
    source.store(current);
  }
  return current->get_token();
}

void raise_interrupt() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace tenon::python
