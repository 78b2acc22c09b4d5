// com.microsoft: operators on 8-bit integers that onnxruntime's quantizer writes. They become
// dequantize, an operator in float32, and quantize. A tensor is three inputs: integers, scale and
// zero point.
#include <fmt/format.h>

#include "onnx/operators/channels_last.hpp"
#include "onnx/operators/integer_product.hpp"
#include "onnx/operators/matrix.hpp"
#include "onnx/operators/window.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

Operand call_on(NodeImport& node, const char* op, const Operand& x,
                const Attributes& attributes = {}) {
  return node.add(op, std::vector{x}, attributes);
}
Operand call_on(NodeImport& node, const char* op, const Operand& left, const Operand& right) {
  return node.add(op, std::vector{left, right});
}

/// The tensor of inputs `first` to `first` + 2 as float32; its zero point may be omitted.
Operand dequantized(NodeImport& node, std::size_t first) {
  std::vector<Operand> inputs{node.input(first), node.input(first + 1)};
  if (node.has(first + 2)) inputs.push_back(node.input(first + 2));
  for (std::size_t i = 1; i < inputs.size(); ++i) require_single(node, inputs[i]);
  return node.add("tenon.dequantize", inputs);
}

/// Sets the output: x quantized by the scale and by input `zero`. Without a zero point, it has the
/// dtype of input `like`.
void output_quantized(NodeImport& node, const Operand& x, const Operand& scale, std::size_t zero,
                      std::size_t like) {
  std::vector<Operand> inputs{x, scale};
  Attributes attributes;
  require_single(node, scale);
  if (node.has(zero)) {
    inputs.push_back(node.input(zero));
    require_single(node, inputs[2]);
  } else {
    attributes.set("dtype", std::string(name_of(node.dtype(node.input(like)))));
  }
  node.output(node.add("tenon.quantize", inputs, attributes));
}

/// Takes the scale from an input, which the zero point follows.
void output_quantized(NodeImport& node, const Operand& x, std::size_t scale, std::size_t like) {
  output_quantized(node, x, node.input(scale), scale + 1, like);
}

void qlinear_add(NodeImport& node) {
  output_quantized(node, call_on(node, "tenon.add", dequantized(node, 0), dequantized(node, 3)), 6,
                   0);
}
void qlinear_mul(NodeImport& node) {
  output_quantized(node, call_on(node, "tenon.mul", dequantized(node, 0), dequantized(node, 3)), 6,
                   0);
}
void qlinear_sigmoid(NodeImport& node) {
  output_quantized(node, call_on(node, "tenon.sigmoid", dequantized(node, 0)), 3, 0);
}
void qlinear_leaky_relu(NodeImport& node) {
  const Attributes slope{{"slope", node.real("alpha", 0.01)}};
  output_quantized(node, call_on(node, "tenon.leaky_relu", dequantized(node, 0), slope), 3, 0);
}

void qlinear_concat(NodeImport& node) {
  node.require(node.inputs() >= 5 && (node.inputs() - 2) % 3 == 0,
               "its inputs must be a scale, a zero point, and three for each concatenated tensor");
  std::vector<Operand> chunks;
  for (std::size_t i = 2; i < node.inputs(); i += 3) chunks.push_back(dequantized(node, i));
  output_quantized(node, node.add("tenon.concat", chunks, {{"axis", node.integer("axis", 0)}}), 0,
                   2);
}

void qlinear_where(NodeImport& node) {
  const auto x = dequantized(node, 1), y = dequantized(node, 4);
  output_quantized(node, node.add("tenon.where", std::vector{node.input(0), x, y}), 7, 1);
}

// Before opset 13, all axes from `axis` on are one. onnxruntime drops the fraction of the inverse
// of the output's scale.
void qlinear_softmax(NodeImport& node) {
  const auto opset = node.integer("opset", 0);
  node.require(opset > 0, "its opset is missing");
  const auto axis = node.integer("axis", -1);
  const auto x = dequantized(node, 0);
  const auto shares = [&](const Operand& of, std::int64_t along) {
    return call_on(node, "tenon.softmax", of, {{"axis", along}});
  };
  const auto made = opset >= 13
                        ? shares(x, axis)
                        : reshaped(node, shares(as_matrix(node, x, axis), -1), node.shape_of(x));
  const auto one = node.scalar(1, node.input(3));
  const auto steps = call_on(node, "tenon.floor", call_on(node, "tenon.div", one, node.input(3)));
  output_quantized(node, made, call_on(node, "tenon.div", one, steps), 4, 0);
}

void qlinear_reduce_mean(NodeImport& node) {
  const bool keepdims = node.integer("keepdims", 1) != 0;
  Attributes attributes{{"keepdims", keepdims}};
  if (const auto axes = node.integers("axes"); axes && !axes->empty())
    attributes.set("axis", *axes);
  output_quantized(node, call_on(node, "tenon.mean", dequantized(node, 0), attributes), 3, 0);
}

/// Applies the operator to the first input with its channels in front, and moves them back.
template <class Pool>
Operand with_channels(NodeImport& node, const Operand& x, bool last, const Pool& pool) {
  return last ? channels_to_back(node, pool(channels_to_front(node, x))) : pool(x);
}

