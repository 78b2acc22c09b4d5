#include "graph/binding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "device/devices.hpp"
#include "graph/operator_use.hpp"
#include "graph/parameters.hpp"
#include "graph/upgrade.hpp"

namespace tenon {
namespace {

std::string came_from(const GraphModel& model, const OperatorUse& use) {
  if (use.plugin == none) return "registered by the application that built the graph";
  const auto& plugin = model.plugins[use.plugin];
  return plugin.version.empty() ? fmt::format("from plugin {}", plugin.name)
                                : fmt::format("from plugin {} {}", plugin.name, plugin.version);
}

std::string first_node_of(const GraphModel& model, std::uint32_t op) {
  const auto count = std::count_if(model.nodes.begin(), model.nodes.end(), [&](const NodeRecord& node) { return node.op == op; });
  const auto first = std::find_if(model.nodes.begin(), model.nodes.end(), [&](const NodeRecord& node) { return node.op == op; });
  if (first == model.nodes.end()) return "no node";
  const auto name = model.strings[first->name];
  return count == 1 ? fmt::format("node '{}'", name) : fmt::format("node '{}' and {} more", name, count - 1);
}

std::string searched_in(const Catalog& catalog) {
  std::vector<std::string> folders;
  for (const auto& folder : catalog.searched()) folders.push_back(folder.string());
  return folders.empty() ? "no plugin folder was given" : fmt::format("searched in {}", fmt::join(folders, ", "));
}

[[noreturn]] void report_missing(const GraphModel& model, const Catalog& catalog, const std::vector<std::uint32_t>& missing) {
  std::string message = missing.size() == 1 ? "an operator is missing:" : fmt::format("{} operators are missing:", missing.size());
  std::string near;
  for (const auto op : missing) {
    const auto& use = model.operators[op];
    message += fmt::format("\n  {} version {}, {}, used by {}", use.name, use.version, came_from(model, use), first_node_of(model, op));
    if (const auto why = catalog.why_missing(use.name); !why.empty()) message += "; " + why;
    for (const auto& name : catalog.near(use.name)) near += (near.empty() ? "" : ", ") + name;
  }
  message += "\n  " + searched_in(catalog);
  const auto& first = model.operators[missing[0]].name;
  if (const auto step = catalog.next_step(first); missing.size() == 1 && !step.empty()) throw Failure(FailureKind::plugin, message, step);
  std::string hint = "put the plugin into one of these folders, or name its folder with --plugins";
  if (!near.empty()) hint = fmt::format("similar names here: {}; or {}", near, hint);
  throw Failure(FailureKind::plugin, message, hint);
}

void find_operators(GraphModel& model, PluginSet& plugins, Binding& binding) {
  std::vector<std::uint32_t> missing;
  for (auto op = binding.operators.size(); op < model.operators.size(); ++op)
    if (!plugins.has(model.operators[op].name)) missing.push_back(static_cast<std::uint32_t>(op));
  if (!missing.empty()) report_missing(model, plugins.catalog(), missing);
  for (auto op = binding.operators.size(); op < model.operators.size(); ++op)
    binding.operators.push_back(&plugins.load(model.operators[op].name));
}

// What a file says of a node must fit the operator that is here, which need not be the one that wrote it.
void check_arity(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info) {
  const auto inputs = info.inputs.size();
  const bool fits = info.variadic() ? node.input_count + 1 >= inputs : node.input_count == inputs;
  if (!fits) throw Failure(FailureKind::file, fmt::format("has {} inputs but the operator takes {}", node.input_count, inputs));
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto& declared = info.inputs[std::min<std::size_t>(i, inputs - 1)];
    if (model.edges[node.first_edge + i] == none && !declared.optional)
      throw Failure(FailureKind::file, fmt::format("input '{}' is not connected", declared.name));
  }
  if (node.state_count != info.states.size())
    throw Failure(FailureKind::file, fmt::format("has {} states but the operator has {}", node.state_count, info.states.size()));
  if (const auto wanted = output_count(model, node, info); node.output_count != wanted)
    throw Failure(FailureKind::file, fmt::format("has {} outputs but the operator makes {}", node.output_count, wanted));
}

// Its kernel and object are its origin's.
Binding::Node bind_backward(const GraphModel& model, const NodeRecord& node, const Binding& binding) {
  const auto& forward = model.nodes[node.origin];
  const auto& op = *binding.nodes[node.origin].op;
  const auto lacks_backward = [](const tenon_operator* kernel) { return kernel == nullptr || kernel->backward == nullptr; };
  if ((op.cpu != nullptr || op.cuda != nullptr) && lacks_backward(op.cpu) && lacks_backward(op.cuda))
    throw Failure(FailureKind::plugin, "the installed operator has no backward kernel");
  const auto wanted = 2 * forward.output_count + forward.input_count;
  if (node.op != forward.op || node.input_count != wanted || node.output_count != forward.input_count || node.state_count != 0)
    throw Failure(FailureKind::file, fmt::format("does not fit node '{}', whose backward it is", model.strings[forward.name]));
  return {&op, {}};
}

}  // namespace

// CUDA starts before the first plugin is loaded, so before anybody asks for the devices that nodes name.
static void find_devices(const GraphModel& model) {
  if (std::any_of(model.nodes.begin(), model.nodes.end(),
                  [&](const NodeRecord& node) { return node.device != 0 && model.strings[node.device] != "cpu"; }))
    devices();
}

void bind(GraphModel& model, PluginSet& plugins, Binding& binding) {
  if (binding.nodes.empty()) find_devices(model);
  const auto first_new = binding.operators.size();
  find_operators(model, plugins, binding);
  std::vector<tenon_attribute> attributes;
  // a whole graph at once; node by node the vector grows by itself, where an exact reserve would copy it each time
  if (binding.nodes.empty()) binding.nodes.reserve(model.nodes.size());
  for (auto id = static_cast<NodeId>(binding.nodes.size()); id < model.nodes.size(); ++id) {
    auto& node = model.nodes[id];
    // A node that is made from another is of its operator, which may have been replaced since.
    const auto& op = node.pass == Pass::forward ? *binding.operators[node.op] : *binding.nodes[node.origin].op;
    at_node(model, id, [&] {
      if (model.operators[node.op].version != op.info->version && node.pass != Pass::backward)
        upgrade(model, node, model.operators[node.op].version, *op.info);
      if (node.pass == Pass::backward) return binding.nodes.push_back(bind_backward(model, node, binding));
      check_parameters(model, node, *op.info);
      check_arity(model, node, *op.info);
      fill_attributes(model, node, attributes);
      binding.nodes.push_back({&op, std::make_shared<Instance>(op, *op.table, attributes)});
    });
  }
  for (auto op = first_new; op < model.operators.size(); ++op) {
    const auto& here = *binding.operators[op];
    if (!describes(model.operators[op], here)) refresh(model, model.operators[op], plugins, here);
  }
}

std::string node_label(const GraphModel& model, NodeId node) {
  const auto& record = model.nodes[node];
  return fmt::format("[{}] node '{}'", work_label(model, record), model.strings[record.name]);
}

void rethrow_at(const std::string& label, const Failure& failure) {
  throw Failure(failure.kind(), label + ": " + failure.what(), failure.hint());
}

}  // namespace tenon
