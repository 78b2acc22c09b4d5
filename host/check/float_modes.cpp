#include <fmt/format.h>

#include <tenon/host/session.hpp>

#include "check/trial.hpp"

namespace tenon::checks {
namespace {

std::vector<Value> floating_inputs(const SingleNode& node, const Sample& sample) {
  std::vector<Value> found;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!node.inputs[i].empty() && floating.has(static_cast<DType>(sample.types.inputs[i].dtype))) found.push_back(node.inputs[i]);
  return found;
}

void add_gradient(SingleNode& node, const Sample& sample) {
  int number = 0;
  try {
    for (const auto value : node.graph.gradient(node.output, floating_inputs(node, sample)))
      if (!value.empty()) node.graph.output(fmt::format("gradient_{}", number++), value);
  } catch (const Failure&) {
    // it has none
  }
}

/// Everything that the operator has is called, backward too where it has a gradient.
void run_all(Host& host, const Subject& subject, const Sample& sample) {
  SingleNode node(host, subject.op, sample);
  node.graph.output("checked", node.output);
  add_gradient(node, sample);
  NamedTensors inputs;
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    const auto& type = sample.types.inputs[i];
    if (!type.present) continue;
    auto& input = inputs[fmt::format("input_{}", i)] = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
    fill_with_numbers(input, subject.seed + i, indices_of(*subject.op.info, sample.types, i));
  }
  SessionOptions options;
  options.training = true;
  Session(node.graph, options).run(inputs);
}

}  // namespace

// The host puts modes back wherever an operator is called, and warns once.
Outcome check_float_modes(const Subject& subject) {
  std::string warning;
  auto options = host_options(subject);
  options.search_defaults = true;  // a gradient that is a graph may use any operator
  options.warn = [&](const std::string& sentence) {
    if (warning.empty() && sentence.find("floating-point modes") != std::string::npos) warning = sentence;
  };
  Host host(options);
  for (const auto& plugin : subject.plugins) host.add_plugins(plugin);
  return each_sample(subject, SampleKind::ordinary, [&](const OperatorCall&, const Sample& sample) {
    run_all(host, subject, sample);
    return warning;
  });
}

}  // namespace tenon::checks
