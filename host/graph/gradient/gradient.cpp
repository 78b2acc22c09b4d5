#include "graph/gradient/gradient.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/composition.hpp"
#include "graph/gradient/gradient_graph.hpp"
#include "graph/gradient/recomputed_values.hpp"
#include "graph/gradient/second_derivative.hpp"
#include "graph/inference/operator_inference.hpp"
#include "graph/operators/operator_use.hpp"

namespace tenon {
namespace {

bool is_real(const tenon_type& type) {
  return type.dtype == TENON_DTYPE_UNKNOWN || floating.has(static_cast<DType>(type.dtype));
}

bool has_backward_kernel(const LoadedOperator& op) {
  const auto has = [](const tenon_operator* table) {
    return table != nullptr && table->backward != nullptr;
  };
  return has(op.table) || std::any_of(op.kernels.begin(), op.kernels.end(), has);
}

// Whether this is one of the host's operators that propagate no gradient.
bool stops_gradients(const OperatorUse& op) {
  if (op.info->space != bundled_space) return false;
  return op.name == "fill_like" || op.name == "stop_gradient" || op.name == "in_training";
}

class GradientBuilder {
 public:
  GradientBuilder(GraphBuilder& builder, const GradientRequest& request)
      : builder_(builder),
        model_(builder.model()),
        request_(request),
        recomputed_values_(builder, request.recompute) {}

  std::vector<ValueId> run() {
    check_request();
    const auto [first, end] = range();
    extend(first, end);
    if (is_dependent(request_.loss)) {
      gradients_[request_.loss] =
          request_.seed != none ? request_.seed : filled_like(request_.loss, 1);
      if (request_.subgraph != nullptr) seed_subgraph();
      differentiate_from(first, end);
    }
    std::vector<ValueId> found;
    for (const auto value : request_.wrt) found.push_back(gradients_[value]);
    return found;
  }

 private:
  std::pair<NodeId, NodeId> range() const {
    const auto all = static_cast<NodeId>(model_.nodes.size());
    return request_.subgraph == nullptr
               ? std::pair{NodeId{0}, all}
               : std::pair{request_.subgraph->first, std::min(request_.subgraph->end, all)};
  }
  // The first seed is the loss's own.
  void seed_subgraph() {
    for (std::size_t i = 1; i < request_.subgraph->seeds.size(); ++i) {
      const auto [value, seed] = request_.subgraph->seeds[i];
      if (is_dependent(value)) add_to(value, seed);
    }
  }
  // Returns the value that backward reads for a value of the forward pass.
  ValueId saved_value(ValueId value) {
    if (request_.subgraph == nullptr) return recomputed_values_.of(value);
    const auto found = request_.subgraph->substitutes.find(value);
    return found == request_.subgraph->substitutes.end() ? value : found->second;
  }

  void check_request() const {
    const auto refuse = [&](ValueId value, const char* what) {
      throw Failure(FailureKind::usage, fmt::format("'{}' is {}{}", value_label(model_, value),
                                                    to_string(model_.values[value].type), what));
    };
    const auto& loss = model_.values[request_.loss].type;
    if (!may_have_gradient(loss)) refuse(request_.loss, ", but a loss must be floating-point");
    if (!is_real(loss) && request_.seed == none)
      refuse(request_.loss,
             ", but a loss must be real: take real() or abs() of it, or pass a seed");
    for (const auto value : request_.wrt)
      if (!may_have_gradient(model_.values[value].type))
        refuse(value, " and has no gradient; only floating and complex dtypes have one");
  }

  // Extends the analysis to nodes [first, end): marks floating-point and complex values that depend
  // on `wrt`.
  void extend(NodeId first, NodeId end) {
    const bool begins = dependent_.empty();
    gradients_.resize(model_.values.size(), none);
    next_.resize(model_.nodes.size(), none);
    dependent_.resize(model_.values.size());
    if (begins)
      for (const auto value : request_.wrt) dependent_[value] = true;
    for (auto id = first; id < end; ++id) {
      const auto& node = model_.nodes[id];
      if (!reads_dependent(node)) continue;
      for (auto value = node.first_output; value < node.first_output + node.output_count; ++value)
        if (may_have_gradient(model_.values[value].type)) dependent_[value] = true;
    }
  }
  bool is_dependent(ValueId value) const { return value < dependent_.size() && dependent_[value]; }
  bool reads_dependent(const NodeRecord& node) const {
    if (stops_gradients(model_.operators[node.op])) return false;
    const auto* edges = model_.edges.data() + node.first_edge;
    return std::any_of(edges, edges + node.input_count,
                       [&](ValueId value) { return is_dependent(value); });
  }
  bool is_needed(NodeId id) const {
    const auto& node = model_.nodes[id];
    const auto* gradient = gradients_.data() + node.first_output;
    return std::any_of(gradient, gradient + node.output_count,
                       [](ValueId value) { return value != none; }) &&
           reads_dependent(node);
  }

