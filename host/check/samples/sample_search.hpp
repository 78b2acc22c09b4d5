// Searches for calls that an operator accepts, using its declarations.
#pragma once
#include "check/check.hpp"
#include "check/samples/input_search.hpp"

namespace tenon::checks {

/// Parameters, and the user-provided properties of the inputs.
struct CallBase {
  Attributes parameters;
  FixedInputs fixed{};
  std::vector<TestInput> found{};
};

class SampleSearch {
 public:
  SampleSearch(const LoadedOperator& op, DType shared, TestInputKind kind);

  /// Samples with parameters from examples, small legal parameters, and variations of both.
  TestInputs all();
  /// The first such sample, if any.
  TestInputs first();
  /// Only these calls; anything unspecified is taken from a matching example or searched for.
  TestInputs named(const std::vector<CheckCall>& calls);
  /// Samples that infer() accepts for one example.
  TestInputs from_example(const ExampleInfo& example);
  /// Some samples with this value of a parameter.
  TestInputs with_value(const std::string& parameter, const AttributeValue& value);

 private:
  std::vector<CallBase> bases() const;
  std::size_t max_samples() const;
  void add(TestInput sample);
  void add_round(std::vector<CallBase>& bases, std::size_t round);
  std::optional<TestInput> find(const Attributes& parameters, const Shape& shape,
                                const Connected& connected, std::size_t round,
                                const FixedInputs& fixed = {});
  bool find_fixed(const Attributes& parameters, const FixedInputs& fixed);
  void find_with_examples(const Attributes& parameters, const FixedInputs& fixed);
  std::vector<TestInput> with_shapes(const Attributes& parameters);
  void vary(const CallBase& base);

  const LoadedOperator& op_;
  const OperatorInfo& info_;
  DType shared_;
  TestInputKind kind_;
  std::vector<Shape> shapes_;
  std::vector<Connected> connections_;
  TestInputs result_;
};

}  // namespace tenon::checks
