// The learning rate from step to step.
#pragma once
#include <cstdint>

namespace tenon {

/// Plain data; a step's rate depends on nothing but the step, so that a training that goes on needs no more than its number.
struct Schedule {
  enum class Kind : std::uint8_t { constant, step, cosine };
  Kind kind = Kind::constant;
  double rate = 1e-3;          ///< after the warm-up
  std::uint64_t warm_up = 0;   ///< steps over which the rate grows evenly, from rate / warm_up to rate
  std::uint64_t every = 1000;  ///< step: so many steps after the warm-up, and after as many again, the rate is multiplied by `factor`
  double factor = 0.1;
  std::uint64_t total = 1;  ///< cosine: steps of the whole training; after them the rate stays at its end
  double end = 0;           ///< cosine: the last rate

  /// Of a step, the first being 0. Cosine after Loshchilov and Hutter, "SGDR", 2017, without restarts; linear warm-up after Goyal et al.,
  /// 2017.
  double at(std::uint64_t step) const;

  /// Throws Failure (usage) for numbers that make no sense: a rate below 0 or not finite, no steps to decay over.
  void check() const;
};

}  // namespace tenon
