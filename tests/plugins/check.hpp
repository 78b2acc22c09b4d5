// One case of a plugin test: what goes in, an oracle in double, and everything that must hold whatever the operator is.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "array.hpp"
#include "plugin_operator.hpp"

/// Computes the outputs (at least the first) from the inputs, in the plainest way there is. Left-out inputs have no values.
using Oracle = std::function<std::vector<DoubleArray>(const std::vector<DoubleArray>&)>;

struct Case {
  std::string name;
  std::string plugin, op;
  tenon::Attributes attributes;
  std::vector<Array> inputs;
  Oracle oracle;
  std::vector<std::size_t> differentiable = {};  ///< inputs whose gradients are compared with the oracle's finite differences
  double tolerance = 1e-5;                       ///< of |found - expected| / (1 + |expected|)
  bool training = false;
};

/// Forward against the oracle, the shapes that infer() promised, one thread against four, adding, and work in place where it is declared;
/// the same for the gradients.
void check(const Case& test);

/// What creating, inferring and running the case is refused with; empty where it is not.
std::string error_of(const Case& test);
/// The same for types that are not whole.
std::string error_of(const std::string& plugin, const std::string& op, const tenon::Attributes& attributes,
                     const std::vector<tenon::TensorType>& inputs);
