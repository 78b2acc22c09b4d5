#include "graph/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "device/devices.hpp"
#include "graph/composition.hpp"
#include "graph/inference/operator_inference.hpp"
#include "graph/operators/operator_use.hpp"
#include "graph/parameters.hpp"
#include "graph/upgrade.hpp"
#include "io/counted.hpp"
#include "plugin/missing_operators.hpp"

namespace tenon {
namespace {

// For example `(version 2 from plugin examples 1.0) of node 'a' and 3 more`.
std::string use_of(const GraphModel& model, std::uint32_t op) {
  const auto& use = model.operators[op];
  std::string text = fmt::format("(version {} ", use.version);
  if (use.plugin == none && use.info->functions.empty() && !use.info->onnx.empty()) {
    text += "kept from an ONNX model)";
  } else if (use.plugin == none) {
    text += "of the application that built the graph)";
  } else {
    const auto& plugin = model.plugins[use.plugin];
    text += fmt::format("from plugin {}{}{})", plugin.name, plugin.version.empty() ? "" : " ",
                        plugin.version);
  }
  const auto uses = [&](const NodeRecord& node) { return node.op == op; };
  const auto first = std::find_if(model.nodes.begin(), model.nodes.end(), uses);
  if (first == model.nodes.end()) return text;
  text += fmt::format(" of node '{}'", model.strings[first->name]);
  const auto more = std::count_if(first + 1, model.nodes.end(), uses);
  return more == 0 ? text : text + fmt::format(" and {} more", more);
}

SavedOperator saved(const GraphModel& model, const OperatorUse& use, const std::string& name) {
  return {
      name, use.info.get(),
      use.plugin == none ? std::string_view() : std::string_view(model.plugins[use.plugin].name),
      use.plugin == none};
}

PluginSet::Fits fitting(const GraphModel& model, std::size_t op) {
  return [&model, op](const OperatorInfo& here) {
    return fits(model, static_cast<std::uint32_t>(op), here);
  };
}

void find_operators(GraphModel& model, PluginSet& plugins, Binding& binding) {
  std::vector<MissingOperator> missing;
  for (auto op = binding.operators.size(); op < model.operators.size(); ++op)
    if (const auto name = model.operators[op].info->full_name();
        plugins.find(saved(model, model.operators[op], name)).name.empty())
      missing.push_back({name, use_of(model, static_cast<std::uint32_t>(op))});
  if (!missing.empty()) throw missing_operators(plugins.catalog(), missing);
  std::vector<const LoadedOperator*> found;
  for (auto op = binding.operators.size(); op < model.operators.size(); ++op)
    found.push_back(
        &plugins.load(saved(model, model.operators[op], model.operators[op].info->full_name()),
                      fitting(model, op)));
  for (const auto* loaded : found) {
    const auto op = static_cast<std::uint32_t>(binding.operators.size());
    upgrade(model, op, *loaded->info, false);
    if (model.operators[op].version != loaded->info->version)
      refresh(model, model.operators[op], plugins, loaded->info, loaded->file);
    binding.operators.push_back(loaded);
  }
}

void require_connected(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info) {
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto& declared = info.inputs[declared_input(info, i)];
        model.edges[node.first_edge + i] == none && !declared.optional)
      throw Failure(FailureKind::file, fmt::format("input '{}' is not connected", declared.name));
}

// A backward node uses the kernel and object of its origin.
Binding::Node bind_backward(const GraphModel& model, const NodeRecord& node,
                            const Binding& binding) {
  const auto& op = *binding.nodes[node.origin].op;
  const auto& kernels = op.kernels;
  const auto has_backward = [](const tenon_operator* kernel) {
    return kernel != nullptr && kernel->backward != nullptr;
  };
  const bool has_kernel = std::any_of(kernels.begin(), kernels.end(),
                                      [](const auto* kernel) { return kernel != nullptr; });
  if (has_kernel && !is_composed(op) && std::none_of(kernels.begin(), kernels.end(), has_backward))
    throw Failure(FailureKind::plugin, "the installed operator has no backward kernel");
  check_backward_arity(model, node);
  return {&op, {}, binding.nodes[node.origin].info};
}

std::string input_names(const OperatorInfo& info) {
  std::vector<std::string_view> names;
  for (const auto& input : info.inputs) names.emplace_back(input.name);
  return listed(names);
}

// Nodes store inputs by index, which is meaningless for an operator with a different list of
// inputs.
void check_inputs_agree(const OperatorInfo& stored, const OperatorInfo& here) {
  if (&stored == &here || stored.version != here.version) return;
  const auto common = std::min(stored.inputs.size(), here.inputs.size());
  const auto same = [](const InputInfo& left, const InputInfo& right) {
    return left.name == right.name;
  };
  if (!std::equal(stored.inputs.begin(),
                  stored.inputs.begin() + static_cast<std::ptrdiff_t>(common), here.inputs.begin(),
                  same))
    throw Failure(FailureKind::plugin,
                  fmt::format("the graph was made for an operator with the inputs {}, but the "
                              "installed one of the same version has {}",
                              input_names(stored), input_names(here)),
                  "install the plugin that the graph was made with");
}

// Tensor parameters are equal only if they share one tensor.
bool same_parameters(const GraphModel& model, const NodeRecord& left, const NodeRecord& right) {
  const auto same = [&](const AttributeRecord& one, const AttributeRecord& other) {
    if (one.name != other.name || one.kind != other.kind || one.i != other.i ||
        one.count != other.count)
      return false;
    if (std::bit_cast<std::uint64_t>(one.f) != std::bit_cast<std::uint64_t>(other.f)) return false;
    const auto same_list = [&](const auto& all) {
      return one.count == 0 || std::memcmp(all.data() + one.first, all.data() + other.first,
                                           one.count * sizeof(all[0])) == 0;
    };
    return one.kind == TENON_ATTR_INTS     ? same_list(model.ints)
           : one.kind == TENON_ATTR_FLOATS ? same_list(model.floats)
                                           : one.first == other.first;
  };
  const auto first = model.attributes.begin() + left.first_attribute;
  return left.attribute_count == right.attribute_count &&
         std::equal(first, first + left.attribute_count,
                    model.attributes.begin() + right.first_attribute, same);
}

/// Nodes with equal parameters share an object because inference never changes it. Remembers the
/// last node of each operator.
class SharedInstances {
 public:
  SharedInstances(const GraphModel& model, const Binding& binding)
      : model_(model), binding_(binding), last_(model.operators.size(), none) {}

