// A call of an operator that it accepts, as far as its manifest shows one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

struct ExampleTensor {
  std::string name;  ///< the input's; part0 of a variadic input part
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;  ///< all elements; empty: any
};

struct ExampleCall {
  std::vector<std::optional<ExampleTensor>> inputs;  ///< at their places; nothing where an optional one is left out
  std::vector<ExampleInfo::Param> params;
};

/// The first of the author's examples that is whole, or one made up for an operator that takes any shape: element by element, and of
/// parameters that have defaults. Nothing where the manifest shows neither.
std::optional<ExampleCall> example_call(const OperatorInfo& info);

}  // namespace tenon::cli
