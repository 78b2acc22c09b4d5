#include "graph/operator_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/failure.hpp>

namespace tenon {
namespace {

std::uint32_t use_plugin(GraphModel& model, PluginSet& plugins, int index) {
  const auto file = plugins.file(index);
  const auto same = [&](const PluginUse& use) { return use.name == file.name && use.version == file.version; };
  const auto found = std::find_if(model.plugins.begin(), model.plugins.end(), same);
  if (found != model.plugins.end()) return static_cast<std::uint32_t>(found - model.plugins.begin());
  model.plugins.push_back({file.name, file.version, file.abi_minor, plugins.content_hash(index)});
  return static_cast<std::uint32_t>(model.plugins.size() - 1);
}

}  // namespace

void refresh(GraphModel& model, OperatorUse& use, PluginSet& plugins, const LoadedOperator& op) {
  use.version = op.info->version;
  use.info = op.info;
  use.plugin = op.file < 0 ? none : use_plugin(model, plugins, op.file);
}

bool describes(const OperatorUse& use, const LoadedOperator& op) {
  return use.info == op.info || use.info->manifest == op.info->manifest;
}

// One record may stand for several loads of an operator, where only its code or kernels differ: each node keeps its own.
std::uint32_t use_operator(GraphModel& model, Binding& binding, PluginSet& plugins, const LoadedOperator& op) {
  for (std::uint32_t i = 0; i < model.operators.size(); ++i) {
    if (model.operators[i].name != op.info->name || !describes(model.operators[i], op)) continue;
    binding.operators[i] = &op;
    return i;
  }
  auto& use = model.operators.emplace_back();
  use.name = op.info->name;
  refresh(model, use, plugins, op);
  binding.operators.push_back(&op);
  return static_cast<std::uint32_t>(model.operators.size() - 1);
}

std::uint32_t count_of(const GraphModel& model, const NodeRecord& node, const OutputInfo& output) {
  if (output.count.empty()) return 1;
  std::int64_t count = 1;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    if (model.strings[record.name] == output.count) count = record.i;
  }
  if (count < 0 || count > max_outputs)
    throw Failure(FailureKind::usage, fmt::format("parameter '{}' is {} but must be from 0 to {}", output.count, count, max_outputs));
  return static_cast<std::uint32_t>(count);
}

std::uint32_t output_count(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info) {
  std::uint32_t total = 0;
  for (const auto& output : info.outputs) total += count_of(model, node, output);
  return total;
}

}  // namespace tenon
