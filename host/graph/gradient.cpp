#include "graph/gradient.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/dtype.hpp>

#include "graph/gradient_graph.hpp"
#include "graph/operator_inference.hpp"
#include "graph/operator_use.hpp"
#include "graph/recomputed_values.hpp"

namespace tenon {
namespace {

bool is_floating(const tenon_type& type) {
  return type.dtype == TENON_DTYPE_UNKNOWN || floating.has(static_cast<DType>(type.dtype));
}

bool has_backward_kernel(const LoadedOperator& op) {
  const auto has = [](const tenon_operator* table) { return table != nullptr && table->backward != nullptr; };
  return has(op.table) || std::any_of(op.kernels.begin(), op.kernels.end(), has);
}

class GradientBuilder {
 public:
  GradientBuilder(GraphBuilder& builder, const GradientRequest& request)
      : builder_(builder),
        model_(builder.model()),
        request_(request),
        kept_(builder, request.recompute),
        gradients_(model_.values.size(), none),
        next_(model_.nodes.size(), none) {}

  std::vector<ValueId> run() {
    check_request();
    find_dependent();
    if (is_dependent(request_.loss)) {
      gradients_[request_.loss] = request_.seed != none ? request_.seed : filled_like(request_.loss, 1);
      for (auto id = static_cast<NodeId>(next_.size()); id-- > 0;)
        if (is_needed(id)) differentiate(id);
    }
    std::vector<ValueId> found;
    for (const auto value : request_.wrt) found.push_back(gradients_[value]);
    return found;
  }

 private:
  void check_request() const {
    const auto refuse = [&](ValueId value, const char* what) {
      throw Failure(FailureKind::usage,
                    fmt::format("'{}' is {} and {}", value_label(model_, value), to_string(model_.values[value].type), what));
    };
    if (!is_floating(model_.values[request_.loss].type)) refuse(request_.loss, "cannot be a loss; only floating dtypes have a gradient");
    for (const auto value : request_.wrt)
      if (!is_floating(model_.values[value].type)) refuse(value, "has no gradient; only floating dtypes have one");
  }

  // Floating values that change when one of `wrt` does.
  void find_dependent() {
    dependent_.assign(model_.values.size(), false);
    for (const auto value : request_.wrt) dependent_[value] = true;
    for (const auto& node : model_.nodes) {
      if (!reads_dependent(node)) continue;
      for (auto value = node.first_output; value < node.first_output + node.output_count; ++value)
        if (is_floating(model_.values[value].type)) dependent_[value] = true;
    }
  }
  bool is_dependent(ValueId value) const { return value < dependent_.size() && dependent_[value]; }
  bool reads_dependent(const NodeRecord& node) const {
    const auto* edges = model_.edges.data() + node.first_edge;
    return std::any_of(edges, edges + node.input_count, [&](ValueId value) { return is_dependent(value); });
  }
  bool is_needed(NodeId id) const {
    const auto& node = model_.nodes[id];
    const auto* gradient = gradients_.data() + node.first_output;
    return std::any_of(gradient, gradient + node.output_count, [](ValueId value) { return value != none; }) && reads_dependent(node);
  }

  void differentiate(NodeId id) {
    const auto& op = *builder_.binding().nodes[id].op;
    if (model_.nodes[id].pass != Pass::backward && has_backward_kernel(op)) {
      by_kernel(id);
    } else if (model_.nodes[id].pass != Pass::backward && op.table->gradient != nullptr) {
      at_node(model_, id, [&] { by_graph(id); });
    } else {
      refuse(id);
    }
  }

