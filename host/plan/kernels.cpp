#include "plan/kernels.hpp"

#include <fmt/format.h>

#include "device/devices.hpp"
#include "graph/inference/inference.hpp"
#include "graph/parameters.hpp"
#include "plan/reorder.hpp"

namespace tenon {
namespace {

// The CPU's vector capabilities, for messages.
const char* describe_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return "a CPU with AVX512-BF16";
  if (__builtin_cpu_supports("avx512f")) return "a CPU with AVX-512 and no AVX512-BF16";
  if (__builtin_cpu_supports("avx2")) return "a CPU with AVX2 and no AVX-512";
  return "an x86-64 CPU without AVX2";
#else
  return "this CPU";
#endif
}

// Returns why a node of this operator cannot run on this type of device; empty if it can.
std::string placement_fault(const LoadedOperator& op, std::int32_t device_type, bool backward) {
  const auto* kernel = op.kernel(device_type);
  const auto* device = device_type_name(device_type);
  if (kernel == nullptr)
    return op.kernel_error.empty() ? fmt::format("there is no kernel for {} in any plugin", device)
                                   : op.kernel_error;
  if (kernel->forward == nullptr)
    return fmt::format("its kernel for {} has no forward function", device);
  if (backward && kernel->backward == nullptr)
    return fmt::format("its kernel for {} has no backward function", device);
  return {};
}

// Suggests a device on which the node can run.
std::string advice(const LoadedOperator& op, const Device& refused, bool backward) {
  for (const auto& [type, name] : device_types) {
    if (type == refused.type() || !placement_fault(op, type, backward).empty()) continue;
    if (type == TENON_CPU)
      return "it has a kernel for cpu: remove the node's \"device\" to run it there";
    return fmt::format("it has a kernel for {}: choose that device for the node or for the session",
                       name);
  }
  return {};
}

std::vector<bool> with_backward(const GraphModel& model) {
  std::vector<bool> found(model.nodes.size());
  for (const auto& node : model.nodes)
    if (node.pass == Pass::backward) found[node.origin] = true;
  return found;
}

}  // namespace

Kernels::Kernels(const GraphModel& model, const Binding& binding, const LoadedOperator& cast,
                 Device& device, DType precision)
    : device_(device),
      precision_(precision),
      cast_(cast),
      reorder_(Instance(reorder_operator(), *reorder_operator().table, {})) {
  for (const auto& type : device_types)
    if (const auto* kernel = cast.kernel(type.number);
        kernel != nullptr && kernel->forward_sparse != nullptr)
      to_dense_[type.number] = KernelSet(Instance(cast, *kernel, {}));
  const auto backward = with_backward(model);
  std::vector<tenon_attribute> attributes;  // reused for all nodes, of which there may be a million
  nodes_.reserve(model.nodes.size());
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    auto& placed = nodes_.emplace_back();
    if (node.pass == Pass::backward) continue;
    at_node(model, id, [&] {
      const auto& op = *binding.nodes[id].op;
      placed = place(model, id, op, backward[id]);
      fill_attributes(model, node, attributes);
      make(model, id, op, backward[id], attributes, placed);
    });
  }
  if (precision_ != f32) require_precision(model, binding);
}

// Fails if a precision was requested that no node can use; results would silently be those of
// float32.
void Kernels::require_precision(const GraphModel& model, const Binding& binding) const {
  CallTypes types;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const auto& kernels = nodes_[id].kernels;
    if (!kernels.depends_on_types()) continue;
    gather_types(model, model.nodes[id], types);
    types.precision = f32;
    const auto usual = kernels.find(*binding.nodes[id].info, types);
    types.precision = precision_;
    if (kernels.find(*binding.nodes[id].info, types) != usual) return;
  }
  throw Failure(
      FailureKind::usage,
      fmt::format("no node of this graph can compute in {} here: none of its operators has such a "
                  "kernel for {}",
                  name_of(precision_), describe_processor()),
      "omit the precision to compute in float32; bundled products need a CPU with AVX512-BF16");
}

// Creates kernels for the device or, if it supports none of the node's types, for the CPU.
void Kernels::make(const GraphModel& model, NodeId id, const LoadedOperator& op, bool backward,
                   std::span<const tenon_attribute> attributes, Node& placed) const {
  const auto& node = model.nodes[id];
  const auto objects = [&](const Device& device) {
    return KernelSet(op, device.type(), attributes, backward, object_factory(model, id));
  };
  placed.kernels = objects(*placed.device);
  if (placed.device->is_cpu() || node.pass == Pass::recompute || !placed.kernels.depends_on_types())
    return;
  CallTypes types;
  gather_types(model, node, types);
  if (placed.kernels.find(*op.info, types) < placed.kernels.size()) return;
  const auto why =
      fmt::format("its kernel for {} does not compute these types{}",
                  device_type_name(placed.device->type()), describe_inputs(*op.info, types.inputs));
  if (node.device != 0)
    throw Failure(FailureKind::plugin,
                  fmt::format("is placed on {}, but {}", placed.device->name(), why),
                  advice(op, *placed.device, backward));
  if (auto fault = placement_fault(op, TENON_CPU, backward); !fault.empty())
    throw Failure(FailureKind::plugin, why + ", and " + fault);
  placed = {&cpu_device(), objects(cpu_device()), why};
}

std::uint32_t Kernels::choose(const GraphModel& model, const Binding& binding, NodeId id,
                              const Device& device, const std::vector<tenon_type>& types) const {
  const auto& kernels = all_of(model, id, device);
  if (!kernels.depends_on_types()) return 0;
  const auto own = owner(model, id);
  const auto& info = *binding.nodes[own].info;
  CallTypes known;
  known.precision = precision_;
  gather_types(model, model.nodes[own], types, known);
  const auto found = kernels.find(info, known);
  if (found == kernels.size())
    throw Failure(
        FailureKind::plugin,
        fmt::format("no kernel for {} computes these types{}", device_type_name(device.type()),
                    describe_inputs(info, known.inputs)),
        device.is_cpu() ? "" : "set \"device\": \"cpu\" for the node to run it on the CPU");
  return static_cast<std::uint32_t>(found);
}

bool Kernels::reorders(const GraphModel& model, NodeId id) {
  return model.operators[model.nodes[id].op].info == reorder_operator().info;
}

// Chooses the device; creates no objects. A recomputed node runs where its origin does, so its
// results are bit-identical.
Kernels::Node Kernels::place(const GraphModel& model, NodeId id, const LoadedOperator& op,
                             bool backward) const {
  const auto& node = model.nodes[id];
  if (node.pass == Pass::recompute) return {nodes_[node.origin].device, {}, {}};
  Device& requested = node.device == 0 ? device_ : find_device(model.strings[node.device]);
  const auto why = placement_fault(op, requested.type(), backward);
  if (why.empty()) return {&requested, {}, {}};
  if (node.device != 0 && !requested.is_cpu())
    throw Failure(FailureKind::plugin,
                  fmt::format("is placed on {}, but {}", requested.name(), why),
                  advice(op, requested, backward));
  if (requested.is_cpu() || !placement_fault(op, TENON_CPU, backward).empty())
    throw Failure(FailureKind::plugin, why, advice(op, requested, backward));
  return {&cpu_device(), {}, why};
}

}  // namespace tenon
