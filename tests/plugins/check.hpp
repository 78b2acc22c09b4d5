// A case of a plugin test: inputs, an oracle in double, and the properties that hold for every
// operator.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "array.hpp"
#include "plugin_operator.hpp"

/// Computes the outputs (at least the first one) from the inputs in the most straightforward way.
/// Absent inputs have no values.
using Oracle = std::function<std::vector<DoubleArray>(const std::vector<DoubleArray>&)>;

struct Case {
  std::string name;
  std::string plugin, op;
  tenon::Attributes attributes;
  std::vector<Array> inputs;
  Oracle oracle;
  std::vector<std::size_t> differentiable =
      {};  ///< inputs whose gradients are compared with finite differences of the oracle
  double tolerance = 1e-5;  ///< of |found - expected| / (1 + |expected|)
  bool training = false;
};

/// Checks forward against the oracle, the shapes from infer(), one thread against four,
/// accumulation, and in-place computation if it is declared; then the same for the gradients.
void check(const Case& test);

/// The error of creating, inferring or running the case; empty if there is none.
std::string error_of(const Case& test);
/// Overload for types with unknown parts.
std::string error_of(const std::string& plugin, const std::string& op,
                     const tenon::Attributes& attributes,
                     const std::vector<tenon::TensorType>& inputs);
