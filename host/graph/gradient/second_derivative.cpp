#include "graph/gradient/second_derivative.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/composition.hpp"
#include "graph/gradient/gradient.hpp"
#include "graph/gradient/gradient_graph.hpp"
#include "graph/inference/operator_inference.hpp"
#include "graph/operators/operator_use.hpp"

namespace tenon {
namespace {

bool is_derivative(const GraphModel& model, const NodeRecord& node) {
  const auto* first = model.attributes.data() + node.first_attribute;
  return std::any_of(first, first + node.attribute_count, [&](const AttributeRecord& attribute) {
    return model.strings[attribute.name] == "derivative";
  });
}

bool is_same_shape(const tenon_type& left, const tenon_type& right) {
  return left.rank >= 0 && left.rank == right.rank &&
         std::equal(left.dims, left.dims + left.rank, right.dims) &&
         std::all_of(left.dims, left.dims + left.rank, [](std::int64_t dim) { return dim >= 0; });
}

}  // namespace

SecondDerivative::SecondDerivative(GraphBuilder& builder, NodeId backward,
                                   std::vector<ValueId> gradients)
    : builder_(builder),
      model_(builder.model()),
      node_(model_.nodes[backward]),
      origin_(model_.nodes[node_.origin]),
      gradients_(std::move(gradients)) {
  partner_.assign(origin_.input_count, none);
  for (const auto& [left, right] : info().linear)
    for (std::uint32_t i = 0; i < origin_.input_count; ++i) {
      const auto declared = static_cast<int>(declared_input(info(), i));
      if (declared == left) partner_[i] = right < 0 ? i : static_cast<std::uint32_t>(right);
      if (declared == right) partner_[i] = static_cast<std::uint32_t>(left);
    }
}

const OperatorInfo& SecondDerivative::info() const {
  return *builder_.binding().nodes[node_.origin].info;
}

bool SecondDerivative::is_linear() const {
  return !info().linear.empty() && nonlinear_input() == none;
}

// Returns a floating-point input that no op.linear() term names: the operator may be nonlinear in
// it. `none` if there is none.
std::uint32_t SecondDerivative::nonlinear_input() const {
  for (std::uint32_t i = 0; i < partner_.size(); ++i)
    if (partner_[i] == none && input(i) != none && may_have_gradient(model_.values[input(i)].type))
      return i;
  return none;
}

// Returns the value that backward reads, or would read. It is never recomputed here because the
// gradient flows through it.
ValueId SecondDerivative::input(std::uint32_t i) const {
  const auto read = model_.edges[node_.first_edge + origin_.output_count + i];
  const auto forward_input = model_.edges[origin_.first_edge + i];
  return read != none ? read : forward_input;
}

ValueId SecondDerivative::helper(std::string_view op, const std::vector<ValueId>& inputs,
                                 const Attributes& attributes) const {
  const auto name = free_name();
  const auto full_name = fmt::format("{}.{}", bundled_space, op);
  const auto added = builder_.node({.op = full_name,
                                    .name = name,
                                    .inputs = inputs,
                                    .named_inputs = {},
                                    .attributes = attributes});
  return model_.nodes[added].first_output;
}

std::string SecondDerivative::free_name() const {
  return tenon::free_name(model_, fmt::format("{}_gradient", model_.strings[node_.name]));
}

ValueId SecondDerivative::zeros(ValueId like) const {
  return helper("fill_like", {like}, {{"value", 0.0}});
}

// For y = a b + c and gradients g of backward's results, dy has the gradient g_a b + a g_b + g_c.
SecondDerivative::Factors SecondDerivative::factors() const {
  bool left = false, right = false;
  for (std::uint32_t i = 0; i < partner_.size(); ++i)
    if (partner_[i] != none && gradients_[i] != none) (partner_[i] < i ? right : left) = true;
  Factors factors;
  for (std::uint32_t i = 0; i < partner_.size(); ++i) {
    const auto gradient = [&] { return gradients_[i] != none ? gradients_[i] : zeros(input(i)); };
    const bool first = partner_[i] != none && partner_[i] >= i, second = partner_[i] < i;
    if (left) factors.left.push_back(input(i) == none || !first ? input(i) : gradient());
    if (right)
      factors.right.push_back(input(i) == none || !(second || partner_[i] == i) ? input(i)
                              : second                                          ? gradient()
                                                                                : zeros(input(i)));
  }
  return factors;
}

std::vector<std::pair<ValueId, ValueId>> SecondDerivative::by_linearity() const {
  std::vector<std::pair<ValueId, ValueId>> found;
  const auto output_gradient = model_.edges[node_.first_edge];
  if (output_gradient == none) return found;
  const auto calls = factors();
  for (const auto& inputs : {calls.left, calls.right})
    if (!inputs.empty())
      found.emplace_back(
          output_gradient,
          model_.nodes[builder_.copy_node(node_.origin, inputs, free_name())].first_output);

  // The gradients of a and b are those of backward with the other factor replaced by its gradient.
  std::vector<ValueId> edges{output_gradient};
  bool product = false;
  for (std::uint32_t i = 0; i < partner_.size(); ++i) {
    const bool replaced = partner_[i] != none && partner_[i] != i && gradients_[i] != none;
    product = product || replaced;
    edges.push_back(!info().backward_reads_input[declared_input(info(), i)] ? none
                    : replaced                                              ? gradients_[i]
                                                                            : input(i));
  }
  if (!product) return found;
  const auto backward = model_.nodes[builder_.backward(node_.origin, edges, free_name())];
  for (std::uint32_t i = 0; i < partner_.size(); ++i)
    if (partner_[i] != none && partner_[i] != i && gradients_[partner_[i]] != none)
      found.emplace_back(input(i), backward.first_output + i);
  return found;
}

std::string SecondDerivative::refusal() const {
  const auto& op = *builder_.binding().nodes[node_.origin].op;
  if (op.table->gradient != nullptr || is_composed(op)) return {};
  if (!info().linear.empty())
    return fmt::format("op.linear() does not name input '{}'",
                       info().inputs[declared_input(info(), nonlinear_input())].name);
  if (!info().elementwise)
    return "declare op.linear(), or give the operator a gradient() in addition to its backward()";
  if (is_derivative(model_, origin_))
    return "elementwise operators have first and second derivatives, but no third";
  return info().derivative ? ""
                           : "an elementwise operator needs SDK 0.2 or later, and "
                             "op.gradient_of_duals() if it has its own gradient()";
}

std::vector<ValueId> SecondDerivative::as_graph() const {
  const auto& op = *builder_.binding().nodes[node_.origin].op;
  return op.table->gradient != nullptr ? by_gradient()
         : is_composed(op)             ? by_composition()
                                       : with_derivatives();
}

// Adds the composed nodes a second time and differentiates them.
std::vector<ValueId> SecondDerivative::by_composition() const {
  const auto& bound = builder_.binding().nodes[node_.origin];
  std::vector<ValueId> inputs, wrt;
  for (std::uint32_t i = 0; i < origin_.input_count; ++i) inputs.push_back(input(i));
  GradientSubgraph subgraph{.first = static_cast<NodeId>(model_.nodes.size()),
                            .end = none,
                            .seeds = {},
                            .substitutes = {}};
  const auto outputs = compose(
      builder_, {*bound.op, bound.instance->get(), free_name(),
                 std::string(model_.strings[origin_.device]), inputs, origin_.output_count});
  subgraph.end = static_cast<NodeId>(model_.nodes.size());
  for (auto id = subgraph.first; id < subgraph.end; ++id)
    if (const auto& inside = *builder_.binding().nodes[id].info; inside.random)
      throw Failure(FailureKind::usage, fmt::format("cannot be differentiated again: '{}' inside "
                                                    "it draws new random numbers on each call",
                                                    inside.name));
  for (std::uint32_t i = 0; i < origin_.output_count; ++i)
    if (const auto gradient = model_.edges[node_.first_edge + i]; gradient != none)
      subgraph.seeds.emplace_back(outputs[i], gradient);
  std::vector<std::uint32_t> indices;  // index of each wrt input; a repeated input has its whole
                                       // gradient at its first index
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    const bool first =
        std::find(inputs.begin(), inputs.begin() + i, inputs[i]) == inputs.begin() + i;
    if (inputs[i] == none || !first || !may_have_gradient(model_.values[inputs[i]].type)) continue;
    wrt.push_back(inputs[i]);
    indices.push_back(i);
  }
  const auto found = add_gradient(builder_, subgraph, wrt);
  std::vector<ValueId> results(origin_.input_count, none);
  for (std::size_t k = 0; k < found.size(); ++k) results[indices[k]] = found[k];
  return results;
}

