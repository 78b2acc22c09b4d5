// Random numbers that depend on what is asked for and not on who asks first.
#pragma once
#include <cstdint>

#include "fn.hpp"
#include "version.hpp"
#if defined(__CUDACC__)
#include <math.h>
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Philox4x32-10: four words from a counter of four words and a key of two. Source: Salmon, Moraes, Dror and Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3", SC 2011.
struct Philox {
  struct Block {
    std::uint32_t words[4];
  };
  TENON_FN static constexpr Block block(Block counter, std::uint32_t key0, std::uint32_t key1) {
    auto& c = counter.words;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t first = std::uint64_t{0xD2511F53} * c[0], second = std::uint64_t{0xCD9E8D57} * c[2];
      c[0] = static_cast<std::uint32_t>(second >> 32) ^ c[1] ^ key0;
      c[1] = static_cast<std::uint32_t>(second);
      c[2] = static_cast<std::uint32_t>(first >> 32) ^ c[3] ^ key1;
      c[3] = static_cast<std::uint32_t>(first);
      key0 += 0x9E3779B9;  // the golden ratio
      key1 += 0xBB67AE85;  // the square root of 3, less 1
    }
    return counter;
  }
};

/// The random numbers of one node in one run. The i-th depends on the session's seed, the run's and the node's number and i alone, so they
/// are the same on any number of threads and on CUDA. Free to copy and to use from any thread or CUDA kernel; it keeps no state. Ask for
/// each i once, and for one kind of number per i: bits(i), uniform(i) and normal(i) come from the same source.
class Random {
 public:
  TENON_FN constexpr Random(std::uint64_t seed, std::uint64_t step, std::uint64_t node) : seed_(seed), step_(step), node_(node) {}

  /// Bits of four numbers at once: bits(4 b) to bits(4 b + 3).
  TENON_FN constexpr Philox::Block block(std::uint64_t b) const {
    const Philox::Block counter = {{low(b), high(b), low(step_) ^ high(node_), low(node_) ^ high(step_)}};
    return Philox::block(counter, low(seed_), high(seed_));
  }
  TENON_FN constexpr std::uint32_t bits(std::uint64_t i) const { return block(i / 4).words[i % 4]; }

  /// In [0, 1), a multiple of 2^-24.
  TENON_FN constexpr float uniform(std::uint64_t i) const { return static_cast<float>(bits(i) >> 8) * 0x1p-24f; }

  /// Mean 0, deviation 1, at most 6.7 from 0. By Box and Muller from two words, the pair giving two numbers; in double, so that CPU and
  /// CUDA round to the same float but for about one number in 10^8.
  TENON_FN float normal(std::uint64_t i) const {
    const Philox::Block four = block(i / 4);
    const int pair = i % 4 < 2 ? 0 : 2;
    const double above_zero = (four.words[pair] + 1.0) * 0x1p-32, turn = four.words[pair + 1] * 0x1p-32;
    const double angle = 6.283185307179586 * turn;
#if defined(__CUDACC__)
    return static_cast<float>(::sqrt(-2 * ::log(above_zero)) * (i % 2 ? ::sin(angle) : ::cos(angle)));
#else  // spares every plugin <cmath>
    return static_cast<float>(__builtin_sqrt(-2 * __builtin_log(above_zero)) * (i % 2 ? __builtin_sin(angle) : __builtin_cos(angle)));
#endif
  }

 private:
  TENON_FN static constexpr std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
  }
  TENON_FN static constexpr std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
  }

  std::uint64_t seed_, step_, node_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
