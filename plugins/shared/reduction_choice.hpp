// The table that chooses the algorithm of a reduction on the CPU. plugins/README.md lists it.
#pragma once
#include <cstdint>

#include "product/choice.hpp"

struct ReductionProblem {
  bool inner_reduced;     ///< the innermost axis with several elements is reduced
  std::int64_t tiles;     ///< results, or groups of up to 256 adjacent results of columns
  std::int64_t elements;  ///< of the input
  bool has_scratch;       ///< for the results of segments
};

enum class ReductionAlgorithm { rows_in_segments, rows, columns_in_segments, columns };
using ReductionRow = choice::Row<ReductionAlgorithm, ReductionProblem>;

namespace reduction_choice {

inline constexpr std::int64_t enough_tiles = 16, elements_per_segment = 1 << 16;

/// Whether each tile is split, because there are too few tiles to keep the threads busy.
constexpr bool needs_segments(const ReductionProblem& problem) {
  return problem.has_scratch && problem.tiles < enough_tiles &&
         problem.elements >= 2 * elements_per_segment;
}

constexpr bool by_rows(ReductionAlgorithm algorithm) {
  return algorithm == ReductionAlgorithm::rows_in_segments || algorithm == ReductionAlgorithm::rows;
}
constexpr bool in_segments(ReductionAlgorithm algorithm) {
  return algorithm == ReductionAlgorithm::rows_in_segments ||
         algorithm == ReductionAlgorithm::columns_in_segments;
}

}  // namespace reduction_choice

inline constexpr ReductionRow reduction_choices[] = {
    {ReductionAlgorithm::rows_in_segments, "rows in segments",
     "innermost axis reduced, `axes` is not an input, fewer than 16 results, at least 2^17 "
     "elements",
     [](const ReductionProblem& problem) {
       return problem.inner_reduced && reduction_choice::needs_segments(problem);
     },
     "1.0 of rows' time, with two threads 0.5 (2^24 elements) to 1.0 (2^20 elements) (EPYC, Zen 5)",
     "different order"},
    {ReductionAlgorithm::rows, "rows", "innermost axis reduced",
     [](const ReductionProblem& problem) { return problem.inner_reduced; },
     "the only one for these axes", "different order"},
    {ReductionAlgorithm::columns_in_segments, "columns in segments",
     "innermost axis kept, `axes` is not an input, fewer than 16 groups of up to 256 adjacent "
     "results, at least 2^17 elements",
     reduction_choice::needs_segments,
     "1.0 (65,536 x 256) to 1.9 (256 x 3,840) of columns' time, with two threads 0.5 "
     "(65,536 x 256) (EPYC, Zen 5)",
     "different order"},
    {ReductionAlgorithm::columns, "columns", "otherwise",
     [](const ReductionProblem&) { return true; }, "", "identical"},
};
