// Operators that produce or take indices and sizes.
#include <algorithm>
#include <numeric>

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

// Tenon's result has a row per element; ONNX's has a column.
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

// In ONNX negative indices count from the end; in Tenon they are out of range unless the parameter
// allows them. A scalar index, which ONNX does not support, becomes a vector of one.
bool one_hot(NodeExport& node) {
  const auto dtype = node.output_dtype();
  const bool scalar = node.rank() <= 0;  // an unknown rank may be 0
  const auto front = scalar ? node.integers_constant({0}) : std::string();
  auto index = scalar ? node.add("Unsqueeze", {node.input(0), front}) : node.input(0);
  if (node.dtype() != i32 && node.dtype() != i64) index = node.cast(index, i64);
  const auto index_dtype = node.dtype() == i32 ? i32 : i64;
  auto depth = node.input("size");
  if (depth.empty())
    depth = node.integer_constant(node.integer("depth"));
  else if (!node.flag("negative"))
    // a depth of shape [1] would give scalars a dimension
    depth = node.add("Reshape", {depth, node.integers_constant({})});
  if (!node.flag("negative")) {
    const auto beyond = index_dtype == i64 ? depth : node.cast(depth, i32);
    index =
        node.add("Where", {node.add("Less", {index, node.scalar(0, index_dtype)}), beyond, index});
  }
  auto values = node.input("values");
  const auto axis_value = node.integer("axis");
  const NodeExport::Attributes axis{
      {"axis", scalar && axis_value >= 0 ? axis_value + 1 : axis_value}};
  const auto hot = [&](const std::string& depth_and_values) {
    const auto made = node.add("OneHot", {index, depth, depth_and_values}, axis);
    return scalar ? node.add("Squeeze", {made, front}) : made;
  };
  if (dtype == bf16) {  // which ONNX's OneHot does not support
    if (!values.empty()) return false;
    node.output("Cast", {hot(node.constant(Tensor::from({0.0F, 1.0F}, {2})))},
                {{"to", std::int64_t{written::number_of(dtype)}}});
    return true;
  }
  if (values.empty()) values = node.cast(node.constant(Tensor::from({0.0F, 1.0F}, {2})), dtype);
  if (scalar)
    node.output("Squeeze", {node.add("OneHot", {index, depth, values}, axis), front});
  else
    node.output("OneHot", {index, depth, values}, axis);
  return true;
}

/// End of the first `count` of `sections` segments of a size; the last segments may be smaller, or
/// empty.
std::int64_t end_of(std::int64_t count, std::int64_t size, std::int64_t sections) {
  return std::min(size, count * (size / sections + (size % sections != 0)));
}

// The segment sizes, computed at run time for an unknown size.
std::string uneven_sizes(NodeExport& node, std::int64_t axis, std::int64_t sections) {
  const auto size =
      node.add("Gather", {node.add("Shape", {node.input(0)}), node.integers_constant({axis})});
  const auto padded = node.add("Add", {size, node.integers_constant({sections - 1})});
  const auto max_size = node.add("Div", {padded, node.integers_constant({sections})});
  const auto ends_from = [&](std::int64_t first) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(sections));
    std::iota(counts.begin(), counts.end(), first);
    return node.add("Min", {node.add("Mul", {node.integers_constant(counts), max_size}), size});
  };
  return node.add("Sub", {ends_from(1), ends_from(0)});
}

// Without sizes, segments are equal before opset 18; since then num_outputs gives their number, and
// they may be uneven.
bool split(NodeExport& node) {
  const auto axis = node.integer("axis"), sections = node.integer("sections");
  const auto& x = node.type(0);
  const auto size = x.rank < 1 ? -1 : x.dims[axis < 0 ? axis + x.rank : axis];
  auto sizes = node.input("part_sizes");
  if (const auto& fixed = node.integers("sizes"); !fixed.empty()) {
    sizes = node.integers_constant(fixed);
  } else if (sizes.empty() && node.flag("uneven") && size >= 0 && size % sections != 0) {
    std::vector<std::int64_t> segment_sizes;
    for (std::int64_t i = 0; i < sections; ++i)
      segment_sizes.push_back(end_of(i + 1, size, sections) - end_of(i, size, sections));
    sizes = node.integers_constant(segment_sizes);
  } else if (sizes.empty() && node.flag("uneven") && size < 0 && node.opset() < 18) {
    sizes = uneven_sizes(node, axis, sections);
  }
  NodeExport::Attributes attributes{{"axis", axis}};
  if (sizes.empty() && node.opset() >= 18) attributes.push_back({"num_outputs", sections});
  node.add_node({.type = "Split",
                 .inputs = sizes.empty() ? written::Texts{node.input(0)}
                                         : written::Texts{node.input(0), sizes},
                 .outputs = node.node().outputs,
                 .attributes = std::move(attributes),
                 .name = node.node().name},
                node.opset());
  return true;
}

bool non_max_suppression(NodeExport& node) {
  written::Texts inputs{node.input("boxes"), node.input("scores"), node.input("limit"),
                        node.input("iou"), node.input("min_score")};
  const auto number = [&](const char* name) {
    return node.constant(Tensor::from({static_cast<float>(node.real(name))}, {1}));
  };
  if (inputs[2].empty()) inputs[2] = node.integers_constant({node.integer("max_boxes")});
  if (inputs[3].empty()) inputs[3] = number("iou_threshold");
  if (inputs[4].empty()) inputs[4] = number("score_threshold");
  node.output("NonMaxSuppression", std::move(inputs),
              {{"center_point_box", node.flag("center_point_box")}});
  return true;
}

bool cast_storage(NodeExport& node) {
  const auto& storage = node.text("storage");
  if (storage != "dense")
    throw Failure(
        FailureKind::failed,
        "it makes a " + storage + " tensor, but ONNX operators produce only dense tensors");
  node.alias_output(node.input(0));
  return true;
}

const Decomposition of_indices[] = {{"tenon.shape", shape},
                                    {"tenon.range", range},
                                    {"tenon.nonzero", nonzero},
                                    {"tenon.tile", tile},
                                    {"tenon.one_hot", one_hot},
                                    {"tenon.split", split},
                                    {"tenon.non_max_suppression", non_max_suppression},
                                    {"tenon.cast_storage", cast_storage}};

}  // namespace
}  // namespace tenon::onnx
