// Layers whose parameters follow from weight shapes in ONNX, and windows, whose attribute lists
// ONNX needs in full.
#include <algorithm>
#include <numeric>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

// Expands a list with a single number to one number per axis.
Numbers per_axis(const Numbers& list, std::size_t axes, const Numbers& otherwise) {
  if (list.empty()) return otherwise;
  return list.size() == 1 ? Numbers(axes, list[0]) : list;
}

/// Window parameters with one number per axis.
struct Window {
  Window(NodeExport& node, const Numbers& size, const Numbers& step)
      : kernel(size),
        stride(per_axis(node.integers("stride"), size.size(), step)),
        dilate(node.has_parameter("dilate")
                   ? per_axis(node.integers("dilate"), size.size(), Numbers(size.size(), 1))
                   : Numbers()),
        pad(per_axis(node.integers("pad"), size.size(), Numbers(size.size(), 0))),
        pad_end(per_axis(node.integers("pad_end"), size.size(), pad)),
        pad_mode(node.has_parameter("pad_mode") ? node.text("pad_mode") : "given") {}

  std::size_t axes() const { return kernel.size(); }
  std::int64_t reach(std::size_t axis) const { return (kernel[axis] - 1) * dilate[axis] + 1; }
  /// Distributes a total padding over both ends.
  void set_total(std::size_t axis, std::int64_t total) {
    const auto less = total / 2;
    pad[axis] = pad_mode == "same_upper" ? less : total - less;
    pad_end[axis] = total - pad[axis];
  }
  NodeExport::Attributes attributes() const {
    NodeExport::Attributes all{{"kernel_shape", kernel}, {"strides", stride}};
    if (!dilate.empty()) all.push_back({"dilations", dilate});
    auto both = pad;
    both.insert(both.end(), pad_end.begin(), pad_end.end());
    if (pad_mode == "given")
      all.push_back({"pads", both});
    else
      all.push_back({"auto_pad", pad_mode == "same_upper" ? "SAME_UPPER" : "SAME_LOWER"});
    return all;
  }

  Numbers kernel, stride, dilate, pad, pad_end;
  std::string pad_mode;
};

// Adds the last node of a layer as its output, or an intermediate one.
std::string finish(NodeExport& node, bool last, const char* type, written::Texts inputs,
                   NodeExport::Attributes attributes = {}) {
  if (!last) return node.add(type, std::move(inputs), std::move(attributes));
  node.output(type, std::move(inputs), std::move(attributes));
  return {};
}

// Whether a fused operator has no activation and no addend.
bool is_plain(const NodeExport& node) {
  return !node.has_parameter("activation") ||
         (node.text("activation") == "none" && node.input("addend").empty());
}

void write_gelu(NodeExport& node, std::string x, bool narrow, DType dtype) {
  if (node.opset() >= 20) return node.output("Gelu", {x});
  const auto wide = narrow ? f32 : dtype;
  if (narrow) x = node.cast(x, f32);
  const auto erf =
      node.add("Erf", {node.add("Mul", {x, node.scalar(0.70710678118654752440, wide)})});
  const auto half = node.add("Mul", {x, node.scalar(0.5, wide)});
  const auto factor = node.add("Add", {erf, node.scalar(1, wide)});
  if (!narrow) return node.output("Mul", {half, factor});
  node.output("Cast", {node.add("Mul", {half, factor})},
              {{"to", std::int64_t{written::number_of(dtype)}}});
}

