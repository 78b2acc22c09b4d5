// Calls that an operator accepts, found by trying: a manifest names no shapes.
#pragma once
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <vector>

#include "graph/operator_inference.hpp"

namespace tenon::checks {

struct TestInput {
  Attributes attributes;
  OperatorTypes types;  ///< all known
};

enum class TestInputKind : std::uint8_t { ordinary, odd, empty, scalar, large };

struct TestInputs {
  std::vector<TestInput> found;
  std::string error;  ///< the last one, where nothing was found
};

/// `shared` is the dtype of the inputs that have none of their own.
TestInputs find_samples(const LoadedOperator& op, DType shared, TestInputKind kind);
/// With the dtype that says most: float32, else the first that the operator has.
TestInputs find_samples(const LoadedOperator& op, TestInputKind kind);

/// Whether the tensor is there and its dtype is floating.
inline bool is_floating(const tenon_type& type) {
  return type.present && floating.has(static_cast<DType>(type.dtype));
}

std::string describe_sample(const OperatorInfo& info, const TestInput& sample);

/// Sets of parameters worth trying: defaults, small legal values for what is required, each switch and choice once.
std::vector<Attributes> parameter_sets(const OperatorInfo& info);

}  // namespace tenon::checks
