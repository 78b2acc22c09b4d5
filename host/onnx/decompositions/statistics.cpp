// Losses, normalizations and reductions.
#include <algorithm>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

using Axes = std::vector<std::int64_t>;

// The mean of no elements is 0 in Tenon and nan in ONNX.
bool may_be_empty(const NodeExport& node) {
  const auto& type = node.type(0);
  return std::find(type.dims, type.dims + std::max(type.rank, 0), 0) !=
         type.dims + std::max(type.rank, 0);
}

bool mean_squared_error(NodeExport& node) {
  const auto& reduction = node.text("reduction");
  if (reduction == "mean" && may_be_empty(node)) return false;
  const Wide wide(node);
  const auto difference = node.add("Sub", {wide.input(0), wide.input(1)});
  if (reduction == "none") {
    wide.output("Mul", {difference, difference});
    return true;
  }
  const auto squares = node.add("Mul", {difference, difference});
  wide.output("Identity",
              {node.reduce(reduction == "mean" ? "ReduceMean" : "ReduceSum", squares, {}, false)});
  return true;
}

bool softmax_cross_entropy(NodeExport& node) {
  if (node.is_read(1) || (node.text("reduction") == "mean" && may_be_empty(node))) return false;
  const bool wide = node.dtype(1) == i32 || node.dtype(1) == i64;
  node.output("SoftmaxCrossEntropyLoss",
              {node.input(0), wide ? node.input(1) : node.cast(node.input(1), i64)},
              {{"reduction", node.text("reduction")}});
  return true;
}

std::string indices(NodeExport& node, std::size_t i) {
  const bool wide = node.dtype(i) == i32 || node.dtype(i) == i64;
  return wide ? node.input(i) : node.cast(node.input(i), i64);
}

bool embedding(NodeExport& node) {
  node.output("Gather", {node.input("weight"), indices(node, 0)}, {{"axis", 0}});
  return true;
}

bool take_rows(NodeExport& node) {
  node.output("Gather", {node.input(0), indices(node, 1)}, {{"axis", 0}});
  return true;
}

bool layer_norm(NodeExport& node) {
  if (node.opset() >= 17 || node.rank() < 0 || node.is_read(1) || node.is_read(2)) return false;
  const Wide wide(node);
  const auto axis =
      node.integer("axis") < 0 ? node.integer("axis") : node.integer("axis") - node.rank();
  Axes axes;
  for (auto a = axis; a < 0; ++a) axes.push_back(a);
  const auto x = wide.input(0),
             centred = node.add("Sub", {x, node.reduce("ReduceMean", x, axes, true)});
  const auto variance = node.reduce("ReduceMean", node.add("Mul", {centred, centred}), axes, true);
  const auto deviation = node.add(
      "Sqrt", {node.add("Add", {variance, node.scalar(node.real("epsilon"), wide.dtype)})});
  const auto scaled = node.add("Mul", {node.add("Div", {centred, deviation}), wide.input(1)});
  wide.output("Add", {scaled, wide.input(2)});
  return true;
}

bool rms_norm(NodeExport& node) {
  if (node.opset() >= 23 || node.rank() < 0) return false;
  const Wide wide(node);
  const auto axis =
      node.integer("axis") < 0 ? node.integer("axis") : node.integer("axis") - node.rank();
  Axes axes;
  for (auto a = axis; a < 0; ++a) axes.push_back(a);
  const auto x = wide.input(0);
  const auto squares = node.reduce("ReduceMean", node.add("Mul", {x, x}), axes, true);
  const auto root =
      node.add("Sqrt", {node.add("Add", {squares, node.scalar(node.real("epsilon"), wide.dtype)})});
  wide.output("Mul", {node.add("Div", {x, root}), wide.input(1)});
  return true;
}

