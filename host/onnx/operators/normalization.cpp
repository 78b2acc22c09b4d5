// Normalizations, and Lp pooling.
#include <fmt/format.h>

#include "onnx/operators/window.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

Operand both(NodeImport& node, const char* op, const Operand& left, const Operand& right) {
  return node.add(op, std::vector{left, right});
}

/// |x|^p for p >= 1.
Operand powered(NodeImport& node, const Operand& x, double p) {
  if (p == 2) return both(node, "tenon.mul", x, x);
  const auto size = node.add("tenon.abs", std::vector{x});
  return p == 1 ? size : both(node, "tenon.pow", size, node.scalar(p, x));
}
Operand root_of(NodeImport& node, const Operand& x, double p) {
  if (p == 1) return x;
  return p == 2 ? node.add("tenon.sqrt", std::vector{x})
                : both(node, "tenon.pow", x, node.scalar(1 / p, x));
}

// Vectors of norm 0 stay 0.
void lp_normalization(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto x = node.widened(node.input(0));
  const auto p = node.integer("p", 2);
  node.require(p == 1 || p == 2, "its p must be 1 or 2");
  const auto sums =
      node.add("tenon.sum", std::vector{powered(node, x, static_cast<double>(p))},
               {{"axis", {std::int64_t{node.axis(node.integer("axis", -1), node.rank(x))}}},
                {"keepdims", true}});
  const auto norm = root_of(node, sums, static_cast<double>(p));
  const auto zero = node.scalar(0, x);
  const auto none_there = both(node, "tenon.equal", norm, zero);
  node.output(node.cast(
      node.add("tenon.where", std::vector{none_there, zero, both(node, "tenon.div", x, norm)}),
      type));
}

// The mean of the powers times the window size.
void lp_pool(NodeImport& node) {
  const auto kernel = node.integers("kernel_shape");
  node.require(kernel.has_value(), "its kernel_shape is missing");
  node.require(node.integer("ceil_mode", 0) == 0, "its ceil_mode is not supported");
  const auto p = node.integer("p", 2);
  node.require(p >= 1, "its p must be 1 or more");
  std::int64_t count = 1;
  for (const auto size : *kernel)
    node.require(size > 0 && !__builtin_mul_overflow(count, size, &count),
                 "its kernel_shape must be of positive numbers");
  auto attributes = window_of(node, *kernel);
  attributes.set("count_include_pad", true);
  const auto type = node.dtype(node.input(0));
  const auto x = node.widened(node.input(0));
  const auto means =
      node.add("tenon.avg_pool", std::vector{powered(node, x, static_cast<double>(p))}, attributes);
  const auto sums = both(node, "tenon.mul", means, node.scalar(static_cast<double>(count), means));
  node.output(node.cast(root_of(node, sums, static_cast<double>(p)), type));
}

void global_lp_pool(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto x = node.widened(node.input(0));
  const auto p = static_cast<double>(node.integer("p", 2));
  node.require(p >= 1, "its p must be 1 or more");
  Numbers axes;
  for (int a = 2; a < node.rank(x); ++a) axes.push_back(a);
  node.require(!axes.empty(), "its input needs spatial axes");
  const auto sums =
      node.add("tenon.sum", std::vector{powered(node, x, p)}, {{"axis", axes}, {"keepdims", true}});
  node.output(node.cast(root_of(node, sums, p), type));
}

// In float64, so that the mean of equal numbers is exactly that number; a rounding error would
// count as a deviation.
void mean_variance(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto x = node.cast(node.input(0), f64);
  const Attributes over{{"axis", node.integers("axes").value_or(Numbers{0, 2, 3})},
                        {"keepdims", true}};
  const auto centred = both(node, "tenon.sub", x, node.add("tenon.mean", std::vector{x}, over));
  const auto variance =
      node.add("tenon.mean", std::vector{both(node, "tenon.mul", centred, centred)}, over);
  const auto deviation =
      both(node, "tenon.add", node.add("tenon.sqrt", std::vector{variance}), node.scalar(1e-9, x));
  node.output(node.cast(both(node, "tenon.div", centred, deviation), type));
}

