// The table that chooses the algorithm of a pooling on the CPU, forward and backward.
// plugins/README.md lists it.
#pragma once
#include "../../shared/product/choice.hpp"

struct PoolingProblem {
  bool f32, maximum;
  bool plain;  ///< no dilation, padding below the kernel's size, no window beyond the padding, as
               ///< oneDNN requires
  bool countable;  ///< positions in a plane fit into 32 bits
};

enum class PoolingAlgorithm { sliding_maximum, onednn, loops };
using PoolingRow = choice::Row<PoolingAlgorithm, PoolingProblem>;

inline constexpr PoolingRow pooling_choices[] = {
    {PoolingAlgorithm::sliding_maximum, "maximum along rows, then columns",
     "maximum, float32, no dilation, padding below the kernel's size, fewer than 2^31 elements per "
     "plane",
     [](const PoolingProblem& problem) {
       return problem.f32 && problem.maximum && problem.plain && problem.countable;
     },
     "not recorded", "identical"},
    {PoolingAlgorithm::onednn, "oneDNN",
     "average, float32, no dilation, padding below the kernel's size",
     [](const PoolingProblem& problem) { return problem.f32 && !problem.maximum && problem.plain; },
     "not recorded", "different summation order"},
    {PoolingAlgorithm::loops, "loops", "otherwise", [](const PoolingProblem&) { return true; }, "",
     "identical"},
};