  void by_kernel(NodeId id) {
    const auto node = model_.nodes[id];
    const auto& info = *builder_.binding().nodes[id].op->info;
    std::vector<ValueId> edges;
    for (std::uint32_t i = 0; i < node.output_count; ++i) edges.push_back(gradients_[node.first_output + i]);
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const auto value = model_.edges[node.first_edge + i];
      const bool read = value != none && info.backward_reads_input[declared_input(info, i)];
      edges.push_back(read ? kept_.of(value) : none);
    }
    std::uint32_t output = node.first_output;
    for (std::size_t declared = 0; declared < info.outputs.size(); ++declared)
      for (auto left = count_of(model_, node, info.outputs[declared]); left > 0; --left, ++output)
        edges.push_back(info.backward_reads_output[declared] ? kept_.of(output) : none);
    const auto backward = builder_.backward(id, edges);
    for (std::uint32_t i = 0; i < node.input_count; ++i) add(id, i, model_.nodes[backward].first_output + i);
  }

  void by_graph(NodeId id) {
    const auto node = model_.nodes[id];
    GradientAround around;
    around.input = [&](std::uint32_t i) {
      const auto value = model_.edges[node.first_edge + i];
      if (value == none)
        throw Failure(FailureKind::usage, fmt::format("its gradient() reads input {}, but that input is not connected", i));
      return kept_.of(value);
    };
    around.output = [&](std::uint32_t i) { return kept_.of(node.first_output + i); };
    around.output_grad = [&](std::uint32_t i) {
      const auto gradient = gradients_[node.first_output + i];
      return gradient != none ? gradient : filled_like(node.first_output + i, 0);
    };
    run_gradient(builder_, id, around);
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (around.input_grads[i] != none) add(id, i, around.input_grads[i]);
  }

  // One more gradient of a value: the sum goes on, so that no more than two of them are ever kept.
  void add(NodeId from, std::uint32_t input, ValueId gradient) {
    const auto value = model_.edges[model_.nodes[from].first_edge + input];
    if (value == none || !is_dependent(value)) return;
    if (const auto producer = model_.values[value].producer; producer != none && next_[producer] == none) next_[producer] = from;
    auto& sum = gradients_[value];
    sum = sum == none ? gradient : helper("sum_gradients", value, {sum, gradient}, {});
  }

  ValueId filled_like(ValueId value, double number) { return helper("fill_like", value, {value}, {{"value", number}}); }

  ValueId helper(std::string_view op, ValueId of, const std::vector<ValueId>& inputs, const Attributes& attributes) {
    auto wanted = fmt::format("{}_gradient", value_label(model_, of));
    std::replace(wanted.begin(), wanted.end(), ':', '_');
    const auto name = free_name(model_, wanted);
    const auto node = builder_.node({.op = op, .name = name, .inputs = inputs, .named_inputs = {}, .attributes = attributes});
    return model_.nodes[node].first_output;
  }

  [[noreturn]] void refuse(NodeId id) const {
    std::vector<std::string> path;
    for (auto at = id; at != none && path.size() < 12; at = next_[at]) path.emplace_back(model_.strings[model_.nodes[at].name]);
    if (path.size() == 12) path.back() = "...";
    const auto loss = value_label(model_, request_.loss);
    if (path.back() != loss) path.push_back(loss);
    const auto* const edges = model_.edges.data() + model_.nodes[id].first_edge;
    const auto changed = *std::find_if(edges, edges + model_.nodes[id].input_count, [&](ValueId value) { return is_dependent(value); });
    throw Failure(FailureKind::failed,
                  fmt::format("{}: has no gradient, but '{}' reaches the loss through it: {}", node_label(model_, id),
                              value_label(model_, changed), fmt::join(path, " -> ")),
                  "give the operator a backward() or a gradient(), or put stop_gradient before it");
  }

  GraphBuilder& builder_;
  const GraphModel& model_;
  const GradientRequest& request_;
  RecomputedValues kept_;
  std::vector<ValueId> gradients_;  // of the values that were there before; none: zero so far
  std::vector<NodeId> next_;        // the node through which a node's gradient first came
  std::vector<bool> dependent_;
};

}  // namespace

std::vector<ValueId> add_gradient(GraphBuilder& builder, const GradientRequest& request) {
  const auto before = builder.mark();
  try {
    return GradientBuilder(builder, request).run();
  } catch (...) {
    builder.roll_back(before);
    throw;
  }
}

}  // namespace tenon
