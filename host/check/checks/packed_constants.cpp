#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tenon/host/session.hpp>

#include "check/calls/test_call.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon::checks {
namespace {

using ConstantInputs = std::vector<bool>;  // whether each input is constant

/// Each single input, and all but the first, which keeps the node from being constant-folded.
std::set<ConstantInputs> choices_of_constants(const TestInput& sample) {
  std::vector<std::size_t> present;
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i)
    if (SingleNode::is_input(sample, i)) present.push_back(i);
  std::set<ConstantInputs> choices;
  if (present.size() < 2) return choices;
  ConstantInputs all_but_first(sample.types.inputs.size());
  for (const auto i : present) {
    ConstantInputs one(all_but_first.size());
    one[i] = true;
    choices.insert(one);
  }
  for (const auto i : present) all_but_first[i] = i != present.front();
  choices.insert(all_but_first);
  return choices;
}

std::string compare_packed(Host& host, const CheckedOperator& checked, const TestInput& sample,
                           const ConstantInputs& constant, int& compared) {
  std::vector<Tensor> fixed(constant.size());
  NamedTensors inputs;
  for (std::size_t i = 0; i < constant.size(); ++i) {
    if (!SingleNode::is_input(sample, i)) continue;
    const auto& type = sample.types.inputs[i];
    auto& tensor = constant[i] ? fixed[i] : inputs[fmt::format("input_{}", i)];
    tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
    fill_input(tensor, *checked.op.info, sample, i, checked.seed + i);
  }
  SingleNode node(host, checked.op, sample, fixed);
  node.graph.output("output", node.output);
  node.add_gradients(sample);
  Session with(node.graph, {.optimize = Optimize::exact, .constant_weights = true}),
      without(node.graph, {.optimize = Optimize::none});
  if (with.plan({}).packed_bytes() == 0) return {};
  ++compared;
  const auto packed = with.run(inputs), plain = without.run(inputs);
  for (const auto& [name, tensor] : plain)
    if (!same_bits(packed.at(name), tensor))
      return fmt::format(
          "{} has different bits with the constants that prepare() packs than without", name);
  return {};
}

}  // namespace

Outcome check_packed_constants(const CheckedOperator& checked) {
  const auto& tables = checked.op.candidates[TENON_CPU];
  const auto* own = checked.op.kernel(TENON_CPU);
  const auto has_it = [](const tenon_operator* table) { return has_prepare(*table); };
  if (std::none_of(tables.begin(), tables.end(), has_it) && (own == nullptr || !has_prepare(*own)))
    return skipped("it has no prepare()");
  auto options = host_options(checked);
  options.search_defaults = true;  // the gradient may be a graph of any operators
  Host host(options);
  add_operators(host, checked);
  constexpr std::size_t max_samples = 24;
  int compared = 0;
  auto outcome = each_sample(
      checked, all_kinds,
      [&](const OperatorCall& call, const TestInput& sample) {
        if (call.outputs() == 0) return std::string();
        for (const auto& choice : choices_of_constants(sample))
          if (auto fault = compare_packed(host, checked, sample, choice, compared); !fault.empty())
            return fault;
        return std::string();
      },
      max_samples);
  if (outcome.verdict != Verdict::passed) return outcome;
  return compared == 0 ? skipped("prepare() packs nothing for the inputs that were tried")
                       : passed(counted(compared, "pair") + " of runs");
}

}  // namespace tenon::checks
