#include "graph/operators/operator_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/catalog.hpp>

#include "io/counted.hpp"
#include "plugin/operator_name.hpp"

namespace tenon {
namespace {

std::uint32_t use_plugin(GraphModel& model, PluginSet& plugins, int index) {
  const auto file = plugins.file(index);
  const auto same = [&](const PluginUse& use) {
    return use.name == file.name && use.version == file.version;
  };
  const auto found = std::find_if(model.plugins.begin(), model.plugins.end(), same);
  if (found != model.plugins.end())
    return static_cast<std::uint32_t>(found - model.plugins.begin());
  model.plugins.push_back({file.name, file.version, file.abi_minor, plugins.content_hash(index)});
  return static_cast<std::uint32_t>(model.plugins.size() - 1);
}

}  // namespace

void refresh(GraphModel& model, OperatorUse& use, PluginSet& plugins,
             std::shared_ptr<const OperatorInfo> info, int file) {
  use.name = info->name;
  use.version = info->version;
  use.info = std::move(info);
  use.plugin = file < 0 ? none : use_plugin(model, plugins, file);
}

bool describes(const OperatorUse& use, const LoadedOperator& op) {
  return use.info == op.info ||
         (use.info->space == op.info->space && use.info->manifest == op.info->manifest);
}

// One record may cover several loaded versions of an operator that differ only in code or kernels:
// each node keeps its own.
std::uint32_t use_operator(GraphModel& model, Binding& binding, PluginSet& plugins,
                           const LoadedOperator& op) {
  for (std::uint32_t i = 0; i < model.operators.size(); ++i) {
    if (model.operators[i].name != op.info->name || !describes(model.operators[i], op)) continue;
    binding.operators[i] = &op;
    return i;
  }
  auto& use = model.operators.emplace_back();
  refresh(model, use, plugins, op.info, op.file);
  binding.operators.push_back(&op);
  return static_cast<std::uint32_t>(model.operators.size() - 1);
}

bool is_graph_parameter(std::string_view op, std::string_view param) {
  if (space_in(op) != bundled_space) return false;
  op = short_name(op);
  if (op == "if" || op == "branch") return param == "then" || param == "else";
  if (op == "while") return param == "condition" || param == "body";
  return (op == "scan" || op == "loop") && param == "body";
}

std::uint32_t count_of(const GraphModel& model, const NodeRecord& node, const OutputInfo& output) {
  if (output.count.empty()) return 1;
  std::int64_t count = 1;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    if (model.strings[record.name] == output.count) count = record.i;
  }
  if (count < 0 || count > max_outputs)
    throw Failure(FailureKind::usage, fmt::format("parameter '{}' is {} but must be from 0 to {}",
                                                  output.count, count, max_outputs));
  return static_cast<std::uint32_t>(count);
}

std::uint32_t output_count(const GraphModel& model, const NodeRecord& node,
                           const OperatorInfo& info) {
  std::uint32_t total = 0;
  for (const auto& output : info.outputs) total += count_of(model, node, output);
  return total;
}

std::size_t input_count(const OperatorInfo& info, std::size_t count) {
  const auto declared = info.inputs.size();
  if (info.variadic()) return std::max(count, declared - 1);
  if (count > declared)
    throw Failure(FailureKind::usage, fmt::format("the operator takes {} but is given {}",
                                                  counted(declared, "input"), count));
  return declared;
}

std::vector<ValueId> order_inputs(const OperatorInfo& info, std::vector<ValueId> ordered,
                                  const NamedValues& named) {
  ordered.resize(input_count(info, ordered.size()), none);
  for (const auto& [name, value] : named) {
    const auto index = info.find_input(name);
    if (index < 0) {
      std::vector<std::string> names;
      for (const auto& input : info.inputs) names.push_back(input.name);
      throw Failure(FailureKind::usage, fmt::format("unknown input '{}'", name),
                    did_you_mean(similar_names(name, names),
                                 fmt::format("its inputs are {}", listed(names))));
    }
    if (info.inputs[static_cast<std::size_t>(index)].variadic)
      ordered.push_back(value);
    else if (auto& slot = ordered[static_cast<std::size_t>(index)]; slot == none)
      slot = value;
    else
      throw Failure(FailureKind::usage, fmt::format("input '{}' is given twice", name));
  }
  return ordered;
}

void check_arity(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info) {
  const auto need = [](bool is_met, std::uint32_t found, const char* what, const char* has,
                       std::size_t needed) {
    if (!is_met)
      throw Failure(FailureKind::file, fmt::format("has {} but the operator {} {}",
                                                   counted(found, what), has, needed));
  };
  const auto inputs = info.inputs.size();
  need(info.variadic() ? node.input_count + std::size_t{1} >= inputs : node.input_count == inputs,
       node.input_count, "input", "takes", inputs);
  need(node.state_count == info.states.size(), node.state_count, "state", "has",
       info.states.size());
  const auto outputs = output_count(model, node, info);
  need(node.output_count == outputs, node.output_count, "output", "produces", outputs);
}

void check_backward_arity(const GraphModel& model, const NodeRecord& node) {
  const auto& forward = model.nodes[node.origin];
  const auto inputs = std::uint64_t{forward.output_count} * 2 + forward.input_count;
  if (node.op != forward.op || node.input_count != inputs ||
      node.output_count != forward.input_count || node.state_count != 0 ||
      node.attribute_count != 0)
    throw Failure(FailureKind::file,
                  fmt::format("does not match its forward node '{}'", model.strings[forward.name]));
}

}  // namespace tenon
