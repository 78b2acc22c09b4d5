// Measures how long a cache line takes from one core to another. The cores of a virtual machine may
// share a cache at one moment and not at the next, which the system does not report; exchanges
// between threads then take ten times as long.
#pragma once
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

inline std::vector<int> cores_of_process() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

/// One way, in nanoseconds.
inline double line_exchange(int first, int second) {
  constexpr int times = 2000;
  alignas(128) std::atomic<int> line = 0;
  const auto turn = [&](int core, int mine) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    for (int i = mine; i < 2 * times; i += 2) {
      while (line.load(std::memory_order_acquire) != i) {
      }
      line.store(i + 1, std::memory_order_release);
    }
  };
  std::thread one(turn, first, 0);
  const auto start = std::chrono::steady_clock::now();
  std::thread other(turn, second, 1);
  one.join();
  other.join();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
             .count() /
         (2 * times);
}

/// The time between the two of the process's cores that are furthest apart; only the first eight
/// cores are tried.
inline double worst_line_exchange() {
  const auto cores = cores_of_process();
  const auto count = std::min<std::size_t>(cores.size(), 8);
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i + 1; j < count; ++j)
      worst = std::max(worst, line_exchange(cores[i], cores[j]));
  return worst;
}
