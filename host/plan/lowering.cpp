#include <fmt/format.h>

#include <map>
#include <utility>

#include "device/devices.hpp"
#include "plan/passes.hpp"

namespace tenon {
namespace {

// Internal operator for copies between devices; it never appears in original graphs, and plans run
// it themselves.
const LoadedOperator& copy_operator() {
  static const auto info = [] {
    OperatorInfo copy;
    copy.name = "copy";
    copy.doc = "the same elements on another device";
    copy.inputs.emplace_back().name = "data";
    copy.outputs.emplace_back().name = "output";
    return std::make_shared<const OperatorInfo>(std::move(copy));
  }();
  static const auto op = [] {
    LoadedOperator loaded;
    loaded.info = info;
    return loaded;
  }();
  return op;
}

class Lowering {
 public:
  explicit Lowering(PlanDraft& draft)
      : draft_(draft), graph_(draft.graph()), kernels_(draft.kernels) {}

  void run() {
    const auto nodes = std::move(graph_.order);
    graph_.order.clear();
    graph_.order.reserve(nodes.size());
    for (const auto id : nodes) {
      lower(id);
      graph_.order.push_back(id);
    }
    if (draft_.request.training) lower_updates();
    if (!draft_.request.keep_on_device) fetch_outputs();
    graph_.order.insert(graph_.order.begin(), first_.begin(), first_.end());
  }

 private:
  const GraphModel& model() const { return draft_.model(); }
  const tenon_type& type(ValueId value) const { return draft_.types()[value]; }

  void lower(NodeId id) {
    auto& device = *graph_.devices[id];
    const auto first = model().nodes[id].first_edge, count = model().nodes[id].input_count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto value = model().edges[first + i];
      if (value == none) continue;
      const auto plain = graph_.sparse[id] ? value : dense_of(value);
      const auto read = graph_.value_devices[plain] == &device && device.is_cpu()
                            ? plain
                            : operand_for(id, i, plain);
      if (read != value) draft_.edit().model.edges[first + i] = read;
    }
  }

  ValueId operand_for(NodeId id, std::uint32_t edge, ValueId value) {
    const auto* input = forward_input(id, edge);
    if (input != nullptr && input->shape_only) return value;
    return on_device(value, input != nullptr && input->on_cpu ? cpu_device() : *graph_.devices[id]);
  }

  // Returns the operator's input for an edge, or null for a gradient or an output. The inputs of a
  // backward node come after the output gradients.
  const InputInfo* forward_input(NodeId id, std::uint32_t edge) const {
    const auto& node = model().nodes[id];
    const auto& forward = forward_of(model(), node);
    const auto first = node.pass == Pass::backward ? forward.output_count : 0;
    const auto& info = *graph_.binding().nodes[id].info;
    return edge < first || edge - first >= forward.input_count
               ? nullptr
               : &info.inputs[declared_input(info, edge - first)];
  }

  // One conversion serves all readers. It runs on the value's device, or on the CPU if that device
  // has no kernel for it.
  ValueId dense_of(ValueId value) {
    if (type(value).storage == TENON_DENSE) return value;
    if (const auto found = dense_.find(value); found != dense_.end()) return found->second;
    auto& device = kernels_.converts_on(*graph_.value_devices[value]) ? *graph_.value_devices[value]
                                                                      : cpu_device();
    const auto dense = add_node(kernels_.cast(), on_device(value, device), "dense", device);
    draft_.edit().model.values[dense].type.storage = draft_.types()[dense].storage = TENON_DENSE;
    graph_.sparse.back() = true;
    graph_.conversions.push_back({value, dense, type(value).storage, byte_count(type(value))});
    return dense_[value] = dense;
  }

  // One copy per device serves all readers there.
  ValueId on_device(ValueId value, Device& device) {
    if (graph_.value_devices[value] == &device) return value;
    const auto [found, added] = copies_.try_emplace({value, &device});
    if (!added) return found->second;
    const auto copy = add_node(copy_operator(), value, device.name(), device);
    graph_.copy_of.back() = static_cast<std::uint32_t>(graph_.copies.size());
    graph_.copies.push_back({model().values[copy].producer, copy});
    return found->second = copy;
  }

  // Adds a node that reads one value and returns one of the same type, ahead of the current node.
  // Copies of values that exist before the run go ahead of all nodes, so kernels stay contiguous,
  // unless they are so large that kernels should run meanwhile.
  ValueId add_node(const LoadedOperator& op, ValueId value, const std::string& suffix,
                   Device& device) {
    const auto role = model().values[value].role;
    const auto [found, added] = uses_.try_emplace(&op);
    if (added) found->second = draft_.add_operator(op, op.info);
    const auto id = draft_.add_node(value_label(model(), value) + "." + suffix, found->second,
                                    std::span(&value, 1), device);
    const auto added_value = draft_.add_output(id, type(value));
    const auto& added_type = type(added_value);
    const bool large = added_type.storage == TENON_DENSE && is_known(added_type) &&
                       byte_count(added_type) >= large_copy;
    const bool early =
        &op == &copy_operator() && role != Role::output && role != Role::state && !large;
    (early ? first_ : graph_.order).push_back(id);
    return added_value;
  }

  // Updates write the variable's new value over the old one, on the variable's device.
  void lower_updates() {
    for (std::size_t i = 0; i < model().updates.size(); ++i) {
      const auto variable = model().updates[i].first, value = model().updates[i].second;
      if (type(variable).storage != TENON_DENSE)
        throw Failure(FailureKind::failed,
                      fmt::format("variable '{}' is {} but must be dense to be updated",
                                  value_label(model(), variable),
                                  name_of(static_cast<Storage>(type(variable).storage))));
      if (const auto read = on_device(dense_of(value), *graph_.value_devices[variable]);
          read != value)
        draft_.edit().model.updates[i].second = read;
    }
  }

  // Output copies come after all nodes, so no thread waits for a device in the middle of a run. The
  // session copies outputs that no node produces.
  void fetch_outputs() {
    const auto count =
        model().outputs.size() - (draft_.request.requested_outputs == nullptr
                                      ? 0
                                      : draft_.request.requested_outputs->device_output_count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = model().outputs[i].second;
      if (model().values[value].role != Role::output ||
          type(value).storage == TENON_STORAGE_UNKNOWN)
        continue;
      if (const auto fetched = on_device(value, cpu_device()); fetched != value)
        draft_.edit().model.outputs[i].second = fetched;
    }
  }

  PlanDraft& draft_;
  LoweredGraph& graph_;
  const Kernels& kernels_;
  std::map<ValueId, ValueId> dense_;                       // sparse values -> their dense form
  std::map<std::pair<ValueId, Device*>, ValueId> copies_;  // values and devices -> the copy
  // added operators -> index in the graph's operators
  std::map<const LoadedOperator*, std::uint32_t> uses_;
  std::vector<NodeId> first_;  // added before all nodes of the graph
};

}  // namespace

void lower(PlanDraft& draft) {
  Lowering(draft).run();
}

}  // namespace tenon