// InstanceNormalization with groups as instances, then scale and offset per channel.
bool group_norm(NodeExport& node) {
  // Reshape cannot infer a size of -1 for empty tensors
  if (node.opset() >= 21 || node.rank() < 3 || may_be_empty(node)) return false;
  const Wide wide(node);
  const auto x = wide.input(0);
  const auto groups = node.integer("groups");
  auto ones = Tensor::empty(wide.dtype, {groups}), zeros = Tensor::zeros(wide.dtype, {groups});
  for (std::int64_t i = 0; i < groups; ++i)
    if (wide.dtype == f64)
      ones.data<double>()[i] = 1;
    else
      ones.data<float>()[i] = 1;
  const auto grouped = node.add("Reshape", {x, node.integers_constant({0, groups, -1})});
  const auto even =
      node.add("InstanceNormalization", {grouped, node.constant(ones), node.constant(zeros)},
               {{"epsilon", node.real("epsilon")}});
  const auto back = node.add("Reshape", {even, node.add("Shape", {x})});
  Axes each_channel(static_cast<std::size_t>(node.rank()) - 1, 1);
  each_channel[0] = -1;
  const auto sizes = node.integers_constant(each_channel);
  const auto scaled = node.add("Mul", {back, node.add("Reshape", {wide.input(1), sizes})});
  wide.output("Add", {scaled, node.add("Reshape", {wide.input(2), sizes})});
  return true;
}

// Sums of short integers are int64 in Tenon.
bool reduction(NodeExport& node, const char* type) {
  const bool has_axes_input = !node.input("axes").empty();
  if (node.dtype() == node.output_dtype() || node.flag("noop_with_empty_axes") || has_axes_input)
    return false;
  auto x = node.cast(node.input(0), node.output_dtype());
  node.alias_output(node.reduce(type, x, node.integers("axis"), node.flag("keepdims")));
  return true;
}

bool sum(NodeExport& node) {
  return reduction(node, "ReduceSum");
}
bool mean(NodeExport& node) {
  return reduction(node, "ReduceMean");
}
bool prod(NodeExport& node) {
  return reduction(node, "ReduceProd");
}

// The maximum of no elements is defined in ONNX; in Tenon it is an error unless the parameters
// allow it.
bool extremum(NodeExport& node, const char* type) {
  const auto axes = node.input("axes");
  if (node.flag("noop_with_empty_axes") || (!axes.empty() && node.opset() < 18) ||
      (node.dtype() == boolean && node.opset() < 20))
    return false;
  if (axes.empty())
    node.alias_output(
        node.reduce(type, node.input(0), node.integers("axis"), node.flag("keepdims")));
  else
    node.output(type, {node.input(0), axes}, {{"keepdims", node.flag("keepdims")}});
  return true;
}

bool max(NodeExport& node) {
  return extremum(node, "ReduceMax");
}
bool min(NodeExport& node) {
  return extremum(node, "ReduceMin");
}

// Reduces over all axes at once.
bool arg(NodeExport& node, const char* type) {
  if (!node.integers("axis").empty() || node.flag("keepdims") || node.dtype() == boolean)
    return false;
  const auto flat = node.add("Reshape", {node.input(0), node.integers_constant({-1})});
  node.output(type, {flat},
              {{"axis", 0}, {"keepdims", 0}, {"select_last_index", node.flag("last")}});
  return true;
}

bool argmax(NodeExport& node) {
  return arg(node, "ArgMax");
}
bool argmin(NodeExport& node) {
  return arg(node, "ArgMin");
}

const Decomposition of_layers[] = {{"tenon.mean_squared_error", mean_squared_error},
                                   {"tenon.softmax_cross_entropy", softmax_cross_entropy},
                                   {"tenon.embedding", embedding},
                                   {"tenon.take_rows", take_rows},
                                   {"tenon.layer_norm", layer_norm},
                                   {"tenon.rms_norm", rms_norm},
                                   {"tenon.group_norm", group_norm}};
const Decomposition of_axes[] = {
    {"tenon.max", max},   {"tenon.min", min},       {"tenon.sum", sum},      {"tenon.mean", mean},
    {"tenon.prod", prod}, {"tenon.argmax", argmax}, {"tenon.argmin", argmin}};

}  // namespace
}  // namespace tenon::onnx
