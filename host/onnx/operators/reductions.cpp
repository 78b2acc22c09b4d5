// Reductions that become several Tenon operators. Half-precision inputs are computed in float32 and
// rounded once.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

struct Axes {
  Attributes attributes;
  bool identity = false;  // no axes, with noop_with_empty_axes
  Operand computed{};     // axes that the model computes
};

Operand reduce(NodeImport& node, const char* op, const Operand& x, const Axes& axes) {
  auto attributes = axes.attributes;
  if (std::string_view(op) == "tenon.max" || std::string_view(op) == "tenon.min")
    attributes.set("allow_empty", true);
  if (axes.computed.empty()) return node.add(op, std::vector{x}, attributes);
  return node.add(op, Importer::Named{{"x", x}, {"axes", axes.computed}}, attributes);
}

Axes axes_of(NodeImport& node, std::int64_t since) {
  const bool has_axes_input = node.version() >= since && node.has(1);
  std::optional<std::vector<std::int64_t>> axes;
  Axes found;
  if (has_axes_input && !node.input(1).known())
    found.computed = node.cast(node.input(1), i64);
  else
    axes = node.version() < since ? node.integers("axes") : node.known_integers(1);
  const bool noop = node.integer("noop_with_empty_axes", 0) != 0;
  found.identity = noop && found.computed.empty() && (!axes || axes->empty());
  if (!found.computed.empty())
    found.attributes.set("noop_with_empty_axes", noop);
  else
    found.attributes.set("axis", axes.value_or(std::vector<std::int64_t>{}));
  found.attributes.set("keepdims", node.integer("keepdims", 1) != 0);
  return found;
}

using Step = Operand (*)(NodeImport&, const Operand&);

Operand same(NodeImport&, const Operand& x) {
  return x;
}
Operand absolute(NodeImport& node, const Operand& x) {
  return node.add("tenon.abs", std::vector{x});
}
Operand squared(NodeImport& node, const Operand& x) {
  return node.add("tenon.mul", std::vector{x, x});
}
Operand root(NodeImport& node, const Operand& x) {
  return node.add("tenon.sqrt", std::vector{x});
}
Operand logarithm(NodeImport& node, const Operand& x) {
  return node.add("tenon.log", std::vector{x});
}

void reduced(NodeImport& node, std::int64_t since, Step before, const char* op, Step after) {
  const auto type = node.dtype(node.input(0));
  const bool whole = !allows(floating.mask, type);
  const auto axes = axes_of(node, since);
  auto x = node.cast(node.input(0), type == f16 || type == bf16 ? f32
                                    : whole && (after != same)  ? f64
                                                                : type);
  x = before(node, x);
  if (!axes.identity) x = reduce(node, op, x, axes);
  node.output(node.cast(after(node, x), type));
}

void sum_of(NodeImport& node) {
  reduced(node, 13, same, "tenon.sum", same);
}
void mean_of(NodeImport& node) {
  reduced(node, 18, same, "tenon.mean", same);
}
void max_of(NodeImport& node) {
  reduced(node, 18, same, "tenon.max", same);
}
void min_of(NodeImport& node) {
  reduced(node, 18, same, "tenon.min", same);
}
void product_of(NodeImport& node) {
  reduced(node, 18, same, "tenon.prod", same);
}
void l1(NodeImport& node) {
  reduced(node, 18, absolute, "tenon.sum", same);
}
void l2(NodeImport& node) {
  reduced(node, 18, squared, "tenon.sum", root);
}
void sum_square(NodeImport& node) {
  reduced(node, 18, squared, "tenon.sum", same);
}
void log_sum(NodeImport& node) {
  reduced(node, 18, same, "tenon.sum", logarithm);
}

// Avoids overflow by subtracting the maximum first and adding it back after the logarithm.
void log_sum_exp(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto axes = axes_of(node, 18);
  const auto x = node.cast(node.input(0), type == f64 || !allows(floating.mask, type) ? f64 : f32);
  if (axes.identity) return node.output(node.input(0));
  Attributes with_keepdims;
  for (const auto& [name, value] : axes.attributes)
    with_keepdims.set(name, name == "keepdims" ? AttributeValue(true) : value);
  const auto largest = reduce(node, "tenon.max", x, {with_keepdims, false, axes.computed});
  const auto finite = node.add(
      "tenon.where",
      std::vector{
          node.add("tenon.equal", std::vector{node.add("tenon.sub", std::vector{largest, largest}),
                                              node.scalar(0, x)}),
          largest, node.scalar(0, x)});
  const auto total = reduce(
      node, "tenon.sum",
      node.add("tenon.exp", std::vector{node.add("tenon.sub", std::vector{x, finite})}), axes);
  auto offset = finite;
  if (!node.integer("keepdims", 1)) offset = reduce(node, "tenon.sum", finite, axes);
  node.output(node.cast(
      node.add("tenon.add", std::vector{node.add("tenon.log", std::vector{total}), offset}), type));
}

const Composition reductions_read[] = {
    {"ReduceSum", sum_of},      {"ReduceMean", mean_of},
    {"ReduceMax", max_of},      {"ReduceMin", min_of},
    {"ReduceProd", product_of}, {"ReduceL1", l1},
    {"ReduceL2", l2},           {"ReduceSumSquare", sum_square},
    {"ReduceLogSum", log_sum},  {"ReduceLogSumExp", log_sum_exp}};

}  // namespace
}  // namespace tenon::onnx
