// Counter-based random numbers, which do not depend on the order in which they are drawn.
#pragma once
#include <cstdint>

#include "fn.hpp"
#include "version.hpp"
#if defined(__CUDACC__)
#include <math.h>
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// The generator of Random, which authors use. Philox4x32-10: four words from a counter of four
/// words and a key of two. Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
/// as 1, 2, 3", SC 2011.
struct Philox {
  struct Block {
    std::uint32_t words[4];
  };
  TENON_FN static constexpr Block block(Block counter, std::uint32_t key0, std::uint32_t key1) {
    auto& c = counter.words;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t first = std::uint64_t{0xD2511F53} * c[0],
                          second = std::uint64_t{0xCD9E8D57} * c[2];
      c[0] = static_cast<std::uint32_t>(second >> 32) ^ c[1] ^ key0;
      c[1] = static_cast<std::uint32_t>(second);
      c[2] = static_cast<std::uint32_t>(first >> 32) ^ c[3] ^ key1;
      c[3] = static_cast<std::uint32_t>(first);
      key0 += 0x9E3779B9;  // the golden ratio
      key1 += 0xBB67AE85;  // the square root of 3, minus 1
    }
    return counter;
  }
};

/// The random numbers of one node in one run, as call.random() returns them; declare
/// op.uses_random().
///
///     const auto random = call.random();
///     call.parallel_for(y.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
///       for (auto i = begin; i < end; ++i)
///         y[i] = random.uniform(static_cast<std::uint64_t>(i)) < p ? 0.f : x[i];
///     });
///
/// The i-th number depends only on the session's seed, the run's number, the node's name and i, so
/// it is the same with any number of threads and on CUDA, and the same in backward as in forward.
/// The object is stateless: copy it freely and use it in any thread or CUDA kernel. Draw each i
/// once, and one kind of number per i: bits(i), uniform(i) and normal(i) have the same source. For
/// several numbers per element use several ranges of i: n + i, 2 * n + i ... with n elements.
class Random {
 public:
  /// For tests of kernels; in a kernel use call.random().
  TENON_FN constexpr Random(std::uint64_t seed, std::uint64_t step, std::uint64_t node)
      : seed_(seed), step_(step), node_(node) {}

  /// Four numbers at once: bits(4 b) to bits(4 b + 3).
  TENON_FN constexpr Philox::Block block(std::uint64_t b) const {
    const Philox::Block counter = {
        {low(b), high(b), low(step_) ^ high(node_), low(node_) ^ high(step_)}};
    return Philox::block(counter, low(seed_), high(seed_));
  }
  /// 32 uniformly random bits.
  TENON_FN constexpr std::uint32_t bits(std::uint64_t i) const { return block(i / 4).words[i % 4]; }

  /// A number in [0, 1), a multiple of 2^-24: uniform(i) < p holds with probability p. 1 -
  /// uniform(i) is in (0, 1], for logarithms.
  TENON_FN constexpr float uniform(std::uint64_t i) const {
    return static_cast<float>(bits(i) >> 8) * 0x1p-24f;
  }

  /// A number from the normal distribution with mean 0 and standard deviation 1, at most 6.7 in
  /// magnitude. Box-Muller transform of two words, each pair giving two numbers; computed in
  /// double, so that CPU and CUDA round to the same float except for about one number in 10^8.
  TENON_FN float normal(std::uint64_t i) const {
    const Philox::Block four = block(i / 4);
    const int pair = i % 4 < 2 ? 0 : 2;
    const double above_zero = (four.words[pair] + 1.0) * 0x1p-32,
                 turn = four.words[pair + 1] * 0x1p-32;
    const double angle = 6.283185307179586 * turn;
#if defined(__CUDACC__)
    return static_cast<float>(::sqrt(-2 * ::log(above_zero)) *
                              (i % 2 ? ::sin(angle) : ::cos(angle)));
#else  // avoids including <cmath> in every plugin
    return static_cast<float>(__builtin_sqrt(-2 * __builtin_log(above_zero)) *
                              (i % 2 ? __builtin_sin(angle) : __builtin_cos(angle)));
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
