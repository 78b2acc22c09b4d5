// Host and worker alternate by a word in shared memory: the waiting side polls it for a while, then
// sleeps in the kernel.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

#include "isolate/protocol.hpp"

namespace tenon::isolate {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline void wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT32_MAX, nullptr,
          nullptr, 0);
}

/// Passes the turn to the other side and wakes it if it sleeps. Earlier writes are visible to it.
inline void pass_turn(Control& control, Turn turn, std::atomic<std::uint32_t>& other_sleeps) {
  control.turn.store(static_cast<std::uint32_t>(turn), std::memory_order_seq_cst);
  if (other_sleeps.load(std::memory_order_seq_cst) != 0) wake(control.turn);
}

/// Waits until `is_other_side` is false for the turn, at most until `deadline`. Returns the current
/// turn, whatever it is.
template <class IsOtherSide>
Turn wait_for_turn(Control& control, std::uint32_t spin_ns, std::atomic<std::uint32_t>& sleeps,
                   IsOtherSide is_other_side,
                   const std::chrono::steady_clock::time_point* deadline = nullptr) {
  using Clock = std::chrono::steady_clock;
  const auto now = [&] { return control.turn.load(std::memory_order_acquire); };
  auto turn = now();
  if (!is_other_side(static_cast<Turn>(turn))) return static_cast<Turn>(turn);
  for (const auto end = Clock::now() + std::chrono::nanoseconds(spin_ns); Clock::now() < end;)
    for (int i = 0; i < 32; ++i) {
      if (turn = now(); !is_other_side(static_cast<Turn>(turn))) return static_cast<Turn>(turn);
      relax();
    }
  sleeps.store(1, std::memory_order_seq_cst);
  while (is_other_side(static_cast<Turn>(turn = control.turn.load(std::memory_order_seq_cst)))) {
    timespec left{};
    if (deadline != nullptr) {
      const auto rest =
          std::chrono::duration_cast<std::chrono::nanoseconds>(*deadline - Clock::now()).count();
      if (rest <= 0) break;
      left = {static_cast<time_t>(rest / 1'000'000'000), static_cast<long>(rest % 1'000'000'000)};
    }
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&control.turn), FUTEX_WAIT, turn,
            deadline == nullptr ? nullptr : &left, nullptr, 0);
  }
  sleeps.store(0, std::memory_order_relaxed);
  return static_cast<Turn>(turn);
}

}  // namespace tenon::isolate
