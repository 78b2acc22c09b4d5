// LinearAttention, which carries a state instead of using softmax, and FlexAttention, whose scores
// are modified by subgraphs.
#include <fmt/format.h>

#include <cmath>

#include "onnx/dtype.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

Operand of_shape(NodeImport& node, const Operand& x, const Numbers& shape) {
  return node.add("tenon.reshape", std::vector{x}, {{"shape", shape}});
}
Operand of_order(NodeImport& node, const Operand& x, const Numbers& axes) {
  return node.add("tenon.transpose", std::vector{x}, {{"axes", axes}});
}

struct LinearSizes {
  std::int64_t batch, steps, heads, group, keys, values;
};

/// One step: decays the state [batch, heads, keys, values], adds a key-value pair, and applies the
/// query.
std::string linear_step(NodeImport& node, const LinearSizes& n, DType type, const Shape& decay,
                        const Shape& beta, double scale) {
  Graph graph(node.host());
  const auto binary = [&](const char* op, Value left, Value right) {
    return graph.add(op, {left, right});
  };
  auto state = graph.input("state", type, {n.batch, n.heads, n.keys, n.values});
  const auto query = graph.input("query", type, {n.batch, n.heads, n.group, n.keys});
  const auto key = graph.input("key", type, {n.batch, n.heads, n.keys, 1});
  auto value = graph.input("value", type, {n.batch, n.heads, 1, n.values});
  if (decay.has_rank()) state = binary("tenon.mul", state, graph.input("decay", type, decay));
  if (beta.has_rank()) {
    const auto rate = graph.input("beta", type, beta);
    const auto known = graph.add("tenon.sum", {binary("tenon.mul", state, key)},
                                 {{"axis", {-2}}, {"keepdims", true}});
    value = binary("tenon.mul", rate, binary("tenon.sub", value, known));
  }
  state = binary("tenon.add", state, binary("tenon.mul", key, value));
  auto factor = Tensor::empty(type, Shape::scalar());
  type == f64 ? *static_cast<double*>(factor.data()) = scale
              : *static_cast<float*>(factor.data()) = static_cast<float>(scale);
  graph.output("next", state);
  graph.output("answer", binary("tenon.mul", binary("tenon.matmul", query, state),
                                graph.constant("scale", factor)));
  return graph.to_json();
}

void linear_attention(NodeImport& node) {
  node.ignore("chunk_size");
  const auto rule = node.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta",
             delta = rule == "delta" || rule == "gated_delta";
  node.require(gated || delta || rule == "linear",
               fmt::format("its update_rule '{}' is unknown", rule));
  node.require(node.has(4) == gated && node.has(5) == delta,
               "its decay and beta do not match its update_rule");
  const auto q_heads = node.integer("q_num_heads", 0), heads = node.integer("kv_num_heads", 0);
  node.require(heads > 0 && q_heads > 0 && q_heads % heads == 0,
               "its kv_num_heads must divide its q_num_heads");
  const auto q = node.widened(node.input(0)), k = node.widened(node.input(1)),
             v = node.widened(node.input(2));
  const auto of_q = node.shape(q), of_v = node.shape(v);
  node.require_known(of_q.known() && of_v.known(), "the shapes of its query and value are unknown");
  node.require(
      of_q.rank() == 3 && of_v.rank() == 3 && of_q[2] % q_heads == 0 && of_v[2] % heads == 0,
      "its query and value must be [batch, steps, heads size]");
  const LinearSizes n{of_q[0], of_q[1], heads, q_heads / heads, of_q[2] / q_heads, of_v[2] / heads};
  const auto type = node.dtype(q);
  // [batch, steps, ...] to [steps, batch, ...]
  const auto by_step = [&](const Operand& x, Numbers last) {
    Numbers shape{n.batch, n.steps}, axes{1, 0};
    shape.insert(shape.end(), last.begin(), last.end());
    for (std::size_t i = 0; i < last.size(); ++i) axes.push_back(static_cast<std::int64_t>(i) + 2);
    return of_order(node, of_shape(node, x, shape), axes);
  };
  auto state = node.widened(node.optional_input(3));
  if (state.empty()) {
    const auto zero = node.constant(Tensor::zeros(type, Shape::scalar()));
    state = node.add("tenon.broadcast_to", std::vector{zero},
                     {{"shape", {n.batch, n.heads, n.keys, n.values}}});
  }
  std::vector<Operand> inputs{node.cast(state, type), by_step(q, {n.heads, n.group, n.keys}),
                              by_step(k, {n.heads, n.keys, 1}), by_step(v, {n.heads, 1, n.values})};
  Shape decay, beta;
  if (gated) {
    const auto operand = node.cast(node.input(4), type);
    const auto shape = node.shape(operand);
    node.require_known(shape.known(), "the shape of its decay is unknown");
    node.require(shape.rank() == 3 && (shape[2] == heads || shape[2] == heads * n.keys),
                 "its decay must be [batch, steps, heads] or [batch, steps, heads * keys]");
    const auto each = shape[2] / heads;
    decay = {n.batch, heads, each, 1};
    inputs.push_back(node.add("tenon.exp", std::vector{by_step(operand, {heads, each, 1})}));
  }
  if (delta) {
    const auto operand = node.cast(node.input(5), type);
    const auto shape = node.shape(operand);
    node.require_known(shape.known(), "the shape of its beta is unknown");
    node.require(shape.rank() == 3 && (shape[2] == heads || shape[2] == 1),
                 "its beta must be [batch, steps, heads] or [batch, steps, 1]");
    beta = {n.batch, shape[2], 1, 1};
    inputs.push_back(by_step(operand, {shape[2], 1, 1}));
  }
  double scale = node.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(n.keys));
  const auto made = node.add_all("tenon.scan", inputs,
                                 {{"body", linear_step(node, n, type, decay, beta, scale)},
                                  {"carries", 1},
                                  {"scanned", static_cast<std::int64_t>(inputs.size()) - 1},
                                  {"outputs", 2}});
  const auto transposed = of_order(node, made[1], {1, 0, 2, 3, 4});
  node.output(0, node.cast(of_shape(node, transposed, {n.batch, n.steps, q_heads * n.values}),
                           node.dtype(node.input(0))));
  node.output(1, node.cast(made[0], node.dtype(node.input(node.has(3) ? 3 : 0))));
}

