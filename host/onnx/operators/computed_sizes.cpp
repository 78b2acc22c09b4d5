// Nodes whose sizes, axes or indices are computed by the model and therefore stay inputs. If they
// are known, the operators' ONNX forms apply instead.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

/// Adds the node's input, as int64, if it is connected.
void add_input(NodeImport& node, Importer::Named& inputs, const char* name, std::size_t i) {
  if (node.has(i)) inputs.emplace_back(name, node.cast(node.input(i), i64));
}

void expand(NodeImport& node) {
  Importer::Named inputs{{"x", node.input(0)}};
  add_input(node, inputs, "sizes", 1);
  node.output(node.add("tenon.broadcast_to", inputs, {{"both_ways", true}}));
}

void slice(NodeImport& node) {
  Importer::Named inputs{{"x", node.input(0)}};
  add_input(node, inputs, "begins", 1);
  add_input(node, inputs, "ends", 2);
  add_input(node, inputs, "along", 3);
  add_input(node, inputs, "steps", 4);
  node.output(node.add("tenon.slice", inputs, {{"clamp_begin", true}}));
}

void along_axes(NodeImport& node, const char* op) {
  Importer::Named inputs{{"x", node.input(0)}};
  add_input(node, inputs, "axes", 1);
  node.output(node.add(op, inputs));
}
void squeeze(NodeImport& node) {
  along_axes(node, "tenon.squeeze");
}
void unsqueeze(NodeImport& node) {
  along_axes(node, "tenon.expand_dims");
}

void pad(NodeImport& node) {
  Importer::Named inputs{{"x", node.input(0)}};
  add_input(node, inputs, "widths", 1);
  if (node.has(2)) inputs.emplace_back("fill", node.input(2));
  add_input(node, inputs, "along", 3);
  node.output(node.add("tenon.pad", inputs, {{"mode", node.text("mode", "constant")}}));
}

void split(NodeImport& node) {
  std::vector<Operand> inputs{node.input(0)};
  if (node.has(1)) inputs.push_back(node.cast(node.input(1), i64));
  const auto count = static_cast<std::int64_t>(node.node().outputs.size());
  node.require(node.integer("num_outputs", count) == count,
               "its num_outputs does not match its outputs");
  const auto made = node.add_all(
      "tenon.split", inputs,
      {{"sections", count}, {"axis", node.integer("axis", 0)}, {"uneven", node.version() >= 18}});
  for (std::size_t i = 0; i < made.size(); ++i) node.output(i, made[i]);
}

void cumulative(NodeImport& node, const char* op) {
  Importer::Named inputs{{"x", node.input(0)}};
  add_input(node, inputs, "along", 1);
  node.output(node.add(op, inputs,
                       {{"exclusive", node.integer("exclusive", 0) != 0},
                        {"reverse", node.integer("reverse", 0) != 0}}));
}
void cumsum(NodeImport& node) {
  cumulative(node, "tenon.cumsum");
}
void cumprod(NodeImport& node) {
  cumulative(node, "tenon.cumprod");
}

// Converts indices and depth of any dtype.
void one_hot(NodeImport& node) {
  Importer::Named inputs;
  add_input(node, inputs, "indices", 0);
  add_input(node, inputs, "size", 1);
  inputs.emplace_back("values", node.input(2));
  node.output(
      node.add("tenon.one_hot", inputs, {{"axis", node.integer("axis", -1)}, {"negative", true}}));
}

// ONNX's result is [rank, count], the transpose of Tenon's.
void nonzero(NodeImport& node) {
  node.output(node.add("tenon.transpose",
                       std::vector{node.add("tenon.nonzero", std::vector{node.input(0)})},
                       {{"axes", {1, 0}}}));
}

const Composition computed_read[] = {{"Expand", expand, 8},    {"Slice", slice, 10},
                                     {"Squeeze", squeeze, 13}, {"Unsqueeze", unsqueeze, 13},
                                     {"Pad", pad, 11},         {"Split", split, 13},
                                     {"CumSum", cumsum, 11},   {"CumProd", cumprod, 26},
                                     {"OneHot", one_hot, 9},   {"NonZero", nonzero, 9}};

}  // namespace
}  // namespace tenon::onnx
