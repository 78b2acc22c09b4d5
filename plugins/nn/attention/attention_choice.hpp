// The table that chooses how `attention` multiplies on the CPU. plugins/README.md lists it.
#pragma once
#include <string>

#include "../../shared/product/product_choice.hpp"

struct AttentionProblem {
  bool f64;  ///< computed in float64 instead of float32
};

enum class AttentionAlgorithm { loops, fma };
using AttentionRow = choice::Row<AttentionAlgorithm, AttentionProblem>;

inline constexpr AttentionRow attention_choices[] = {
    {AttentionAlgorithm::loops, "loops", "float64",
     [](const AttentionProblem& problem) { return problem.f64; }, "the only one for this dtype",
     "specific to the dtype"},
    {AttentionAlgorithm::fma, "as products by FMA", "otherwise",
     [](const AttentionProblem&) { return true; }, "", "as for matrix products"},
};

/// The algorithm of a call whose query has this dtype.
inline std::string attention_algorithm(tenon::DType dtype) {
  const auto& row = choice::first_of<attention_choices>(AttentionProblem{dtype == tenon::f64});
  return row.algorithm == AttentionAlgorithm::fma
             ? choice::text_of(product::choose(product::Multiplies::fma))
             : choice::text_of(row);
}
