// Layers whose parameters stand in the shapes of ONNX's weights, and windows whose lists ONNX wants in full.
#include <algorithm>
#include <numeric>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

// One number for each axis, where one may stand for all.
Numbers spread(const Numbers& list, std::size_t axes, const Numbers& otherwise) {
  if (list.empty()) return otherwise;
  return list.size() == 1 ? Numbers(axes, list[0]) : list;
}

NodeExport::Attributes window(NodeExport& node, const Numbers& kernel, const Numbers& stride) {
  const auto axes = kernel.size();
  NodeExport::Attributes attributes{{"kernel_shape", kernel},
                                    {"strides", spread(node.integers("stride"), axes, stride)},
                                    {"dilations", spread(node.integers("dilate"), axes, Numbers(axes, 1))}};
  const auto& mode = node.text("pad_mode");
  if (mode != "given") {
    attributes.push_back({"auto_pad", mode == "same_upper" ? "SAME_UPPER" : "SAME_LOWER"});
    return attributes;
  }
  auto pads = spread(node.integers("pad"), axes, Numbers(axes, 0));
  const auto end = spread(node.integers("pad_end"), axes, pads);
  pads.insert(pads.end(), end.begin(), end.end());
  attributes.push_back({"pads", pads});
  return attributes;
}

// The last node of a layer, or the first of several.
std::string finish(NodeExport& node, bool last, const char* type, written::Texts inputs, NodeExport::Attributes attributes = {}) {
  if (!last) return node.add(type, std::move(inputs), std::move(attributes));
  node.output(type, std::move(inputs), std::move(attributes));
  return {};
}

// What the fused operators do behind the layer.
bool is_plain(const NodeExport& node) {
  return !node.has_parameter("activation") || (node.text("activation") == "none" && node.input("addend").empty());
}

void write_gelu(NodeExport& node, std::string x, bool narrow, DType dtype) {
  if (node.opset() >= 20) return node.output("Gelu", {x});
  const auto wide = narrow ? f32 : dtype;
  if (narrow) x = node.cast(x, f32);
  const auto erf = node.add("Erf", {node.add("Mul", {x, node.scalar(0.70710678118654752440, wide)})});
  const auto half = node.add("Mul", {x, node.scalar(0.5, wide)});
  const auto factor = node.add("Add", {erf, node.scalar(1, wide)});
  if (!narrow) return node.output("Mul", {half, factor});
  node.output("Cast", {node.add("Mul", {half, factor})}, {{"to", std::int64_t{written::number_of(dtype)}}});
}

void activate(NodeExport& node, std::string sum) {
  if (is_plain(node)) return;
  const auto& activation = node.text("activation");
  if (!node.input("addend").empty()) sum = finish(node, activation == "none", "Add", {sum, node.input("addend")});
  if (activation == "relu") node.output("Relu", {sum});
  if (activation == "sigmoid") node.output("Sigmoid", {sum});
  if (activation == "tanh") node.output("Tanh", {sum});
  if (activation == "leaky_relu") node.output("LeakyRelu", {sum}, {{"alpha", node.real("slope")}});
  if (activation == "gelu") write_gelu(node, sum, false, node.dtype());
  if (activation == "clip")
    node.output("Clip", {sum, node.scalar(node.real("low"), node.dtype()), node.scalar(node.real("high"), node.dtype())});
}

bool convolution(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  auto attributes = window(node, kernel, Numbers(kernel.size(), 1));
  attributes.push_back({"group", node.integer("groups")});
  written::Texts inputs{node.input("data"), node.input("weight")};
  if (!node.input("bias").empty()) inputs.push_back(node.input("bias"));
  activate(node, finish(node, is_plain(node), "Conv", std::move(inputs), std::move(attributes)));
  return true;
}

bool conv_transpose(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  const auto axes = kernel.size();
  auto attributes = window(node, kernel, Numbers(axes, 1));
  attributes.push_back({"group", node.integer("groups")});
  attributes.push_back({"output_padding", spread(node.integers("output_padding"), axes, Numbers(axes, 0))});
  written::Texts inputs{node.input("data"), node.input("weight")};
  if (!node.input("bias").empty()) inputs.push_back(node.input("bias"));
  node.output("ConvTranspose", std::move(inputs), std::move(attributes));
  return true;
}

bool fully_connected(NodeExport& node) {
  auto data = node.input("data");
  const auto bias = node.input("bias");
  const bool plain = is_plain(node);
  if (node.flag("flatten") || node.rank() == 2) {
    if (node.rank() != 2) data = node.add("Flatten", {data}, {{"axis", 1}});
    written::Texts inputs{data, node.input("weight")};
    if (!bias.empty()) inputs.push_back(bias);
    activate(node, finish(node, plain, "Gemm", std::move(inputs), {{"transB", 1}}));
    return true;
  }
  const auto weight = node.add("Transpose", {node.input("weight")}, {{"perm", {1, 0}}});
  auto product = finish(node, plain && bias.empty(), "MatMul", {data, weight});
  if (!bias.empty()) product = finish(node, plain, "Add", {product, bias});
  activate(node, std::move(product));
  return true;
}

bool max_pool(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  auto attributes = window(node, kernel, kernel);
  attributes.push_back({"ceil_mode", node.flag("ceil_mode")});
  if (node.flag("column_major")) attributes.push_back({"storage_order", 1});
  written::Node made{.type = "MaxPool",
                     .inputs = {node.input("data")},
                     .outputs = {node.node().outputs[0]},
                     .attributes = attributes,
                     .name = node.node().name};
  if (node.flag("return_indices")) made.outputs.push_back(node.node().outputs[1]);
  node.add_node(std::move(made), node.opset());
  return true;
}

