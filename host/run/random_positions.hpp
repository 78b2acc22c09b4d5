// The positions in the random streams from which eager and prepared calls draw.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <tenon/host/prepared_call.hpp>

namespace tenon {

/// A position for each call since the seed was set, from 0. Threads: any.
class RandomPositions {
 public:
  explicit RandomPositions(std::uint64_t seed) : seed_(seed) {}
  RandomPositions(const RandomPositions&) = delete;
  RandomPositions& operator=(const RandomPositions&) = delete;

  /// The position for the next call. Tries again if the seed changes meanwhile, so that no position
  /// combines a seed with a step of another one.
  RandomPosition next() {
    for (;;) {
      const auto version = version_.load();
      if (version % 2 != 0) continue;
      const auto seed = seed_.load(), step = calls_.fetch_add(1);
      if (version_.load() == version) [[likely]]
        return {seed, step};
    }
  }
  void start(std::uint64_t seed) {
    const std::lock_guard lock(starting_);
    version_.fetch_add(1);
    seed_.store(seed);
    calls_.store(0);
    version_.fetch_add(1);
  }

 private:
  std::atomic<std::uint64_t> seed_, calls_ = 0;
  std::atomic<std::uint64_t> version_ = 0;  // odd while start() changes the others
  std::mutex starting_;
};

}  // namespace tenon
