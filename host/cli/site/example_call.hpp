// Example calls of operators, from their manifests.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

struct ExampleTensor {
  std::string name;  ///< the input's name; for a variadic input `part`, part0, part1 ...
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;  ///< all elements; empty if any values will do
};

struct ExampleCall {
  /// by input position; std::nullopt for an omitted optional input
  std::vector<std::optional<ExampleTensor>> inputs;
  std::vector<ExampleInfo::Param> params;
};

/// Returns the first complete example of the manifest, or else a generated call if the operator is
/// elementwise and all its parameters have defaults; std::nullopt otherwise.
std::optional<ExampleCall> example_call(const OperatorInfo& info);

}  // namespace tenon::cli
