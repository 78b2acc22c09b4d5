#include <fmt/format.h>

#include "device/devices.hpp"
#include "plan/operator_storage.hpp"
#include "plan/passes.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

class KernelSelection {
 public:
  explicit KernelSelection(PlanDraft& draft)
      : draft_(draft),
        graph_(draft.graph()),
        model_(draft.model()),
        kernels_(draft.kernels),
        types_(draft.types()) {}

  void run() {
    const auto count = model_.nodes.size();
    graph_.order.reserve(count);
    graph_.kernels.assign(count, 0);
    graph_.sparse.assign(count, false);
    graph_.copy_of.assign(count, none);
    graph_.devices.assign(count, nullptr);
    set_value_devices();
    const auto* requested = draft_.request.requested_outputs;
    for (NodeId id = 0; id < count; ++id) {
      if (requested != nullptr && !requested->nodes[id]) continue;
      at_node(model_, id, [&] { choose(id); });
      graph_.order.push_back(id);
    }
  }

 private:
  // Locations of values that no node produces; choose() adds those of node outputs.
  void set_value_devices() {
    graph_.value_devices.assign(model_.values.size(), &cpu_device());
    for (ValueId id = 0; id < model_.values.size(); ++id)
      if (draft_.tensors[id]) graph_.value_devices[id] = &device_of(draft_.tensors[id]);
    for (const auto& [id, device] : draft_.request.devices) graph_.value_devices[id] = device;
  }

  void choose(NodeId id) {
    const auto& node = model_.nodes[id];
    auto& device = kernels_.device_of(model_, id);
    graph_.devices[id] = &device;
    check_states(forward_of(model_, node), device);
    graph_.kernels[id] = kernels_.choose(model_, graph_.binding(), id, device, types_);
    const auto& kernel = graph_.kernel_of(id, kernels_);
    if (kernel.table() != nullptr)
      if (const auto* variant = kernel.op().variant_of(*kernel.table()))
        graph_.variants.emplace(id, variant->name);
    const auto choice = storages(id, node, kernel, device);
    graph_.sparse[id] = choice.sparse;
    const auto& info = *graph_.binding().nodes[id].info;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      set_storage(node.first_output + i,
                  choice.sparse ? choice.outputs[i] : std::uint8_t{TENON_DENSE});
      if (node.pass != Pass::backward && info.allocates(i))
        types_[node.first_output + i].storage = TENON_STORAGE_UNKNOWN;
      graph_.value_devices[node.first_output + i] = &device;
    }
  }

  StorageChoice storages(NodeId id, const NodeRecord& node, const Instance& kernel,
                         const Device& device) {
    const auto& op = *graph_.binding().nodes[id].op;
    const bool backward = node.pass == Pass::backward;
    bool any_sparse = false;
    for_each_read(node, [&](ValueId value) {
      any_sparse = any_sparse || (value != none && types_[value].storage != TENON_DENSE);
    });
    if (!chooses_storage(op, kernel, backward, any_sparse)) return {};
    storages_.clear();
    read_types_.clear();
    for_each_read(node, [&](ValueId value) {
      storages_.push_back(value == none ? static_cast<std::uint8_t>(TENON_DENSE)
                                        : types_[value].storage);
      read_types_.push_back(value == none ? unknown_type() : types_[value]);
    });
    return choose_storage(op, kernel, backward, storages_, read_types_, node.output_count,
                          device.type());
  }

  // Visits what the forward node reads; for a backward node, first the output gradients, then all
  // inputs of its origin, even those that it does not read itself.
  template <class Visit>
  void for_each_read(const NodeRecord& node, Visit visit) const {
    const auto& forward = forward_of(model_, node);
    if (node.pass == Pass::backward)
      for (std::uint32_t i = 0; i < forward.output_count; ++i)
        visit(model_.edges[node.first_edge + i]);
    for (std::uint32_t i = 0; i < forward.input_count; ++i)
      visit(model_.edges[forward.first_edge + i]);
  }

  void check_states(const NodeRecord& forward, const Device& device) const {
    for (std::uint32_t i = 0; i < forward.state_count; ++i) {
      const auto value = model_.edges[forward.first_edge + forward.input_count + i];
      const auto refuse = [&](const std::string& what) {
        throw Failure(FailureKind::failed,
                      fmt::format("its state '{}' {}", value_label(model_, value), what));
      };
      if (const auto storage = types_[value].storage; storage != TENON_DENSE)
        refuse(
            fmt::format("is {}, but states must be dense", name_of(static_cast<Storage>(storage))));
      if (const auto* value_device = graph_.value_devices[value];
          draft_.tensors[value] && value_device != &device)
        refuse(fmt::format(
            "is on {}, but the node runs on {}: nodes that share a state must share a device",
            value_device->name(), device.name()));
    }
  }

  void set_storage(ValueId value, std::uint8_t storage) {
    auto& type = types_[value];
    type.storage = TENON_DENSE;
    require_fits(type, storage, model_.values[value].index);
    type.storage = storage;
  }

  PlanDraft& draft_;
  LoweredGraph& graph_;
  const GraphModel& model_;
  const Kernels& kernels_;
  std::vector<tenon_type>& types_;
  std::vector<std::uint8_t> storages_;  // of the values that a node reads
  std::vector<tenon_type> read_types_;
};

}  // namespace

void choose_kernels(PlanDraft& draft) {
  KernelSelection(draft).run();
}

}  // namespace tenon
