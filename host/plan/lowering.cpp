#include "plan/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/devices.hpp"
#include "plan/gpu_schedule.hpp"
#include "plan/operator_storage.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

// An operator of the host's own that no graph names: the plan runs it itself.
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
  Lowering(std::shared_ptr<const GraphSnapshot> graph, const Kernels& kernels, const TensorTable& tensors, const LoweringRequest& request,
           std::vector<tenon_type>& types)
      : model_(graph->model), kernels_(kernels), tensors_(tensors), request_(request), types_(types) {
    lowered_.graph = std::move(graph);
  }

  Lowered run() {
    const auto count = model_.nodes.size();
    lowered_.order.reserve(count);
    lowered_.kernels.assign(count, 0);
    lowered_.sparse.assign(count, false);
    lowered_.copy_of.assign(count, none);
    lowered_.devices.assign(count, nullptr);
    if (request_.wanted != nullptr) {
      own();
      own_->model.outputs = request_.wanted->outputs;
      own_->model.updates = request_.wanted->updates;
      lowered_.partial = request_.wanted->partial;
    }
    place_values();
    for (NodeId id = 0; id < count; ++id) {
      if (request_.wanted != nullptr && !request_.wanted->nodes[id]) continue;
      at_node(model_, id, [&] { lower(id); });
      lowered_.order.push_back(id);
    }
    if (request_.training) lower_updates();
    if (!request_.keep_on_device) fetch_outputs();
    lowered_.order.insert(lowered_.order.begin(), first_.begin(), first_.end());
    return finished();
  }

 private:
  // Those of nodes follow in lower().
  void place_values() {
    lowered_.places.assign(model_.values.size(), &cpu_device());
    for (ValueId id = 0; id < model_.values.size(); ++id)
      if (tensors_[id]) lowered_.places[id] = &device_of(tensors_[id]);
    for (const auto& [id, device] : request_.inputs) lowered_.places[id] = device;
  }

  void lower(NodeId id) {
    const auto& node = model_.nodes[id];
    auto& device = kernels_.device_of(model_, id);
    lowered_.devices[id] = &device;
    check_states(forward_of(model_, node), device);
    lowered_.kernels[id] = kernels_.choose(model_, lowered_.binding(), id, device, types_);
    if (const auto& kernel = kernels_.all_of(model_, id, device)[lowered_.kernels[id]]; kernel.table() != nullptr)
      if (const auto* variant = kernel.op().variant_of(*kernel.table())) lowered_.variants.emplace(id, variant->name);
    const auto choice = choose(id, node, device);
    lowered_.sparse[id] = choice.sparse;
    const auto& info = *lowered_.binding().nodes[id].info;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      set_storage(node.first_output + i, choice.sparse ? choice.outputs[i] : std::uint8_t{TENON_DENSE});
      if (node.pass != Pass::backward && info.allocates(i)) types_[node.first_output + i].storage = TENON_STORAGE_UNKNOWN;
      lowered_.places[node.first_output + i] = &device;
    }
    for (auto edge = node.first_edge; edge < node.first_edge + node.input_count; ++edge) {
      const auto value = model_.edges[edge];
      if (value == none) continue;
      const auto plain = choice.sparse ? value : dense_of(value);
      const auto* input = forward_input(id, edge - node.first_edge);
      const bool anywhere = input != nullptr && input->shape_only, on_cpu = input != nullptr && input->on_cpu;
      const auto read = anywhere ? plain : on_device(plain, on_cpu ? cpu_device() : device);
      if (read != value) own_->model.edges[edge] = read;
    }
  }

  // Which of the operator's inputs the edge is; null: a gradient or an output. Of backward, the inputs come behind the output gradients.
  const InputInfo* forward_input(NodeId id, std::uint32_t edge) const {
    const auto& node = model_.nodes[id];
    const auto& forward = forward_of(model_, node);
    const auto first = node.pass == Pass::backward ? forward.output_count : 0;
    const auto& info = *lowered_.binding().nodes[id].info;
    return edge < first || edge - first >= forward.input_count ? nullptr : &info.inputs[declared_input(info, edge - first)];
  }

  StorageChoice choose(NodeId id, const NodeRecord& node, const Device& device) {
    const auto& op = *lowered_.binding().nodes[id].op;
    const auto& kernel = kernels_.all_of(model_, id, device)[lowered_.kernels[id]];
    const bool backward = node.pass == Pass::backward;
    bool any_sparse = false;
    for_each_read(node, [&](ValueId value) { any_sparse = any_sparse || (value != none && types_[value].storage != TENON_DENSE); });
    if (!chooses_storage(op, kernel, backward, any_sparse)) return {};
    storages_.clear();
    read_types_.clear();
    for_each_read(node, [&](ValueId value) {
      storages_.push_back(value == none ? static_cast<std::uint8_t>(TENON_DENSE) : types_[value].storage);
      read_types_.push_back(value == none ? unknown_type() : types_[value]);
    });
    return choose_storage(op, kernel, backward, storages_, read_types_, node.output_count, device.type());
  }

  // Of backward: the output gradients, then forward's inputs, those that it does not read as well.
  template <class Told>
  void for_each_read(const NodeRecord& node, Told told) const {
    const auto& forward = forward_of(model_, node);
    if (node.pass == Pass::backward)
      for (std::uint32_t i = 0; i < forward.output_count; ++i) told(model_.edges[node.first_edge + i]);
    for (std::uint32_t i = 0; i < forward.input_count; ++i) told(model_.edges[forward.first_edge + i]);
  }

  void check_states(const NodeRecord& forward, const Device& device) const {
    for (std::uint32_t i = 0; i < forward.state_count; ++i) {
      const auto value = model_.edges[forward.first_edge + forward.input_count + i];
      const auto refuse = [&](const std::string& what) {
        throw Failure(FailureKind::failed, fmt::format("its state '{}' {}", value_label(model_, value), what));
      };
      if (const auto storage = types_[value].storage; storage != TENON_DENSE)
        refuse(fmt::format("is {}, and states are dense", name_of(static_cast<Storage>(storage))));
      if (const auto* place = lowered_.places[value]; tensors_[value] && place != &device)
        refuse(
            fmt::format("lies on {}, but it runs on {}: a node that shares its state must share its device", place->name(), device.name()));
    }
  }

  void set_storage(ValueId value, std::uint8_t storage) {
    auto& type = types_[value];
    type.storage = TENON_DENSE;
    require_fits(type, storage, model_.values[value].index);
    type.storage = storage;
  }

  // One conversion serves all who need it. It is made where the value lies, or on the CPU where that has no kernel for it.
  ValueId dense_of(ValueId value) {
    if (types_[value].storage == TENON_DENSE) return value;
    if (const auto found = dense_.find(value); found != dense_.end()) return found->second;
    auto& device = kernels_.converts_on(*lowered_.places[value]) ? *lowered_.places[value] : cpu_device();
    const auto dense = add_node(kernels_.cast(), on_device(value, device), "dense", device);
    own_->model.values[dense].type.storage = types_[dense].storage = TENON_DENSE;
    lowered_.sparse.back() = true;
    lowered_.conversions.push_back({value, dense, types_[value].storage, byte_count(types_[value])});
    return dense_[value] = dense;
  }

  // One copy a device serves all who need it there.
  ValueId on_device(ValueId value, Device& device) {
    if (lowered_.places[value] == &device) return value;
    const auto [found, added] = copies_.try_emplace({value, &device});
    if (!added) return found->second;
    const auto copy = add_node(copy_operator(), value, device.name(), device);
    lowered_.copy_of.back() = static_cast<std::uint32_t>(lowered_.copies.size());
    lowered_.copies.push_back({own_->model.values[copy].producer, copy});
    return found->second = copy;
  }

  // It reads one value and gives one of the same type. What is added comes before the node at hand; what is there from the start is copied
  // before all nodes, so that their kernels follow each other, unless it is so large that kernels had better run meanwhile.
  ValueId add_node(const LoadedOperator& op, ValueId value, const std::string& suffix, Device& device) {
    own();
    const auto id = static_cast<NodeId>(own_->model.nodes.size());
    NodeRecord node;
    node.name = own_->model.strings.intern(value_label(own_->model, value) + "." + suffix);
    node.op = use_of(op);
    node.first_edge = static_cast<std::uint32_t>(own_->model.edges.size());
    node.input_count = 1;
    node.first_output = static_cast<ValueId>(own_->model.values.size());
    node.output_count = 1;
    own_->model.edges.push_back(value);
    own_->model.nodes.push_back(node);
    own_->binding.nodes.push_back({&op, {}, op.info});
    auto& record = own_->model.values.emplace_back();
    record.producer = id;
    record.type = types_[value];
    types_.push_back(record.type);
    const auto role = own_->model.values[value].role;
    const bool large = record.type.storage == TENON_DENSE && is_known(record.type) && byte_count(record.type) >= large_copy;
    const bool early = &op == &copy_operator() && role != Role::output && role != Role::state && !large;
    (early ? first_ : lowered_.order).push_back(id);
    lowered_.kernels.push_back(0);
    lowered_.sparse.push_back(false);
    lowered_.copy_of.push_back(none);
    lowered_.devices.push_back(&device);
    lowered_.places.push_back(&device);
    return node.first_output;
  }

  // What a variable becomes at the end of a run is written over it, where it lies.
  void lower_updates() {
    const auto& updates = (own_ ? own_->model : model_).updates;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const auto [variable, value] = updates[i];
      if (types_[variable].storage != TENON_DENSE)
        throw Failure(FailureKind::failed,
                      fmt::format("variable '{}' is {} and is updated, but only dense ones can be", value_label(model_, variable),
                                  name_of(static_cast<Storage>(types_[variable].storage))));
      if (const auto taken = on_device(dense_of(value), *lowered_.places[variable]); taken != value) own_->model.updates[i].second = taken;
    }
  }

  // Behind all nodes, so that nobody waits for a device in the middle of a run. What is no node's output the session copies.
  void fetch_outputs() {
    const auto count = (own_ ? own_->model : model_).outputs.size() - (request_.wanted == nullptr ? 0 : request_.wanted->staying);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = (own_ ? own_->model : model_).outputs[i].second;
      if (model_.values[value].role != Role::output || types_[value].storage == TENON_STORAGE_UNKNOWN) continue;
      if (const auto fetched = on_device(value, cpu_device()); fetched != value) own_->model.outputs[i].second = fetched;
    }
  }

  // Without the operators' objects: those of the Kernels run.
  void own() {
    if (own_) return;
    own_ = std::make_shared<GraphSnapshot>();
    own_->model = model_;
    own_->binding.operators = lowered_.binding().operators;
    for (const auto& node : lowered_.binding().nodes) own_->binding.nodes.push_back({node.op, {}, node.info});
  }

  std::uint32_t use_of(const LoadedOperator& op) {
    const auto [found, added] = uses_.try_emplace(&op, static_cast<std::uint32_t>(own_->model.operators.size()));
    if (added) {
      own_->model.operators.push_back({op.info->name, op.info->version, op.info, none});
      own_->binding.operators.push_back(&op);
    }
    return found->second;
  }

  Lowered finished() {
    if (own_) lowered_.graph = std::move(own_);
    return std::move(lowered_);
  }

  const GraphModel& model_;
  const Kernels& kernels_;
  const TensorTable& tensors_;
  const LoweringRequest& request_;
  std::vector<tenon_type>& types_;
  Lowered lowered_;
  std::shared_ptr<GraphSnapshot> own_;                     // once something is changed
  std::map<ValueId, ValueId> dense_;                       // sparse values and their dense form
  std::map<std::pair<ValueId, Device*>, ValueId> copies_;  // values and where else they are wanted
  std::map<const LoadedOperator*, std::uint32_t> uses_;    // of what was added, into the graph's operators
  std::vector<NodeId> first_;                              // added before all nodes of the graph
  std::vector<std::uint8_t> storages_;                     // of what a node reads
  std::vector<tenon_type> read_types_;
};

}  // namespace

Lowered lower(std::shared_ptr<const GraphSnapshot> graph, const Kernels& kernels, const TensorTable& tensors,
              const LoweringRequest& request, std::vector<tenon_type>& types) {
  return Lowering(std::move(graph), kernels, tensors, request, types).run();
}

}  // namespace tenon