bool max_unpool(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  const auto axes = kernel.size();
  auto pads = spread(node.integers("pad"), axes, Numbers(axes, 0));
  const auto end = spread(node.integers("pad_end"), axes, pads);
  pads.insert(pads.end(), end.begin(), end.end());
  written::Texts inputs{node.input("data"), node.input("indices")};
  if (const auto sizes = node.input("sizes"); !sizes.empty()) {
    inputs.push_back(sizes);
  } else if (const auto& size = node.integers("size"); !size.empty()) {
    Numbers all{node.type(0).dims[0], node.type(0).dims[1]};
    if (node.rank() < 2 || all[0] < 0 || all[1] < 0) return false;
    all.insert(all.end(), size.begin(), size.end());
    inputs.push_back(node.integers_constant(all));
  }
  node.output("MaxUnpool", std::move(inputs),
              {{"kernel_shape", kernel}, {"strides", spread(node.integers("stride"), axes, kernel)}, {"pads", pads}});
  return true;
}

// Dilations are of opset 19.
bool avg_pool(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  auto attributes = window(node, kernel, kernel);
  const auto dilate = std::find_if(attributes.begin(), attributes.end(), [](const auto& one) { return one.name == "dilations"; });
  if (node.opset() < 19) {
    if (!(dilate->value == AttributeValue(Numbers(kernel.size(), 1)))) return false;
    attributes.erase(dilate);
  }
  attributes.push_back({"ceil_mode", node.flag("ceil_mode")});
  attributes.push_back({"count_include_pad", node.flag("count_include_pad")});
  node.output("AveragePool", {node.input("data")}, std::move(attributes));
  return true;
}

// Where the channels are another axis than the second, it is moved there and back.
bool batch_norm(NodeExport& node) {
  const auto rank = node.rank();
  if (rank < 0) return false;
  const auto axis = node.integer("axis") < 0 ? node.integer("axis") + rank : node.integer("axis");
  const NodeExport::Attributes attributes{{"epsilon", node.real("epsilon")}, {"momentum", node.real("momentum")}};
  written::Texts inputs{node.input("data"), node.input("gamma"), node.input("beta"), node.input("moving_mean"), node.input("moving_var")};
  const bool whole = rank >= 2 && axis >= 1;
  if (!whole) return false;
  if (axis == 1) {
    node.output("BatchNormalization", std::move(inputs), attributes);
    return true;
  }
  Numbers there, back(static_cast<std::size_t>(rank));
  for (std::int64_t a = 0; a < rank; ++a)
    if (a != axis) there.push_back(a);
  there.insert(there.begin() + 1, axis);
  for (std::size_t a = 0; a < there.size(); ++a) back[static_cast<std::size_t>(there[a])] = static_cast<std::int64_t>(a);
  inputs[0] = node.add("Transpose", {inputs[0]}, {{"perm", there}});
  node.output("Transpose", {node.add("BatchNormalization", std::move(inputs), attributes)}, {{"perm", back}});
  return true;
}

bool gelu(NodeExport& node) {
  write_gelu(node, node.input(0), Wide(node).narrow, node.dtype());
  return true;
}

bool reshape(NodeExport& node) {
  const bool copies = node.flag("copy_zeros");
  const bool given = !node.input("sizes").empty();
  const auto& shape = node.integers("shape");
  const bool zeros = given || std::find(shape.begin(), shape.end(), 0) != shape.end();
  NodeExport::Attributes attributes;
  if (zeros && !copies) {
    if (node.opset() < 14) return false;  // 0 copies a size there
    attributes.push_back({"allowzero", 1});
  }
  node.output("Reshape", {node.input(0), given ? node.input("sizes") : node.integers_constant(shape)}, std::move(attributes));
  return true;
}

// Its transposed operands are Transpose nodes.
bool matmul(NodeExport& node) {
  written::Texts inputs;
  for (const std::size_t i : {0, 1}) {
    auto operand = node.input(i);
    if (node.flag(i == 0 ? "transpose_a" : "transpose_b") && node.rank(i) != 1) {
      if (node.rank(i) < 2) return false;
      Numbers axes(static_cast<std::size_t>(node.rank(i)));
      std::iota(axes.begin(), axes.end(), 0);
      std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
      operand = node.add("Transpose", {operand}, {{"perm", axes}});
    }
    inputs.push_back(std::move(operand));
  }
  node.output("MatMul", std::move(inputs));
  return true;
}

bool product(NodeExport& node) {
  node.output("MatMul", {node.input(0), node.input(1)});
  return true;
}

const Parts with_window[] = {{"tenon.convolution", convolution},       {"tenon.fused_convolution", convolution},
                             {"tenon.conv_transpose", conv_transpose}, {"tenon.max_pool", max_pool},
                             {"tenon.max_unpool", max_unpool},         {"tenon.avg_pool", avg_pool}};
const Parts dense[] = {{"tenon.fully_connected", fully_connected},
                       {"tenon.fused_fully_connected", fully_connected},
                       {"tenon.batch_norm", batch_norm},
                       {"tenon.gelu", gelu},
                       {"tenon.reshape", reshape},
                       {"tenon.matmul", matmul},
                       {"tenon.csr_times_dense", product}};

}  // namespace
}  // namespace tenon::onnx
