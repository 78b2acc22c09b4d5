// The table that chooses the algorithm of `dft` on the CPU. plugins/README.md lists it.
#pragma once
#include <bit>
#include <cstdint>

#include "../../shared/product/choice.hpp"

struct DftCase {
  std::int64_t size;  ///< of a line
};

enum class DftAlgorithm { radix_2, bluestein };
using DftRow = choice::Row<DftAlgorithm, DftCase>;

inline constexpr DftRow dft_choices[] = {
    {DftAlgorithm::radix_2, "radix-2 FFT", "the length is a power of two",
     [](const DftCase& of) { return std::has_single_bit(static_cast<std::uint64_t>(of.size)); },
     "not measured", "different order"},
    {DftAlgorithm::bluestein, "Bluestein's FFT", "otherwise", [](const DftCase&) { return true; },
     "", "identical"},
};