void write_hard_swish(NodeExport& node, const std::string& x) {
  if (node.opset() >= 14) return node.output("HardSwish", {x});
  const auto factor = node.add("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  node.output("Mul", {x, factor});
}

void activate(NodeExport& node, std::string sum) {
  if (is_plain(node)) return;
  const auto& activation = node.text("activation");
  if (!node.input("addend").empty())
    sum = finish(node, activation == "none", "Add", {sum, node.input("addend")});
  if (activation == "relu") node.output("Relu", {sum});
  if (activation == "sigmoid") node.output("Sigmoid", {sum});
  if (activation == "tanh") node.output("Tanh", {sum});
  if (activation == "leaky_relu") node.output("LeakyRelu", {sum}, {{"alpha", node.real("slope")}});
  if (activation == "gelu") write_gelu(node, sum, false, node.dtype());
  if (activation == "swish") node.output("Mul", {sum, node.add("Sigmoid", {sum})});
  if (activation == "hard_swish") write_hard_swish(node, sum);
  if (activation == "clip")
    node.output("Clip", {sum, node.scalar(node.real("low"), node.dtype()),
                         node.scalar(node.real("high"), node.dtype())});
}

// Replaces auto_pad by equivalent pads, because runtimes compute it differently with dilations,
// with kernels smaller than strides, and for same_lower. With a stride of 1 the pads do not depend
// on sizes.
void set_same_pads(NodeExport& node, Window& window) {
  if (window.pad_mode == "given") return;
  const auto& data = node.type(0);
  bool has_unknown = false, unclear = window.pad_mode == "same_lower";
  Numbers totals;
  for (std::size_t a = 0; a < window.axes(); ++a) {
    const auto axis = static_cast<int>(a) + 2;
    const auto stride = window.stride[a], size = stride == 1        ? 1
                                                 : axis < data.rank ? data.dims[axis]
                                                                    : unknown;
    has_unknown = has_unknown || size == unknown;
    unclear = unclear || window.dilate[a] != 1 || window.reach(a) < stride;
    totals.push_back(
        std::max<std::int64_t>((size - 1) / stride * stride + window.reach(a) - size, 0));
  }
  if (has_unknown && unclear)
    node.note(
        "has an auto_pad that some programs reject or compute differently, because the sizes of "
        "its data are unknown");
  if (has_unknown) return;
  for (std::size_t a = 0; a < window.axes(); ++a) window.set_total(a, totals[a]);
  window.pad_mode = "given";
}

bool convolution(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  Window window(node, kernel, Numbers(kernel.size(), 1));
  set_same_pads(node, window);
  auto attributes = window.attributes();
  attributes.push_back({"group", node.integer("groups")});
  written::Texts inputs{node.input("data"), node.input("weight")};
  if (!node.input("bias").empty()) inputs.push_back(node.input("bias"));
  activate(node, finish(node, is_plain(node), "Conv", std::move(inputs), std::move(attributes)));
  return true;
}

// Runtimes compute auto_pad differently, so it is replaced by pads, or an output_padding, that make
// the output stride times as large as the data.
bool conv_transpose(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  const auto axes = kernel.size();
  auto output_padding = per_axis(node.integers("output_padding"), axes, Numbers(axes, 0));
  Window window(node, kernel, Numbers(axes, 1));
  for (std::size_t a = 0; a < axes && window.pad_mode != "given"; ++a) {
    const auto total = window.reach(a) + output_padding[a] - window.stride[a];
    window.set_total(a, std::max<std::int64_t>(total, 0));
    output_padding[a] += std::max<std::int64_t>(-total, 0);
  }
  window.pad_mode = "given";
  auto attributes = window.attributes();
  attributes.push_back({"group", node.integer("groups")});
  attributes.push_back({"output_padding", output_padding});
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

// Replaces ceil_mode by equivalent pads, because before opset 22 it allows windows that lie
// entirely in the padding. The pads depend on sizes; if these are unknown, nothing changes. Returns
// the remaining ceil_mode.
bool plain_pads(NodeExport& node, Window& window, bool ceil_mode) {
  if (window.pad_mode != "given") return set_same_pads(node, window), false;
  const auto &data = node.type(0), &output = node.node().output_types[0];
  if (data.rank != static_cast<int>(window.axes()) + 2 || output.rank != data.rank)
    return ceil_mode;
  if (!ceil_mode || node.opset() >= 22) return ceil_mode;
  Numbers needed;  // elements by which the windows of an axis extend past the data
  for (int axis = 2; axis < data.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis - 2);
    if (data.dims[axis] < 0 || output.dims[axis] < 1) return ceil_mode;
    needed.push_back((output.dims[axis] - 1) * window.stride[a] + window.reach(a) -
                     data.dims[axis]);
  }
  // the last window extends past the padding, or ends within the data
  bool beyond = false, within = false;
  for (std::size_t a = 0; a < needed.size(); ++a) {
    beyond = beyond || needed[a] - window.pad[a] > window.pad_end[a];
    within = within || needed[a] < window.pad[a];
  }
  if (beyond && within) return ceil_mode;
  for (std::size_t a = 0; a < needed.size(); ++a)
    if (needed[a] - window.pad[a] < window.pad_end[a])
      window.pad_end[a] = std::max<std::int64_t>(needed[a] - window.pad[a], 0);
  return beyond;
}

bool max_pool(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  Window window(node, kernel, kernel);
  const bool ceil_mode = plain_pads(node, window, node.flag("ceil_mode"));
  auto attributes = window.attributes();
  attributes.push_back({"ceil_mode", ceil_mode});
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
  written::Texts inputs{node.input("data"), node.input("indices")};
  if (const auto sizes = node.input("sizes"); !sizes.empty()) {
    inputs.push_back(sizes);
  } else if (const auto& size = node.integers("size"); !size.empty()) {
    Numbers all{node.type(0).dims[0], node.type(0).dims[1]};
    if (node.rank() < 2 || all[0] < 0 || all[1] < 0) return false;
    all.insert(all.end(), size.begin(), size.end());
    inputs.push_back(node.integers_constant(all));
  }
  node.output("MaxUnpool", std::move(inputs), Window(node, kernel, kernel).attributes());
  return true;
}

bool deform_conv(NodeExport& node) {
  if (node.opset() < 19 || node.type(1).rank != 4 || node.type(1).dims[2] < 0 ||
      node.type(1).dims[3] < 0)
    return false;
  auto attributes = Window(node, {node.type(1).dims[2], node.type(1).dims[3]}, {1, 1}).attributes();
  attributes.push_back({"group", node.integer("groups")});
  attributes.push_back({"offset_group", node.integer("offset_groups")});
  written::Texts inputs = node.node().inputs;
  while (inputs.back().empty()) inputs.pop_back();
  node.output("DeformConv", std::move(inputs), std::move(attributes));
  return true;
}

// Dilations need opset 19.
bool avg_pool(NodeExport& node) {
  const auto& kernel = node.integers("kernel");
  Window window(node, kernel, kernel);
  const bool ceil_mode = plain_pads(node, window, node.flag("ceil_mode"));
  if (node.opset() < 19) {
    if (window.dilate != Numbers(kernel.size(), 1)) return false;
    window.dilate.clear();
  }
  auto attributes = window.attributes();
  attributes.push_back({"ceil_mode", ceil_mode});
  attributes.push_back({"count_include_pad", node.flag("count_include_pad")});
  node.output("AveragePool", {node.input("data")}, std::move(attributes));
  return true;
}

// If the channels are not the second axis, it is transposed there and back. Before opset 14 all
// inputs have the same dtype, so half-precision data is widened to the float32 of the moments.
bool batch_norm(NodeExport& node) {
  const auto rank = node.rank();
  if (rank < 0) return false;
  const auto axis = node.integer("axis") < 0 ? node.integer("axis") + rank : node.integer("axis");
  if (rank < 2 || axis < 1) return false;
  const NodeExport::Attributes attributes{{"epsilon", node.real("epsilon")},
                                          {"momentum", node.real("momentum")}};
  const bool widened = node.opset() < 14 && Wide(node).narrow;
  const auto input = [&](std::size_t i) {
    return widened && node.dtype(i) != f32 ? node.cast(node.input(i), f32) : node.input(i);
  };
  written::Texts inputs{input(0), input(1), input(2), input(3), input(4)};
  Numbers there{0, axis}, back(static_cast<std::size_t>(rank));
  for (std::int64_t a = 1; a < rank; ++a)
    if (a != axis) there.push_back(a);
  for (std::size_t a = 0; a < there.size(); ++a)
    back[static_cast<std::size_t>(there[a])] = static_cast<std::int64_t>(a);
  if (axis != 1) inputs[0] = node.add("Transpose", {inputs[0]}, {{"perm", there}});
  const bool last = axis == 1 && !widened;
  auto result = finish(node, last, "BatchNormalization", std::move(inputs), attributes);
  if (axis != 1) result = finish(node, !widened, "Transpose", {result}, {{"perm", back}});
  if (widened)
    node.output("Cast", {result}, {{"to", std::int64_t{written::number_of(node.dtype())}}});
  return true;
}

bool gelu(NodeExport& node) {
  write_gelu(node, node.input(0), Wide(node).narrow, node.dtype());
  return true;
}

bool reshape(NodeExport& node) {
  const bool copies = node.flag("copy_zeros");
  const bool has_sizes = !node.input("sizes").empty();
  const auto& shape = node.integers("shape");
  const bool zeros = has_sizes || std::find(shape.begin(), shape.end(), 0) != shape.end();
  NodeExport::Attributes attributes;
  if (zeros && !copies) {
    if (node.opset() < 14) return false;  // a size of 0 copies the input's there
    attributes.push_back({"allowzero", 1});
  }
  node.output("Reshape",
              {node.input(0), has_sizes ? node.input("sizes") : node.integers_constant(shape)},
              std::move(attributes));
  return true;
}

// Transposed operands become Transpose nodes.
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

const Decomposition with_window[] = {
    {"tenon.convolution", convolution},       {"tenon.fused_convolution", convolution},
    {"tenon.conv_transpose", conv_transpose}, {"tenon.max_pool", max_pool},
    {"tenon.max_unpool", max_unpool},         {"tenon.avg_pool", avg_pool},
    {"tenon.deform_conv", deform_conv}};
const Decomposition dense[] = {{"tenon.fully_connected", fully_connected},
                               {"tenon.fused_fully_connected", fully_connected},
                               {"tenon.batch_norm", batch_norm},
                               {"tenon.gelu", gelu},
                               {"tenon.reshape", reshape},
                               {"tenon.matmul", matmul},
                               {"tenon.csr_times_dense", product}};

}  // namespace
}  // namespace tenon::onnx