  void differentiate_from(NodeId first, NodeId end) {
    for (auto id = end; id-- > first;)
      if (is_needed(id)) differentiate(id);
  }

  void differentiate(NodeId id) {
    const auto pass = model_.nodes[id].pass;
    const auto& op = *builder_.binding().nodes[id].op;
    if (pass == Pass::backward) {
      differentiate_backward(id);
    } else if (pass == Pass::recompute) {
      pass_to_origin(id);
    } else if (has_backward_kernel(op)) {
      by_kernel(id);
    } else if (op.table->gradient != nullptr) {
      at_node(model_, id, [&] { by_graph(id); });
    } else if (is_composed(op)) {
      by_kernel(id, at_node(model_, id, [&] { return composed_inputs_with_gradient(id); }));
    } else {
      refuse(id, "has no gradient",
             "give the operator a backward() or a gradient(), or put stop_gradient before it");
    }
  }

  // Passes the gradients of a recomputed node on to its origin, which is processed later.
  void pass_to_origin(NodeId id) {
    const auto node = model_.nodes[id];
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (const auto gradient = gradients_[node.first_output + i]; gradient != none)
        add_to(model_.nodes[node.origin].first_output + i, gradient, id);
  }

  // A backward kernel cannot be differentiated, but its computation can: by the operator's
  // linearity, or written as a graph.
  void differentiate_backward(NodeId id) {
    const auto node = model_.nodes[id];
    const auto first = static_cast<NodeId>(model_.nodes.size());
    const SecondDerivative backward(builder_, id,
                                    {gradients_.begin() + node.first_output,
                                     gradients_.begin() + node.first_output + node.output_count});
    if (backward.is_linear()) {
      for (const auto& [value, gradient] : backward.by_linearity()) add_to(value, gradient, id);
      return;
    }
    if (const auto reason = backward.refusal(); !reason.empty())
      refuse(id, "cannot be differentiated again", reason);
    const auto values = at_node(model_, id, [&] { return backward.as_graph(); });
    const auto end = static_cast<NodeId>(model_.nodes.size());
    extend(first, end);
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (const auto gradient = gradients_[node.first_output + i];
          gradient != none && values[i] != none)
        add_to(values[i], gradient, id);
    differentiate_from(first, end);
  }

  // Returns which inputs of a composed operator have a gradient; its backward is one node until it
  // is expanded.
  std::vector<bool> composed_inputs_with_gradient(NodeId id) const {
    const auto& node = model_.nodes[id];
    const auto& bound = builder_.binding().nodes[id];
    std::vector<tenon_type> inputs(node.input_count, unknown_type()), outputs;
    std::vector<bool> output_grads;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model_.edges[node.first_edge + i]; value != none)
        inputs[i] = model_.values[value].type;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      inputs[i].present = model_.edges[node.first_edge + i] != none;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      outputs.push_back(model_.values[node.first_output + i].type);
      output_grads.push_back(gradients_[node.first_output + i] != none);
    }
    return inputs_with_gradient(*bound.op, bound.instance->get(),
                                {std::move(inputs), std::move(outputs), {}}, output_grads);
  }

