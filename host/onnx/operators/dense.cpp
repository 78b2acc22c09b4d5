// Products, and normalizations of few parts.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

Operand transposed(NodeImport& node, const Operand& matrix, bool transpose) {
  return transpose ? node.add("tenon.transpose", std::vector{matrix}, {{"axes", {1, 0}}}) : matrix;
}

Operand scaled(NodeImport& node, const Operand& value, double factor) {
  return factor == 1 ? value : node.add("tenon.mul", std::vector{value, node.scalar(factor, value)});
}

// alpha * A' * B' + beta * C. A fully connected layer where it is one: its weight is [units, features].
void gemm(NodeImport& node) {
  const auto a = node.input(0), b = node.input(1);
  const auto alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const bool trans_a = node.integer("transA", 0) != 0, trans_b = node.integer("transB", 0) != 0;
  const auto c = node.optional_input(2);
  const auto units = node.shape(b).has_rank() ? node.shape(b)[trans_b ? 0 : 1] : unknown;
  const bool is_bias = c.empty() || (node.shape(c).rank() == 1 && node.shape(c)[0] == units);
  const auto type = node.dtype(a);
  if (trans_b && !trans_a && alpha == 1 && (c.empty() || beta == 1) && is_bias && units != unknown && allows(floating.mask, type)) {
    Importer::Named inputs{{"data", a}, {"weight", b}};
    if (!c.empty()) inputs.emplace_back("bias", c);
    return node.output(node.add("tenon.fully_connected", inputs, {{"num_hidden", units}, {"no_bias", c.empty()}, {"flatten", false}}));
  }
  auto product = node.add("tenon.matmul", std::vector{transposed(node, a, trans_a), transposed(node, b, trans_b)});
  product = scaled(node, product, alpha);
  if (!c.empty()) product = node.add("tenon.add", std::vector{product, scaled(node, c, beta)});
  node.output(product);
}

void flatten(NodeImport& node) {
  const auto data = node.input(0);
  const int rank = node.rank(data), axis = static_cast<int>(node.integer("axis", 1));
  const int at = axis < 0 ? axis + rank : axis;
  node.require(at >= 0 && at <= rank, "its axis is out of range");
  const auto shape = node.shape(data);
  std::int64_t rows = 1, columns = 1;
  for (int i = 0; i < rank; ++i) {
    auto& part = i < at ? rows : columns;
    part = part == unknown || shape[i] == unknown ? unknown : part * shape[i];
  }
  if (rows == unknown && columns == unknown) {
    const auto sizes = node.shape_of(data);
    const auto front =
        node.add("tenon.prod", std::vector{node.add("tenon.slice", std::vector{sizes}, {{"axes", {0}}, {"begin", {0}}, {"end", {at}}})},
                 {{"keepdims", true}});
    const auto back = node.constant(std::vector<std::int64_t>{-1});
    return node.output(node.add(
        "tenon.reshape", Importer::Named{{"x", data}, {"sizes", node.add("tenon.concat", std::vector{front, back}, {{"axis", 0}})}}));
  }
  node.output(node.add("tenon.reshape", std::vector{data}, {{"shape", {rows, columns}}}));
}

const Composition products_read[] = {{"Gemm", gemm}, {"Flatten", flatten}};

}  // namespace
}  // namespace tenon::onnx