std::vector<ValueId> SecondDerivative::by_gradient() const {
  const auto output = [this](std::uint32_t i) {
    const auto read =
        model_.edges[node_.first_edge + origin_.output_count + origin_.input_count + i];
    return read != none ? read : origin_.first_output + i;
  };
  return run_gradient(
      builder_, node_.origin,
      {.input = [this](std::uint32_t i) { return input(i); },
       .output = output,
       .output_grad = [this](std::uint32_t i) { return model_.edges[node_.first_edge + i]; },
       .zeros = [this](ValueId like) { return zeros(like); }});
}

// dx = dy * f'(x), summed over the axes along which x was broadcast.
std::vector<ValueId> SecondDerivative::with_derivatives() const {
  std::vector<ValueId> results(origin_.input_count, none), inputs;
  const auto output_gradient = model_.edges[node_.first_edge];
  if (output_gradient == none) return results;
  for (std::uint32_t i = 0; i < origin_.input_count; ++i) inputs.push_back(input(i));
  for (std::uint32_t i = 0; i < origin_.input_count; ++i) {
    if (gradients_[i] == none) continue;
    // Only the CPU has kernels for derivatives.
    const auto derivative = builder_.copy_node(
        node_.origin, inputs, free_name(), {{"derivative", static_cast<std::int64_t>(i)}}, "cpu");
    const auto product =
        helper("mul_gradients", {output_gradient, model_.nodes[derivative].first_output});
    const bool same = is_same_shape(model_.values[product].type, model_.values[inputs[i]].type);
    results[i] = same ? product : helper("sum_like", {product, inputs[i]});
  }
  return results;
}

}  // namespace tenon
