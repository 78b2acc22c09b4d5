#include <fmt/format.h>

#include <tenon/host/session.hpp>

#include "check/calls/test_call.hpp"

namespace tenon::checks {
namespace {

/// Runs forward, and backward if there is a gradient; also with numbers of both signs, if the
/// operator accepts them.
void run_all(Host& host, const CheckedOperator& checked, const TestInput& sample, bool training) {
  SingleNode node(host, checked.op, sample);
  node.graph.output("checked", node.output);
  node.add_gradients(sample);
  NamedTensors inputs;
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    const auto& type = sample.types.inputs[i];
    if (!SingleNode::is_input(sample, i)) continue;
    auto& input = inputs[fmt::format("input_{}", i)] =
        Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
    fill_input(input, *checked.op.info, sample, i, checked.seed + i);
  }
  SessionOptions options;
  options.optimize = Optimize::none;
  options.training = training;
  try {
    Session(node.graph, options).run(inputs);
  } catch (const Failure&) {
    if (sample.numbers == Magnitude::positive) throw;
  }
}

}  // namespace

// The host restores the modes after each call and warns once.
Outcome check_float_modes(const CheckedOperator& checked) {
  std::string warning;
  auto options = host_options(checked);
  options.search_defaults = true;  // the gradient may be a graph of any operators
  options.warn = [&](const std::string& sentence) {
    if (warning.empty() && is_about_float_modes(sentence)) warning = sentence;
  };
  Host host(options);
  add_operators(host, checked);
  constexpr std::size_t max_samples = 16;
  return each_sample(
      checked, TestInputKind::ordinary,
      [&](const OperatorCall&, const TestInput& sample) {
        for (const bool training : {true, false}) run_all(host, checked, sample, training);
        return warning;
      },
      max_samples);
}

}  // namespace tenon::checks
