// Operators that tell or take places and sizes.
#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

bool shape(NodeExport& node) {
  node.output("Shape", {node.input(0)});
  return true;
}

bool range(NodeExport& node) {
  constexpr Types known = {i16, i32, i64, f32, f64};
  if (!allows(known.mask, node.dtype())) return false;
  node.output("Range", {node.input(0), node.input(1), node.input(2)});
  return true;
}

// A row for each element here, a column there.
bool nonzero(NodeExport& node) {
  node.output("Transpose", {node.add("NonZero", {node.input(0)})}, {{"perm", {1, 0}}});
  return true;
}

bool tile(NodeExport& node) {
  const auto& times = node.integers("times");
  if (times.empty()) return false;
  node.output("Tile", {node.input(0), node.integers_constant(times)});
  return true;
}

// Negative indices count from the end there; here they are out of range, unless it is said. A scalar, which ONNX's does not take, is a
// vector of one there.
bool one_hot(NodeExport& node) {
  const auto dtype = node.output_dtype();
  const bool scalar = node.rank() <= 0;  // or it may be one
  const auto front = scalar ? node.integers_constant({0}) : std::string();
  auto index = scalar ? node.add("Unsqueeze", {node.input(0), front}) : node.input(0);
  if (node.dtype() != i32 && node.dtype() != i64) index = node.cast(index, i64);
  const auto index_dtype = node.dtype() == i32 ? i32 : i64;
  auto depth = node.input("size");
  if (depth.empty())
    depth = node.integer_constant(node.integer("depth"));
  else if (!node.flag("negative"))
    depth = node.add("Reshape", {depth, node.integers_constant({})});  // of shape [1] it would give scalars a dimension
  if (!node.flag("negative")) {
    const auto beyond = index_dtype == i64 ? depth : node.cast(depth, i32);
    index = node.add("Where", {node.add("Less", {index, node.scalar(0, index_dtype)}), beyond, index});
  }
  auto values = node.input("values");
  const auto given = node.integer("axis");
  const NodeExport::Attributes axis{{"axis", scalar && given >= 0 ? given + 1 : given}};
  const auto hot = [&](const std::string& of) {
    const auto made = node.add("OneHot", {index, depth, of}, axis);
    return scalar ? node.add("Squeeze", {made, front}) : made;
  };
  if (dtype == bf16) {  // which ONNX's has not
    if (!values.empty()) return false;
    node.output("Cast", {hot(node.constant(Tensor::from({0.0F, 1.0F}, {2})))}, {{"to", std::int64_t{written::number_of(dtype)}}});
    return true;
  }
  if (values.empty()) values = node.cast(node.constant(Tensor::from({0.0F, 1.0F}, {2})), dtype);
  if (scalar)
    node.output("Squeeze", {node.add("OneHot", {index, depth, values}, axis), front});
  else
    node.output("OneHot", {index, depth, values}, axis);
  return true;
}

// From opset 18 on the last part may be smaller there; parts that are equal here are equal there.
bool split(NodeExport& node) {
  if (node.opset() < 18 || !node.input("part_sizes").empty() || !node.integers("sizes").empty() || node.flag("uneven")) return false;
  node.add_node({.type = "Split",
                 .inputs = {node.input(0)},
                 .outputs = node.node().outputs,
                 .attributes = {{"axis", node.integer("axis")}, {"num_outputs", node.integer("sections")}},
                 .name = node.node().name},
                node.opset());
  return true;
}

bool non_max_suppression(NodeExport& node) {
  written::Texts inputs{node.input("boxes"), node.input("scores"), node.input("limit"), node.input("iou"), node.input("least_score")};
  if (inputs[2].empty()) inputs[2] = node.integer_constant(node.integer("most"));
  if (inputs[3].empty()) inputs[3] = node.scalar(node.real("iou_threshold"), f32);
  if (inputs[4].empty()) inputs[4] = node.scalar(node.real("score_threshold"), f32);
  node.output("NonMaxSuppression", std::move(inputs), {{"center_point_box", node.flag("center_point_box")}});
  return true;
}

bool cast_storage(NodeExport& node) {
  const auto& storage = node.text("storage");
  if (storage != "dense")
    throw Failure(FailureKind::failed, "it makes a " + storage + " tensor, and ONNX's operators give dense tensors alone");
  node.is_output(node.input(0));
  return true;
}

const Parts of_places[] = {{"tenon.shape", shape},
                           {"tenon.range", range},
                           {"tenon.nonzero", nonzero},
                           {"tenon.tile", tile},
                           {"tenon.one_hot", one_hot},
                           {"tenon.split", split},
                           {"tenon.non_max_suppression", non_max_suppression},
                           {"tenon.cast_storage", cast_storage}};

}  // namespace
}  // namespace tenon::onnx
