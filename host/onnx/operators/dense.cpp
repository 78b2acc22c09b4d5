// Matrix products and Flatten.
#include "onnx/operators/matrix.hpp"

namespace tenon::onnx {
namespace {

Operand transposed(NodeImport& node, const Operand& matrix, bool transpose) {
  return transpose ? node.add("tenon.transpose", std::vector{matrix}, {{"axes", {1, 0}}}) : matrix;
}

Operand scaled(NodeImport& node, const Operand& value, double factor) {
  return factor == 1 ? value
                     : node.add("tenon.mul", std::vector{value, node.scalar(factor, value)});
}

// alpha * A' * B' + beta * C, as a fully connected layer if possible (whose weight is [units,
// features]). Half-precision inputs are computed in float32 and rounded once.
void gemm(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto a = node.widened(node.input(0)), b = node.widened(node.input(1)),
             c = node.widened(node.optional_input(2));
  const auto alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const bool trans_a = node.integer("transA", 0) != 0, trans_b = node.integer("transB", 0) != 0;
  const auto units = node.shape(b).rank() == 2 ? node.shape(b)[trans_b ? 0 : 1] : unknown;
  const bool is_bias = c.empty() || (node.shape(c).rank() == 1 && node.shape(c)[0] == units);
  if (trans_b && !trans_a && alpha == 1 && (c.empty() || beta == 1) && is_bias &&
      units != unknown && allows(floating.mask, type)) {
    Importer::Named inputs{{"data", a}, {"weight", b}};
    if (!c.empty()) inputs.emplace_back("bias", c);
    const Attributes attributes{{"num_hidden", units}, {"no_bias", c.empty()}, {"flatten", false}};
    return node.output(node.cast(node.add("tenon.fully_connected", inputs, attributes), type));
  }
  auto product = matrix_product(node, transposed(node, a, trans_a), transposed(node, b, trans_b));
  product = scaled(node, product, alpha);
  if (!c.empty()) product = node.add("tenon.add", std::vector{product, scaled(node, c, beta)});
  node.output(node.cast(product, type));
}

void matmul(NodeImport& node) {
  node.output(
      node.cast(matrix_product(node, node.input(0), node.input(1)), node.dtype(node.input(0))));
}

void flatten(NodeImport& node) {
  node.output(as_matrix(node, node.input(0), node.integer("axis", 1)));
}

const Composition products_read[] = {{"Gemm", gemm}, {"MatMul", matmul}, {"Flatten", flatten}};

}  // namespace
}  // namespace tenon::onnx
