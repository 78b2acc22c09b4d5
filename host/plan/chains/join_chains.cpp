#include "plan/chains/join_chains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "device/devices.hpp"
#include "plan/chains/chain_values.hpp"
#include "plan/chains/find_chains.hpp"

namespace tenon {
namespace {

// Of the host's own: the plan runs it itself.
const LoadedOperator& chain_operator() {
  static const auto op = [] {
    LoadedOperator loaded;
    OperatorInfo info;
    info.name = "chain";
    info.elementwise = true;
    loaded.info = std::make_shared<const OperatorInfo>(std::move(info));
    return loaded;
  }();
  return op;
}

class ChainJoiner {
 public:
  ChainJoiner(Lowered& graph, std::vector<tenon_type>& types, std::span<const std::uint32_t> readers, int threads)
      : graph_(graph), types_(types), readers_(readers), threads_(threads), own_(std::make_shared<GraphSnapshot>()) {
    own_->model = graph.model();
    own_->binding.operators = graph.binding().operators;
    for (const auto& node : graph.binding().nodes) own_->binding.nodes.push_back({node.op, {}, node.info});
    graph.first_chain = static_cast<NodeId>(own_->model.nodes.size());
    replaced_.assign(own_->model.values.size(), none);
  }

  void run(const std::vector<FoundChain>& chains) {
    for (const auto& chain : chains) add(chain);
    const auto replace = [&](ValueId& value) {
      if (value < replaced_.size() && replaced_[value] != none) value = replaced_[value];
    };
    auto& model = own_->model;
    for (auto& edge : model.edges) replace(edge);
    for (auto& [name, value] : model.outputs) replace(value);
    for (auto& [variable, value] : model.updates) replace(value);
    for (auto& conversion : graph_.conversions) replace(conversion.value);
    put_in_order(chains);
    graph_.graph = std::move(own_);
  }

 private:
  void add(const FoundChain& found);
  void add_output(ValueId value, NodeId id, std::uint32_t index);
  std::uint32_t use_of(const std::string& name, const std::shared_ptr<const OperatorInfo>& info);
  void put_in_order(const std::vector<FoundChain>& chains);

  Lowered& graph_;
  std::vector<tenon_type>& types_;
  const std::span<const std::uint32_t> readers_;
  const int threads_;
  std::shared_ptr<GraphSnapshot> own_;
  std::vector<ValueId> replaced_;                        // by which value others read it now
  std::unordered_map<std::string, std::uint32_t> uses_;  // of what was added, by name, into the graph's operators
};

void ChainJoiner::add(const FoundChain& found) {
  auto& model = own_->model;
  auto values = chain_values(model, own_->binding, types_, readers_, found);
  values.chain.threads = static_cast<int>(std::min<std::int64_t>(threads_, found.blocks.count()));
  std::vector<std::string_view> nodes;
  std::vector<std::string> operators;
  for (const auto id : found.nodes) {
    nodes.push_back(model.strings[model.nodes[id].name]);
    operators.push_back(work_label(graph_.model(), model.nodes[id]));  // which has no operators of chains
  }
  auto info = std::make_shared<OperatorInfo>(*chain_operator().info);
  info->name = fmt::format("{}", fmt::join(operators, "+"));
  for (const auto value : values.inputs) info->inputs.emplace_back().name = value_label(model, value);
  for (const auto value : values.outputs) info->outputs.emplace_back().name = value_label(model, value);
  info->inplace = std::move(values.inplace);
  const auto id = static_cast<NodeId>(model.nodes.size());
  NodeRecord node;
  node.name = model.strings.intern(fmt::format("{}", fmt::join(nodes, "+")));
  node.op = use_of(info->name, info);
  node.first_edge = static_cast<std::uint32_t>(model.edges.size());
  node.input_count = static_cast<std::uint32_t>(values.inputs.size());
  node.first_output = static_cast<ValueId>(model.values.size());
  node.output_count = static_cast<std::uint32_t>(values.outputs.size());
  model.edges.insert(model.edges.end(), values.inputs.begin(), values.inputs.end());
  model.nodes.push_back(node);
  own_->binding.nodes.push_back({&chain_operator(), {}, info});
  for (std::uint32_t i = 0; i < node.output_count; ++i) add_output(values.outputs[i], id, i);
  graph_.kernels.push_back(0);
  graph_.sparse.push_back(false);
  graph_.copy_of.push_back(none);
  graph_.devices.push_back(&cpu_device());
  graph_.chains.push_back(std::move(values.chain));
}

void ChainJoiner::add_output(ValueId value, NodeId id, std::uint32_t index) {
  auto& model = own_->model;
  replaced_[value] = static_cast<ValueId>(model.values.size());
  const auto label = value_label(model, value);
  auto& record = model.values.emplace_back();
  record.name = model.strings.intern(label);
  record.type = types_[value];
  record.producer = id;
  record.index = index;
  types_.push_back(record.type);
  graph_.places.push_back(&cpu_device());
}

std::uint32_t ChainJoiner::use_of(const std::string& name, const std::shared_ptr<const OperatorInfo>& info) {
  const auto [found, added] = uses_.try_emplace(name, static_cast<std::uint32_t>(own_->model.operators.size()));
  if (added) {
    own_->model.operators.push_back({name, 1, info, none});
    own_->binding.operators.push_back(&chain_operator());
  }
  return found->second;
}

// Each chain where its last node stands; sums inside of chains go, as their nodes do.
void ChainJoiner::put_in_order(const std::vector<FoundChain>& chains) {
  std::unordered_map<NodeId, NodeId> gone;  // and what comes instead; none: nothing
  for (std::uint32_t i = 0; i < chains.size(); ++i) {
    for (const auto id : chains[i].nodes) gone.emplace(id, none);
    for (const auto& sum : chains[i].sums) gone.emplace(sum.node, none);
    gone[chains[i].nodes.back()] = graph_.first_chain + i;
  }
  std::vector<NodeId> order;
  order.reserve(graph_.order.size());
  for (const auto id : graph_.order)
    if (const auto found = gone.find(id); found == gone.end())
      order.push_back(id);
    else if (found->second != none)
      order.push_back(found->second);
  graph_.order = std::move(order);
}

}  // namespace

void join_chains(Lowered& graph, const Kernels& kernels, bool training, int threads, std::vector<tenon_type>& types) {
  const auto is_large = [](const tenon_type& type) { return is_known(type) && element_count(type) >= fewest_chain_elements; };
  if (std::none_of(types.begin(), types.end(), is_large)) return;
  const auto order = running_order(graph, training);
  const auto readers = count_readers(graph.model(), order, training);
  const auto found = find_chains(graph, kernels, types, order, readers);
  if (!found.empty()) ChainJoiner(graph, types, readers.all, threads).run(found);
}

}  // namespace tenon
