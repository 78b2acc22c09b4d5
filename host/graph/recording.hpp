// What an elementwise operator computes of one element, recorded from its own function (tenon_trace in abi.h).
#pragma once
#include <string>
#include <vector>

#include "plugin/plugin_set.hpp"

namespace tenon {

/// Inputs are the first values, then one value for each step.
struct Recording {
  struct Step {
    std::string operation;  ///< "number", "cast", or what tenon_trace lists
    std::vector<tenon_value> operands{};
    DType dtype = unknown_dtype;  ///< of numbers and casts
    double number = 0;
  };
  std::uint32_t inputs = 0;
  std::vector<Step> steps;
  tenon_value result = 0;
};

/// Runs the operator's function once for each way through its branches, and joins the results by "where". `dtype`: what the function
/// computes in, of all inputs. Throws Failure with the reason: the function does what nobody can record, or has too many ways or steps.
Recording record(const LoadedOperator& op, const void* object, std::uint32_t inputs, DType dtype);

}  // namespace tenon
