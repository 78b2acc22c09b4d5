// Calls that an operator accepts: those that authors and users name, and those that are found by trying, for a manifest names no shapes.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <vector>

#include "check/parameter_sets.hpp"
#include "check/refusals.hpp"
#include "graph/operator_inference.hpp"

namespace tenon::checks {

struct CheckedOperator;

enum class Magnitude : std::uint8_t {
  positive,  ///< as fill_with_numbers() has them: (0.1, 0.9)
  ordinary,  ///< quarters from -16 to 16
  large,     ///< 1024 times those
  small,     ///< a 1024th of those
  special    ///< those, and infinities, nan, the largest and the least numbers
};

struct TestInput {
  Attributes attributes;
  CallTypes types;                          ///< all known
  std::vector<Tensor> given;                ///< the elements of inputs, on the CPU; empty: the check makes numbers up
  Magnitude numbers = Magnitude::positive;  ///< of those that it makes up

  bool has_elements(std::size_t input) const { return input < given.size() && given[input]; }
};

enum class TestInputKind : std::uint8_t {
  ordinary,
  odd,
  empty,
  scalar,
  large,
  round  ///< powers of two, as kernels for wide vectors and tiles need them
};

struct TestInputs {
  std::vector<TestInput> found;
  Refusals refusals;  ///< what was refused meanwhile
};

/// `shared` is the dtype of the inputs that have none of their own. They are searched for once in a process.
const TestInputs& find_samples(const CheckedOperator& subject, DType shared, TestInputKind kind);
/// The dtype that says most: float32, else the first that the operator has.
DType most_telling(const OperatorInfo& info);
/// All dtypes that inputs without one of their own may share; that one comes first.
std::vector<DType> shared_dtypes(const OperatorInfo& info);
/// With that one.
const TestInputs& find_samples(const CheckedOperator& subject, TestInputKind kind);
/// The same without a plugin file around the operator, and anew.
TestInputs find_samples(const LoadedOperator& op, TestInputKind kind);
/// One ordinary sample with that dtype, or none.
TestInputs find_sample(const CheckedOperator& subject, DType shared);

/// Whether the tensor is there and its dtype is floating.
inline bool is_floating(const tenon_type& type) {
  return type.present && floating.has(static_cast<DType>(type.dtype));
}

/// Whether kernels for GPUs must have the dtypes of its inputs and outputs: those of 0.2 they need not.
bool is_for_devices(const TestInput& sample);

std::string describe_parameters(const Attributes& parameters);
/// As far as inputs are known.
std::string describe_call(const OperatorInfo& info, std::span<const tenon_type> inputs, const Attributes& parameters);
inline std::string describe_sample(const OperatorInfo& info, const TestInput& sample) {
  return describe_call(info, sample.types.inputs, sample.attributes);
}

}  // namespace tenon::checks
