// Calls that an operator accepts: from examples, from users, or found by search, because a manifest
// does not declare shapes.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "check/samples/parameter_sets.hpp"
#include "check/samples/refusals.hpp"
#include "graph/inference/operator_inference.hpp"

namespace tenon {
class OperatorCall;
}

namespace tenon::checks {

struct CheckedOperator;

enum class Magnitude : std::uint8_t {
  positive,  ///< as of fill_with_numbers(): (0.1, 0.9)
  ordinary,  ///< quarters from -16 to 16
  large,     ///< 1024 times `ordinary`
  small,     ///< 1/1024 of `ordinary`
  special    ///< `ordinary`, and infinities, nan, the largest and smallest numbers
};

struct TestInput {
  Attributes attributes;
  CallTypes types;                          ///< all known
  std::vector<Tensor> elements;             ///< of inputs, on the CPU; empty ones are generated
  Magnitude numbers = Magnitude::positive;  ///< of the generated ones

  bool has_elements(std::size_t input) const { return input < elements.size() && elements[input]; }
};

enum class TestInputKind : std::uint8_t {
  ordinary,
  odd,
  empty,
  scalar,
  large,
  round  ///< powers of two, as needed by vectorized and tiled kernels
};

struct TestInputs {
  std::vector<TestInput> found;
  Refusals refusals;  ///< rejections during the search
};

/// `shared` is the dtype of inputs without declared dtypes. The result is cached per process.
const TestInputs& find_samples(const CheckedOperator& checked, DType shared, TestInputKind kind);
/// The most informative dtype: float32, else the first that the operator supports.
DType most_informative_dtype(const OperatorInfo& info);
/// All dtypes that inputs without declared dtypes may share, most_informative_dtype() first.
std::vector<DType> shared_dtypes(const OperatorInfo& info);
/// With most_informative_dtype().
const TestInputs& find_samples(const CheckedOperator& checked, TestInputKind kind);
/// For an operator that is not in a plugin file; not cached.
TestInputs find_samples(const LoadedOperator& op, TestInputKind kind);
/// The sample with another shared dtype; nothing if infer() rejects it.
std::optional<TestInput> with_dtype(const OperatorCall& call, TestInput sample, DType shared);
/// One ordinary sample with that dtype, if any.
TestInputs find_sample(const CheckedOperator& checked, DType shared);

/// Whether the tensor is present and its dtype is floating-point.
inline bool is_floating(const tenon_type& type) {
  return type.present && floating.has(static_cast<DType>(type.dtype));
}

/// Whether GPU kernels must support the dtypes of its inputs and outputs, which is optional for
/// those that version 0.2 added.
bool is_for_devices(const TestInput& sample);

std::string describe_parameters(const Attributes& parameters);
/// Describes the inputs as far as they are known.
std::string describe_call(const OperatorInfo& info, std::span<const tenon_type> inputs,
                          const Attributes& parameters);
inline std::string describe_sample(const OperatorInfo& info, const TestInput& sample) {
  return describe_call(info, sample.types.inputs, sample.attributes);
}

/// A dense tensor of these numbers in row-major order.
Tensor elements_in(const std::vector<double>& numbers, DType dtype, const Shape& shape);
/// Returns the tensor itself if the dtype matches, else a dense copy with the nearest values;
/// complex numbers become their real parts in real dtypes.
Tensor elements_in(const Tensor& tensor, DType dtype);

}  // namespace tenon::checks
