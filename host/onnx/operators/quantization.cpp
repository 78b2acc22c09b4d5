// Products of integers and quantized values. float64 has room for their sums: they are exact, and wrap around in int32 as integers do.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

// A scale or zero point: one, or one for each row.
Operand one_or_by_row(NodeImport& node, std::size_t input, DType dtype) {
  const auto wide = node.cast(node.input(input), dtype);
  const bool several = node.rank(wide) == 1 && node.shape(wide)[0] != 1;
  return several ? node.add("tenon.expand_dims", std::vector{wide}, {{"axes", {1}}}) : wide;
}

// The product of two matrices less their zero points.
Operand centered_product(NodeImport& node, std::size_t left, std::size_t left_zero, std::size_t right, std::size_t right_zero) {
  auto a = node.cast(node.input(left), f64), b = node.cast(node.input(right), f64);
  if (node.has(left_zero)) a = node.add("tenon.sub", std::vector{a, one_or_by_row(node, left_zero, f64)});
  if (node.has(right_zero)) b = node.add("tenon.sub", std::vector{b, node.cast(node.input(right_zero), f64)});
  return node.add("tenon.matmul", std::vector{a, b});
}

void matmul_integer(NodeImport& node) {
  node.output(node.cast(node.cast(centered_product(node, 0, 2, 1, 3), i64), i32));
}

// Rounding to the dtype of the last input saturates.
void qlinear_matmul(NodeImport& node) {
  const auto factor = node.add("tenon.mul", std::vector{one_or_by_row(node, 1, f32), node.cast(node.input(4), f32)});
  const auto step = node.add("tenon.div", std::vector{factor, one_or_by_row(node, 6, f32)});
  const auto scaled = node.add("tenon.mul", std::vector{centered_product(node, 0, 2, 3, 5), node.cast(step, f64)});
  const auto rounded = node.add("tenon.round", std::vector{scaled});
  node.output(node.cast(node.add("tenon.add", std::vector{rounded, one_or_by_row(node, 7, f64)}), node.dtype(node.input(7))));
}

// A scale and a zero point for the range of x with 0 in it, then x quantized by them.
void dynamic_quantize_linear(NodeImport& node) {
  const auto x = node.input(0);
  const auto zero = node.scalar(0, x);
  const auto high = node.add("tenon.maximum", std::vector{node.add("tenon.max", std::vector{x}), zero});
  const auto low = node.add("tenon.minimum", std::vector{node.add("tenon.min", std::vector{x}), zero});
  const auto range = node.add("tenon.sub", std::vector{high, low});
  const auto empty = node.add("tenon.equal", std::vector{range, zero});
  const auto width = node.add("tenon.where", std::vector{empty, node.scalar(1, x), range});
  const auto scale = node.add("tenon.div", std::vector{width, node.scalar(255, x)});
  const auto below = node.add("tenon.neg", std::vector{node.add("tenon.div", std::vector{low, scale})});
  const auto point = node.cast(node.add("tenon.round", std::vector{below}), u8);
  node.output(0, node.add("tenon.quantize", std::vector{x, scale, point}));
  if (node.wants(1)) node.output(1, scale);
  if (node.wants(2)) node.output(2, point);
}

const Composition quantized_read[] = {
    {"MatMulInteger", matmul_integer}, {"QLinearMatMul", qlinear_matmul}, {"DynamicQuantizeLinear", dynamic_quantize_linear}};

}  // namespace
}  // namespace tenon::onnx
