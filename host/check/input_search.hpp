// Solves what infer() says: dtypes and shapes of inputs that an operator with certain parameters accepts.
#pragma once
#include <map>
#include <optional>
#include <tenon/host/check.hpp>

#include "check/test_input.hpp"
#include "run/operator_call.hpp"

namespace tenon::checks {

/// What is settled of an input; the rest is looked for.
struct FixedInput {
  std::optional<DType> dtype;
  Shape shape;                 ///< of elements, too
  Tensor elements;             ///< on the CPU; empty: any
  std::vector<double> values;  ///< the same as numbers, for the dtype that the input will have
};
using FixedInputs = std::map<std::size_t, FixedInput>;

/// Of a call that an author or a user names. Throws Failure (usage) for a name that no input has.
FixedInputs fixed_inputs(const OperatorInfo& info, const ExampleInfo& example);
FixedInputs fixed_inputs(const OperatorInfo& info, const CheckCall& call);

/// Inputs that are there; those of a variadic one count each.
using Connected = std::vector<bool>;
/// All inputs, none of the optional ones, and, up to a number, others in between.
std::vector<Connected> ways_to_connect(const OperatorInfo& info);

class InputSearch {
 public:
  InputSearch(const OperatorCall& call, const Attributes& attributes, DType shared, Refusals& refusals)
      : call_(call), attributes_(attributes), shared_(shared), sizes_(sizes_in(call.info(), attributes)), refusals_(refusals) {}

  /// The first input has this shape where infer() lets it, else one like it. Different turns look at other shapes of the other inputs
  /// first, and take other dtypes where inputs have several of their own.
  std::optional<TestInput> find(const Shape& first, const Connected& connected, std::size_t turn, const FixedInputs& fixed = {});

 private:
  void infer(CallTypes& types) const;
  CallTypes start(const Connected& connected, std::size_t turn, const FixedInputs& fixed);
  std::vector<Shape> shapes_like(const Shape& first, const CallTypes& types);
  bool complete(const Shape& first, std::size_t turn, CallTypes types, int accepted, TestInput& found);
  bool give_elements(const Shape& first, const CallTypes& types, int accepted, TestInput& found);
  bool finish(const CallTypes& types, TestInput& found);
  bool is_spent() { return tries_ > 2000; }

  const OperatorCall& call_;
  const Attributes& attributes_;
  DType shared_;
  std::vector<std::int64_t> sizes_;
  Refusals& refusals_;
  std::vector<Tensor> given_;
  std::string refusal_;  // the last one of infer()
  int tries_ = 0;
};

}  // namespace tenon::checks
