// The learning rate as a function of the step.
#pragma once
#include <cstdint>
#include <tenon/host/api.hpp>

namespace tenon {

/// Plain data. The rate depends only on the step's number, so a resumed training needs no other
/// state.
struct TENON_API Schedule {
  enum class Kind : std::uint8_t { constant, step, cosine };
  Kind kind = Kind::constant;
  double rate = 1e-3;  ///< the rate after the warm-up
  std::uint64_t warm_up =
      0;  ///< steps over which the rate grows linearly, from rate / warm_up to rate
  std::uint64_t every =
      1000;  ///< step: after the warm-up, the rate is multiplied by `factor` every `every` steps
  double factor = 0.1;
  std::uint64_t total = 0;  ///< cosine: steps of the whole training, 0: all steps of the Trainer;
                            ///< then the rate stays at `end`
  double end = 0;           ///< cosine: the final rate

  /// The rate of a step; the first step is 0. Cosine after Loshchilov and Hutter, "SGDR", 2017,
  /// without restarts; linear warm-up after Goyal et al., 2017. Throws Failure (usage) as check()
  /// does.
  double at(std::uint64_t step) const;

  /// Throws Failure (usage) for invalid numbers: a rate that is negative or not finite, `every` of
  /// 0.
  void check() const;
};

}  // namespace tenon