  /// Returns a node whose object can be shared, or null. Only objects made by the operator itself
  /// are shared.
  const Binding::Node* of(NodeId id, const LoadedOperator& op) {
    const auto& node = model_.nodes[id];
    if (op.make != nullptr || object_factory(model_, id) != nullptr) return nullptr;
    const auto before = std::exchange(last_[node.op], id);
    if (before == none || binding_.nodes[before].op != &op) return nullptr;
    return same_parameters(model_, model_.nodes[before], node) ? &binding_.nodes[before] : nullptr;
  }

 private:
  const GraphModel& model_;
  const Binding& binding_;
  std::vector<NodeId> last_;
};

}  // namespace

// CUDA has to be initialized before the first plugin is loaded, hence before the devices of nodes
// are looked up.
static void find_devices(const GraphModel& model) {
  if (std::any_of(model.nodes.begin(), model.nodes.end(), [&](const NodeRecord& node) {
        return node.device != 0 && model.strings[node.device] != "cpu";
      }))
    devices();
}

// Nodes that cannot be upgraded here are rejected later, by bind().
void upgrade_outputs(GraphModel& model, PluginSet& plugins) {
  for (std::uint32_t op = 0; op < model.operators.size(); ++op) {
    auto& use = model.operators[op];
    const auto name = use.info->full_name();
    const auto here = plugins.choose(saved(model, use, name), fitting(model, op));
    if (here.info == nullptr || use.version >= here.info->version) continue;
    if (here.info->outputs.size() <= use.info->outputs.size() &&
        here.info->inputs.size() <= use.info->inputs.size())
      continue;
    try {
      upgrade(model, op, *here.info, true);
      refresh(model, use, plugins, here.info, here.file);
    } catch (const Failure&) {
    }
  }
}

void bind(GraphModel& model, PluginSet& plugins, Binding& binding) {
  if (binding.nodes.empty()) find_devices(model);
  const auto first_new = binding.operators.size();
  find_operators(model, plugins, binding);
  std::vector<tenon_attribute> attributes;
  SharedInstances alike(model, binding);
  // Reserve for a whole graph only: when nodes are bound one by one, exact reserves would copy each
  // time.
  if (binding.nodes.empty()) binding.nodes.reserve(model.nodes.size());
  for (auto id = static_cast<NodeId>(binding.nodes.size()); id < model.nodes.size(); ++id) {
    auto& node = model.nodes[id];
    // A backward or recomputed node uses its origin's operator, which may have been replaced since.
    const auto& op =
        node.pass == Pass::forward ? *binding.operators[node.op] : *binding.nodes[node.origin].op;
    at_node(model, id, [&] {
      if (node.pass == Pass::backward) {
        check_inputs_agree(*model.operators[node.op].info, *op.info);
        return binding.nodes.push_back(bind_backward(model, node, binding));
      }
      const auto* other = alike.of(id, op);
      if (other == nullptr) {
        check_inputs_agree(*model.operators[node.op].info, *op.info);
        check_parameters(model, node, *op.info);
      }
      // the installed operator may differ from the one in the file
      check_arity(model, node, *op.info);
      require_connected(model, node, *op.info);
      if (other != nullptr) return binding.nodes.push_back(Binding::Node(*other));
      fill_attributes(model, node, attributes);
      auto instance =
          std::make_shared<const Instance>(op, *op.table, attributes, object_factory(model, id));
      auto info = instance->info();
      binding.nodes.push_back({&op, std::move(instance), std::move(info)});
    });
  }
  for (auto op = first_new; op < model.operators.size(); ++op) {
    const auto& here = *binding.operators[op];
    if (!describes(model.operators[op], here))
      refresh(model, model.operators[op], plugins, here.info, here.file);
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
