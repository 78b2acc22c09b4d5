// The table that chooses the algorithm of `dft` on the CPU. plugins/README.md lists it.
#pragma once
#include <bit>
#include <cstdint>

#include "../../shared/product/choice.hpp"

struct DftProblem {
  std::int64_t size;  ///< of a line
};

enum class DftAlgorithm { radix_2, bluestein };
using DftRow = choice::Row<DftAlgorithm, DftProblem>;

inline constexpr DftRow dft_choices[] = {
    {DftAlgorithm::radix_2, "radix-2 FFT", "the length is a power of two",
     [](const DftProblem& problem) {
       return std::has_single_bit(static_cast<std::uint64_t>(problem.size));
     },
     "0.1 (2^16 elements) to 0.25 (2 elements) of Bluestein's time (EPYC, Zen 5)",
     "different order"},
    {DftAlgorithm::bluestein, "Bluestein's FFT", "otherwise",
     [](const DftProblem&) { return true; }, "", "identical"},
};
