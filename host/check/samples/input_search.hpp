// Finds dtypes and shapes of inputs that an operator with certain parameters accepts, using
// infer().
#pragma once
#include <map>
#include <optional>
#include <tenon/host/check.hpp>

#include "check/test_input.hpp"
#include "run/calls/operator_call.hpp"

namespace tenon::checks {

/// The user-provided properties of an input; the rest is searched for.
struct FixedInput {
  std::optional<DType> dtype;
  Shape shape;                 ///< also of the elements
  Tensor elements;             ///< on the CPU; empty: any
  std::vector<double> values;  ///< the elements as numbers, to be converted to the input's dtype
};
using FixedInputs = std::map<std::size_t, FixedInput>;

/// The inputs of a call from an example or from the user. Throws Failure (usage) if there is no
/// input of that name.
FixedInputs fixed_inputs(const OperatorInfo& info, const ExampleInfo& example);
FixedInputs fixed_inputs(const OperatorInfo& info, const CheckCall& call);

/// Which inputs are connected; tensors of a variadic input count individually.
using Connected = std::vector<bool>;
/// All inputs, no optional inputs, and a limited number of combinations in between.
std::vector<Connected> connection_choices(const OperatorInfo& info);

class InputSearch {
 public:
  InputSearch(const OperatorCall& call, const Attributes& attributes, DType shared,
              Refusals& refusals)
      : call_(call),
        attributes_(attributes),
        shared_(shared),
        sizes_(sizes_in(call.info(), attributes)),
        refusals_(refusals) {}

  /// The first input has this shape if infer() allows it, else a similar one. The round varies
  /// the order in which shapes of the other inputs are tried, and the dtypes of inputs with
  /// individually declared dtypes.
  std::optional<TestInput> find(const Shape& first, const Connected& connected, std::size_t round,
                                const FixedInputs& fixed = {});

 private:
  void infer(CallTypes& types) const;
  CallTypes start(const Connected& connected, std::size_t round, const FixedInputs& fixed);
  std::vector<Shape> shapes_like(const Shape& first, const CallTypes& types);
  bool complete(const Shape& first, std::size_t round, CallTypes types, int accepted,
                TestInput& found);
  bool provide_elements(const Shape& first, const CallTypes& types, int accepted, TestInput& found);
  bool finish(const CallTypes& types, TestInput& found);
  bool is_exhausted() { return tries_ > 2000; }

  const OperatorCall& call_;
  const Attributes& attributes_;
  DType shared_;
  std::vector<std::int64_t> sizes_;
  Refusals& refusals_;
  std::vector<Tensor> elements_;
  std::string refusal_;  // the last error of infer()
  int tries_ = 0;
};

}  // namespace tenon::checks