// Before opset 21, scale and bias have one number per group; since then, and in Tenon, one per
// channel.
void group_norm(NodeImport& node) {
  const auto x = node.input(0);
  auto scale = node.input(1), bias = node.input(2);
  const auto groups = node.integer("num_groups", 0);
  node.require(groups >= 1, "its num_groups must be 1 or more");
  if (node.version() >= 21) {
    node.require(node.integer("stash_type", 1) == 1,
                 "its stash_type must be 1, because tenon.group_norm computes in float32");
  } else {
    const auto shape = node.shape(x);
    node.require(!shape.has_rank() || shape.rank() >= 2, "its input has fewer than 2 dimensions");
    node.require_known(shape.has_rank() && shape[1] != unknown,
                       "before opset 21 its scale has one number per group, so the number of "
                       "channels must be known");
    node.require(shape[1] % groups == 0,
                 fmt::format("its {} groups do not divide {} channels", groups, shape[1]));
    node.charge_bytes(8 * shape[1]);
    Numbers group_of;
    for (std::int64_t channel = 0; channel < shape[1]; ++channel)
      group_of.push_back(channel / (shape[1] / groups));
    for (auto* each : {&scale, &bias}) {
      const auto found = node.shape(*each);
      node.require(
          !found.known() || (found.rank() == 1 && found[0] == groups),
          fmt::format("its scale and bias must be [{}], one number per group, before opset 21",
                      groups));
      *each = node.add("tenon.gather", std::vector{*each, node.constant(group_of)}, {{"axis", 0}});
    }
  }
  node.output(node.add("tenon.group_norm",
                       Importer::Named{{"data", x}, {"gamma", scale}, {"beta", bias}},
                       {{"groups", groups}, {"epsilon", node.real("epsilon", 1e-5)}}));
}

// a sigmoid(alpha a) b
void swiglu(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto gate = node.widened(node.input(0));
  const auto open = node.add("tenon.swish", std::vector{gate}, {{"alpha", node.real("alpha", 1)}});
  node.output(node.cast(both(node, "tenon.mul", open, node.widened(node.input(1))), type));
}

// A causal depthwise convolution over one axis; the last elements are the state for the next call.
void causal_conv(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto shape = node.shape(node.input(1));
  node.require_known(shape.known(), "the shape of its weight is unknown");
  node.require(shape.rank() == 3 && shape[1] == 1, "its weight must be [channels, 1, k]");
  const auto past = shape[2] - 1;
  const auto activation = node.text("activation", "none");
  node.require(activation == "none" || activation == "silu" || activation == "swish",
               fmt::format("its activation '{}' is unknown", activation));
  auto whole = node.input(0);
  if (node.has(3))
    whole = node.add("tenon.concat", std::vector{node.input(3), whole}, {{"axis", 2}});
  else if (past > 0)
    whole = node.add("tenon.pad", std::vector{whole},
                     {{"before", {past}}, {"after", {0}}, {"axes", {2}}});
  Importer::Named inputs{{"data", node.widened(whole)}, {"weight", node.widened(node.input(1))}};
  if (node.has(2)) inputs.emplace_back("bias", node.widened(node.input(2)));
  auto made = node.add("tenon.convolution", inputs,
                       {{"kernel", {shape[2]}},
                        {"num_filter", shape[0]},
                        {"groups", shape[0]},
                        {"no_bias", !node.has(2)}});
  if (activation != "none") made = node.add("tenon.swish", std::vector{made});
  node.output(0, node.cast(made, type));
  if (!node.is_read(1)) return;
  const Attributes last = past > 0
                              ? Attributes{{"axes", {2}}, {"begin", {-past}}, {"end", {INT64_MAX}}}
                              : Attributes{{"axes", {2}}, {"begin", {0}}, {"end", {0}}};
  node.output(1, node.add("tenon.slice", std::vector{whole}, last));
}

const Composition norms_read[] = {
    {"LpNormalization", lp_normalization},   {"LpPool", lp_pool, 2},
    {"GlobalLpPool", global_lp_pool, 2},     {"MeanVarianceNormalization", mean_variance, 9},
    {"GroupNormalization", group_norm, 18},  {"SwiGLU", swiglu, 28},
    {"CausalConvWithState", causal_conv, 27}};

}  // namespace
}  // namespace tenon::onnx