// Operates on [batch, heads, steps, size]; score_mod and prob_mod receive all scores at once.
void flex_attention(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const bool changed =
      node.attribute("score_mod") != nullptr || node.attribute("prob_mod") != nullptr;
  node.require(
      !changed || (type != f16 && type != bf16),
      "its score_mod or prob_mod works on half-precision scores, which are float32 in Tenon");
  node.require(node.attribute("softmax_precision") == nullptr ||
                   node.integer("softmax_precision", 1) == 1 || type == f64,
               "its softmax_precision is not float32");
  auto q = node.widened(node.input(0)), k = node.widened(node.input(1)),
       v = node.widened(node.input(2));
  const auto of_q = node.shape(q), of_k = node.shape(k), of_v = node.shape(v);
  for (const auto& shape : {of_q, of_k, of_v}) {
    node.require_known(shape.known(), "the shapes of its inputs are unknown");
    node.require(shape.rank() == 4, "its inputs must be [batch, heads, steps, size]");
  }
  node.require(of_k[1] > 0 && of_q[1] % of_k[1] == 0 && of_v[1] == of_k[1],
               "its number of key heads must divide the number of query heads");
  const auto repeated = [&](const Operand& x, const Shape& shape) {
    if (of_q[1] == of_k[1]) return x;
    const auto wide = node.add("tenon.expand_dims", std::vector{x}, {{"axis", {2}}});
    const auto each =
        node.add("tenon.broadcast_to", std::vector{wide},
                 {{"shape", {shape[0], shape[1], of_q[1] / of_k[1], shape[2], shape[3]}}});
    return of_shape(node, each, {shape[0], of_q[1], shape[2], shape[3]});
  };
  const auto scale = node.real("scale", 1 / std::sqrt(static_cast<double>(of_q[3])));
  auto scores =
      node.add("tenon.matmul", std::vector{q, repeated(k, of_k)}, {{"transpose_b", true}});
  scores = node.add("tenon.mul", std::vector{scores, node.scalar(scale, scores)});
  const auto change = [&](const char* name, Operand& x) {
    if (node.attribute(name) == nullptr) return true;
    const auto made = node.inlined(node.graph(name), {x});
    if (made.empty()) return false;
    node.require(made.size() == 1, fmt::format("its {} must return one value", name));
    x = made[0];
    return true;
  };
  if (!change("score_mod", scores)) return;
  auto shares = node.add("tenon.softmax", std::vector{scores}, {{"axis", -1}});
  if (!change("prob_mod", shares)) return;
  node.output(node.cast(node.add("tenon.matmul", std::vector{shares, repeated(v, of_v)}), type));
}

const Composition linear_attention_read[] = {
    {"LinearAttention", linear_attention, 27},
    {"FlexAttention", flex_attention, 1, "ai.onnx.preview"}};

}  // namespace
}  // namespace tenon::onnx