  // A repeated input has its whole gradient at its first index, consistent with the expansion.
  void merge_repeated_inputs(const NodeRecord& node, std::vector<bool>& has_gradient) const {
    const auto* edges = model_.edges.data() + node.first_edge;
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const auto first = static_cast<std::size_t>(std::find(edges, edges + i, edges[i]) - edges);
      if (first == i || !has_gradient[i]) continue;
      has_gradient[first] = true;
      has_gradient[i] = false;
    }
  }

  // `has_gradient`: the inputs that have a gradient, for composed operators, which may read
  // everything; empty for kernels.
  void by_kernel(NodeId id, std::vector<bool> has_gradient = {}) {
    const auto node = model_.nodes[id];
    const bool composed = !has_gradient.empty();
    if (composed) merge_repeated_inputs(node, has_gradient);
    const auto& info = *builder_.binding().nodes[id].info;
    require_visible(id, info);
    std::vector<ValueId> edges;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      edges.push_back(gradients_[node.first_output + i]);
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const auto value = model_.edges[node.first_edge + i];
      const bool read =
          value != none && (composed || info.backward_reads_input[declared_input(info, i)]);
      edges.push_back(read ? saved_value(value) : none);
    }
    std::uint32_t output = node.first_output;
    for (std::size_t declared = 0; declared < info.outputs.size(); ++declared)
      for (auto left = count_of(model_, node, info.outputs[declared]); left > 0; --left, ++output)
        edges.push_back(composed || info.backward_reads_output[declared] ? saved_value(output)
                                                                         : none);
    const auto backward = builder_.backward(id, edges);
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (!composed || has_gradient[i]) add(id, i, model_.nodes[backward].first_output + i);
  }

  void by_graph(NodeId id) {
    const auto node = model_.nodes[id];
    const auto results = run_gradient(
        builder_, id,
        {.input =
             [&](std::uint32_t i) {
               const auto value = model_.edges[node.first_edge + i];
               return value == none ? none : saved_value(value);
             },
         .output = [&](std::uint32_t i) { return saved_value(node.first_output + i); },
         .output_grad = [&](std::uint32_t i) { return gradients_[node.first_output + i]; },
         .zeros = [&](ValueId like) { return filled_like(like, 0); }});
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (results[i] != none) add(id, i, results[i]);
  }

  // Backward kernels ignore the gradients of hidden outputs.
  void require_visible(NodeId id, const OperatorInfo& info) const {
    auto output = model_.nodes[id].first_output;
    for (const auto& declared : info.outputs)
      for (auto left = count_of(model_, model_.nodes[id], declared); left > 0; --left, ++output)
        if (declared.hidden && gradients_[output] != none)
          throw Failure(
              FailureKind::failed,
              fmt::format("{}: its hidden output '{}' reaches the loss, but has no gradient",
                          node_label(model_, id), declared.name),
              "put stop_gradient after it, or compute it from the inputs");
  }

  // Adds a gradient of a value to a running sum, so at most two of them are alive at a time.
  void add(NodeId from, std::uint32_t input, ValueId gradient) {
    if (const auto value = model_.edges[model_.nodes[from].first_edge + input]; value != none)
      add_to(value, gradient, from);
  }
  void add_to(ValueId value, ValueId gradient, NodeId from) {
    if (!is_dependent(value)) return;
    if (const auto producer = model_.values[value].producer;
        producer != none && next_[producer] == none)
      next_[producer] = from;
    add_to(value, gradient);
  }
  void add_to(ValueId value, ValueId gradient) {
    auto& sum = gradients_[value];
    sum = sum == none ? gradient : helper("tenon.sum_gradients", value, {sum, gradient}, {});
  }

  ValueId filled_like(ValueId value, double number) {
    return helper("tenon.fill_like", value, {value}, {{"value", number}});
  }

  ValueId helper(std::string_view op, ValueId differentiated, const std::vector<ValueId>& inputs,
                 const Attributes& attributes) {
    auto preferred = fmt::format("{}_gradient", value_label(model_, differentiated));
    std::replace(preferred.begin(), preferred.end(), ':', '_');
    const auto name = free_name(model_, preferred);
    const auto node = builder_.node(
        {.op = op, .name = name, .inputs = inputs, .named_inputs = {}, .attributes = attributes});
    return model_.nodes[node].first_output;
  }

  [[noreturn]] void refuse(NodeId id, const char* what, const std::string& hint) const {
    std::vector<std::string> path;
    for (auto at = id; at != none && path.size() < 12; at = next_[at])
      path.emplace_back(model_.strings[model_.nodes[at].name]);
    if (path.size() == 12) path.back() = "...";
    const auto loss = value_label(model_, request_.loss);
    if (path.back() != loss) path.push_back(loss);
    const auto* const edges = model_.edges.data() + model_.nodes[id].first_edge;
    const auto changed = *std::find_if(edges, edges + model_.nodes[id].input_count,
                                       [&](ValueId value) { return is_dependent(value); });
    throw Failure(
        FailureKind::failed,
        fmt::format("{}: {}, but '{}' reaches the loss through it: {}", node_label(model_, id),
                    what, value_label(model_, changed), fmt::join(path, " -> ")),
        hint);
  }

  GraphBuilder& builder_;
  const GraphModel& model_;
  const GradientRequest& request_;
  RecomputedValues recomputed_values_;
  std::vector<ValueId> gradients_;  // of the values that existed at extend(); none: zero so far
  std::vector<NodeId> next_;        // the node through which the first gradient of a node arrived
  std::vector<bool> dependent_;
};

}  // namespace

std::vector<ValueId> add_gradient(GraphBuilder& builder, const GradientSubgraph& subgraph,
                                  const std::vector<ValueId>& wrt) {
  if (subgraph.seeds.empty() || wrt.empty()) return std::vector<ValueId>(wrt.size(), none);
  const auto& [loss, seed] = subgraph.seeds.front();
  return add_gradient(
      builder, GradientRequest{
                   .loss = loss, .seed = seed, .wrt = wrt, .recompute = {}, .subgraph = &subgraph});
}

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
