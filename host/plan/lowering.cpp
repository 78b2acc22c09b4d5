#include "plan/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/operator_storage.hpp"

namespace tenon {
namespace {

class Lowering {
 public:
  Lowering(const GraphModel& model, const Binding& binding, const Kernels& kernels, std::vector<tenon_type>& types)
      : model_(model), kernels_(kernels), types_(types), lowered_{model, binding, {}, {}, {}, nullptr, nullptr} {}

  Lowered run(bool training) {
    lowered_.order.reserve(model_.nodes.size());
    lowered_.sparse.assign(model_.nodes.size(), false);
    for (NodeId id = 0; id < model_.nodes.size(); ++id) {
      at_node(model_, id, [&] { lower(id); });
      lowered_.order.push_back(id);
    }
    if (training) make_updates_dense();
    if (!own_) return std::move(lowered_);
    lowered_.sparse.resize(own_->nodes.size(), true);
    return Lowered{
        *own_,           *own_binding_,          std::move(lowered_.order), std::move(lowered_.sparse), std::move(lowered_.conversions),
        std::move(own_), std::move(own_binding_)};
  }

 private:
  void lower(NodeId id) {
    const auto& node = model_.nodes[id];
    check_states(forward_of(model_, node));
    gather(node);
    const auto choice = choose_storage(*lowered_.binding.nodes[id].op->info, kernels_.of(model_, id), node.pass == Pass::backward,
                                       storages_, read_types_, node.output_count);
    lowered_.sparse[id] = choice.sparse;
    for (std::uint32_t i = 0; i < node.output_count; ++i) set_storage(node.first_output + i, choice.outputs[i]);
    if (choice.sparse) return;
    for (auto edge = node.first_edge; edge < node.first_edge + node.input_count; ++edge) {
      const auto value = model_.edges[edge];
      if (value == none || types_[value].storage == TENON_DENSE) continue;
      const auto dense = dense_of(value);  // may make the graph that is written to
      own_->edges[edge] = dense;
    }
  }

  // Of backward: the output gradients, then forward's inputs, those that it does not read as well.
  void gather(const NodeRecord& node) {
    const auto& forward = forward_of(model_, node);
    storages_.clear();
    read_types_.clear();
    const auto add = [&](std::uint32_t edge) {
      const auto value = model_.edges[edge];
      storages_.push_back(value == none ? static_cast<std::uint8_t>(TENON_DENSE) : types_[value].storage);
      read_types_.push_back(value == none ? unknown_type() : types_[value]);
    };
    if (node.pass == Pass::backward)
      for (std::uint32_t i = 0; i < forward.output_count; ++i) add(node.first_edge + i);
    for (std::uint32_t i = 0; i < forward.input_count; ++i) add(forward.first_edge + i);
  }

  void check_states(const NodeRecord& forward) const {
    for (std::uint32_t i = 0; i < forward.state_count; ++i) {
      const auto value = model_.edges[forward.first_edge + forward.input_count + i];
      if (const auto storage = types_[value].storage; storage != TENON_DENSE)
        throw Failure(FailureKind::failed, fmt::format("its state '{}' is {}, and states are dense", value_label(model_, value),
                                                       name_of(static_cast<Storage>(storage))));
    }
  }

  void set_storage(ValueId value, std::uint8_t storage) {
    auto& type = types_[value];
    type.storage = TENON_DENSE;
    require_fits(type, storage, model_.values[value].index);
    type.storage = storage;
  }

  // One conversion serves all who need it.
  ValueId dense_of(ValueId value) {
    if (dense_.empty()) dense_.assign(model_.values.size(), none);
    if (dense_[value] != none) return dense_[value];
    own();
    const auto id = static_cast<NodeId>(own_->nodes.size());
    NodeRecord node;
    node.name = own_->strings.intern(value_label(model_, value) + ".dense");
    node.op = cast_use();
    node.first_edge = static_cast<std::uint32_t>(own_->edges.size());
    node.input_count = 1;
    node.first_output = static_cast<ValueId>(own_->values.size());
    node.output_count = 1;
    own_->edges.push_back(value);
    own_->nodes.push_back(node);
    own_binding_->nodes.push_back({&kernels_.cast(), {}});
    auto& record = own_->values.emplace_back();
    record.producer = id;
    record.type = types_[value];
    record.type.storage = TENON_DENSE;
    types_.push_back(record.type);
    lowered_.order.push_back(id);
    lowered_.conversions.push_back({value, node.first_output, types_[value].storage, byte_count(types_[value])});
    return dense_[value] = node.first_output;
  }

  // What a variable becomes at the end of a run is written over it.
  void make_updates_dense() {
    for (std::size_t i = 0; i < model_.updates.size(); ++i) {
      const auto [variable, value] = model_.updates[i];
      if (types_[variable].storage != TENON_DENSE)
        throw Failure(FailureKind::failed,
                      fmt::format("variable '{}' is {} and is updated, but only dense ones can be", value_label(model_, variable),
                                  name_of(static_cast<Storage>(types_[variable].storage))));
      if (types_[value].storage != TENON_DENSE) {
        const auto dense = dense_of(value);
        own_->updates[i].second = dense;
      }
    }
  }

  void own() {
    if (own_) return;
    own_ = std::make_unique<GraphModel>(model_);
    own_binding_ = std::make_unique<Binding>();
    own_binding_->operators = lowered_.binding.operators;
    for (const auto& node : lowered_.binding.nodes) own_binding_->nodes.push_back({node.op, {}});
  }

  std::uint32_t cast_use() {
    if (cast_ == none) {
      cast_ = static_cast<std::uint32_t>(own_->operators.size());
      const auto& info = *kernels_.cast().info;
      own_->operators.push_back({info.name, info.version, std::make_shared<OperatorInfo>(info), none});
      own_binding_->operators.push_back(&kernels_.cast());
    }
    return cast_;
  }

  const GraphModel& model_;
  const Kernels& kernels_;
  std::vector<tenon_type>& types_;
  Lowered lowered_;
  std::unique_ptr<GraphModel> own_;
  std::unique_ptr<Binding> own_binding_;
  std::vector<ValueId> dense_;          // of each value: its dense form, none where there is none yet
  std::vector<std::uint8_t> storages_;  // of what a node reads
  std::vector<tenon_type> read_types_;
  std::uint32_t cast_ = none;
};

}  // namespace

Lowered lower_storage(const GraphModel& model, const Binding& binding, const Kernels& kernels, bool training,
                      std::vector<tenon_type>& types) {
  return Lowering(model, binding, kernels, types).run(training);
}

}  // namespace tenon
