// Records the computation of an elementwise operator from its own function (tenon_trace in abi.h).
#pragma once
#include <string>
#include <vector>

#include "plugin/plugin_set.hpp"

namespace tenon {

/// A program over values: the inputs come first, then one value for each step.
struct Recording {
  struct Step {
    std::string operation;  ///< "number", "cast", or an operation listed at tenon_trace
    std::vector<tenon_value> operands{};
    DType dtype = unknown_dtype;  ///< of numbers and casts
    double number = 0;
  };
  std::uint32_t inputs = 0;
  std::vector<Step> steps;
  tenon_value result = 0;
};

/// Runs the operator's function once for each path through its branches and merges the results with
/// "where". `dtype`: the dtype of all inputs and of the computation. Throws Failure with the reason
/// if the function cannot be recorded or has too many paths or steps.
Recording record(const LoadedOperator& op, const void* object, std::uint32_t inputs, DType dtype);

}  // namespace tenon