void qlinear_average_pool(NodeImport& node) {
  const auto kernel = node.integers("kernel_shape");
  node.require(kernel.has_value(), "its kernel_shape is missing");
  auto attributes = window_of(node, *kernel);
  attributes.set("ceil_mode", node.integer("ceil_mode", 0) != 0);
  attributes.set("count_include_pad", node.integer("count_include_pad", 0) != 0);
  const auto made = with_channels(
      node, dequantized(node, 0), node.integer("channels_last", 0) != 0,
      [&](const Operand& x) { return call_on(node, "tenon.avg_pool", x, attributes); });
  output_quantized(node, made, 3, 0);
}

void qlinear_global_average_pool(NodeImport& node) {
  const auto made =
      with_channels(node, dequantized(node, 0), node.integer("channels_last", 0) != 0,
                    [&](const Operand& x) { return call_on(node, "tenon.global_avg_pool", x); });
  output_quantized(node, made, 3, 0);
}

void nhwc_max_pool(NodeImport& node) {
  const auto kernel = node.integers("kernel_shape");
  node.require(kernel.has_value(), "its kernel_shape is missing");
  auto attributes = window_of(node, *kernel);
  attributes.set("ceil_mode", node.integer("ceil_mode", 0) != 0);
  node.output(with_channels(node, node.input(0), true, [&](const Operand& x) {
    return call_on(node, "tenon.max_pool", x, attributes);
  }));
}

// ---- products

/// Input i, a matrix, transposed if the attribute says so.
Operand matrix_input(NodeImport& node, std::size_t i, const char* transposes) {
  const auto x = node.input(i);
  return node.integer(transposes, 0) == 0
             ? x
             : call_on(node, "tenon.transpose", x, {{"axes", Numbers{1, 0}}});
}

// The int32 input C, in steps of both scales, is added before the product is scaled. Without a
// scale of the output, that is float32.
void qgemm(NodeImport& node) {
  require_single(node, node.input(1));
  auto sums = integer_product(node, matrix_input(node, 0, "transA"),
                              matrix_input(node, 3, "transB"), node.input(2), node.input(5));
  if (node.has(6)) sums = call_on(node, "tenon.add", sums, node.cast(node.input(6), f64));
  const auto alpha = node.scalar(node.real("alpha", 1), node.input(1));
  auto factor =
      call_on(node, "tenon.mul", call_on(node, "tenon.mul", alpha, node.input(1)), node.input(4));
  if (node.has(7)) {
    require_single(node, node.input(7));
    factor = call_on(node, "tenon.div", factor, node.input(7));
  }
  const auto made = call_on(node, "tenon.mul", node.cast(sums, f32), factor);
  if (!node.has(7)) return node.output(made);
  node.require(node.has(8), "its y_scale has no y_zero_point");
  const auto zero = node.cast(node.input(8), f32);
  const auto rounded = call_on(node, "tenon.round", made);
  node.output(node.cast(call_on(node, "tenon.add", rounded, zero), node.dtype(node.input(8))));
}

void matmul_to_float(NodeImport& node) {
  const auto product = integer_product(node, node.input(0), node.input(1), node.optional_input(4),
                                       node.optional_input(5));
  node.output(rescaled(node, product, node.input(2), node.input(3), node.optional_input(6)));
}

void dynamic_matmul(NodeImport& node) {
  const auto a = quantize_dynamically(node, node.input(0));
  const auto product =
      integer_product(node, a.elements, node.input(1), a.zero, node.optional_input(3));
  node.output(rescaled(node, product, a.scale, node.input(2), node.optional_input(4)));
}

// ---- ONNX's operators in this domain, which have 16 bits in all opsets

void quantize_linear(NodeImport& node) {
  node.import_as("QuantizeLinear", {node.input(0), node.input(1), node.optional_input(2)});
}
void dequantize_linear(NodeImport& node) {
  node.import_as("DequantizeLinear", {node.input(0), node.input(1), node.optional_input(2)});
}

constexpr const char* microsoft_domain = "com.microsoft";
const Composition microsoft_quantized_read[] = {
    {"QLinearAdd", qlinear_add, 1, microsoft_domain},
    {"QLinearMul", qlinear_mul, 1, microsoft_domain},
    {"QLinearSigmoid", qlinear_sigmoid, 1, microsoft_domain},
    {"QLinearLeakyRelu", qlinear_leaky_relu, 1, microsoft_domain},
    {"QLinearConcat", qlinear_concat, 1, microsoft_domain},
    {"QLinearWhere", qlinear_where, 1, microsoft_domain},
    {"QLinearSoftmax", qlinear_softmax, 1, microsoft_domain},
    {"QLinearReduceMean", qlinear_reduce_mean, 1, microsoft_domain},
    {"QLinearAveragePool", qlinear_average_pool, 1, microsoft_domain},
    {"QLinearGlobalAveragePool", qlinear_global_average_pool, 1, microsoft_domain},
    {"NhwcMaxPool", nhwc_max_pool, 1, microsoft_domain},
    {"QGemm", qgemm, 1, microsoft_domain},
    {"MatMulIntegerToFloat", matmul_to_float, 1, microsoft_domain},
    {"DynamicQuantizeMatMul", dynamic_matmul, 1, microsoft_domain},
    {"QuantizeLinear", quantize_linear, 1, microsoft_domain},
    {"DequantizeLinear", dequantize_linear, 1, microsoft_domain}};

}  // namespace
}  // namespace tenon::onnx
