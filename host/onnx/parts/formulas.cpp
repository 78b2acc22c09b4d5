// Operators that ONNX has not, or not yet in every opset, as formulas of its operators.
#include <algorithm>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

bool square(NodeExport& node) {
  node.output("Mul", {node.input(0), node.input(0)});
  return true;
}

bool quadratic(NodeExport& node) {
  const auto x = node.input(0);
  const auto term = [&](const char* name) { return node.scalar(node.real(name), node.dtype()); };
  const auto squared = node.add("Mul", {node.add("Mul", {term("a"), x}), x});
  node.output("Add", {node.add("Add", {squared, node.add("Mul", {term("b"), x})}), term("c")});
  return true;
}

bool cosine(NodeExport& node) {
  node.output("Mul", {node.scalar(node.real("scale"), node.dtype()), node.add("Cos", {node.input(0)})});
  return true;
}

bool rsqrt(NodeExport& node) {
  node.output("Reciprocal", {node.add("Sqrt", {node.input(0)})});
  return true;
}

bool not_equal(NodeExport& node) {
  node.output("Not", {node.add("Equal", {node.input(0), node.input(1)})});
  return true;
}

bool test_add(NodeExport& node) {
  node.output("Add", {node.input(0), node.input(1)});
  return true;
}

// Of integers the quotient is a float64.
bool div(NodeExport& node) {
  if (node.output_dtype() == node.dtype()) return false;
  node.output("Div", {node.cast(node.input(0), node.output_dtype()), node.cast(node.input(1), node.output_dtype())});
  return true;
}

bool gelu_tanh(NodeExport& node) {
  const auto x = node.input(0);
  if (node.opset() >= 20) {
    node.output("Gelu", {x}, {{"approximate", "tanh"}});
    return true;
  }
  const auto cubic = node.add("Mul", {node.add("Mul", {node.scalar(0.071354816272600248, node.dtype()), x}), x});
  const auto factor = node.add("Add", {node.scalar(1.5957691216057308, node.dtype()), cubic});  // 2 sqrt(2 / pi)
  node.output("Mul", {x, node.add("Sigmoid", {node.add("Mul", {x, factor})})});
  return true;
}

bool swish(NodeExport& node) {
  if (node.opset() >= 24) return false;
  const auto x = node.input(0);
  const auto scaled = node.real("alpha") == 1 ? x : node.add("Mul", {node.scalar(node.real("alpha"), node.dtype()), x});
  node.output("Mul", {x, node.add("Sigmoid", {scaled})});
  return true;
}

bool mish(NodeExport& node) {
  if (node.opset() >= 18) return false;
  node.output("Mul", {node.input(0), node.add("Tanh", {node.add("Softplus", {node.input(0)})})});
  return true;
}

bool smooth_l1(NodeExport& node) {
  const auto x = node.input(0), size = node.add("Abs", {x});
  const double s2 = node.real("sigma") * node.real("sigma");
  const auto number = [&](double value) { return node.scalar(value, node.dtype()); };
  const auto parabola = node.add("Mul", {node.add("Mul", {number(0.5 * s2), x}), x});
  const auto line = node.add("Sub", {size, number(0.5 / s2)});
  node.output("Where", {node.add("Less", {size, number(1 / s2)}), parabola, line});
  return true;
}

bool identity(NodeExport& node) {
  node.is_output(node.input(0));
  return true;
}

// Integers are whole.
bool rounded(NodeExport& node) {
  if (allows(floating.mask, node.dtype())) return false;
  return identity(node);
}

bool in_training(NodeExport& node) {
  node.is_output(node.scalar(0, node.output_dtype()));
  return true;
}

bool fill_like(NodeExport& node) {
  auto value = Tensor::empty(node.dtype(), {1});
  const auto number = node.real("value");
  if (node.dtype() == f32)
    *value.data<float>() = static_cast<float>(number);
  else if (node.dtype() == f64)
    *value.data<double>() = number;
  else
    return false;
  node.output("ConstantOfShape", {node.add("Shape", {node.input(0)})}, {{"value", value}});
  return true;
}

bool broadcast_like(NodeExport& node) {
  node.output("Expand", {node.input(0), node.add("Shape", {node.input(1)})});
  return true;
}

bool sum_of_gradients(NodeExport& node) {
  node.output("Add", {node.input(0), node.input(1)});
  return true;
}

bool product_of_gradients(NodeExport& node) {
  node.output("Mul", {node.input(0), node.input(1)});
  return true;
}

bool sum_like(NodeExport& node) {
  const auto &data = node.type(0), &like = node.type(1);
  if (data.rank < like.rank || like.rank < 0) return false;
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < data.rank; ++axis) {
    const auto other = axis - (data.rank - like.rank);
    const auto size = data.dims[axis], wanted = other < 0 ? 1 : like.dims[other];
    if (other >= 0 && (size < 0 || wanted < 0)) return false;
    if (other < 0 || size != wanted) axes.push_back(axis);
  }
  const auto sum = axes.empty() ? node.input(0) : node.reduce("ReduceSum", node.input(0), axes, true);
  node.output("Reshape", {sum, node.add("Shape", {node.input(1)})});
  return true;
}

bool broadcast_to(NodeExport& node) {
  const auto sizes = node.input("sizes");
  node.output("Expand", {node.input(0), sizes.empty() ? node.integers_constant(node.integers("shape")) : sizes});
  return true;
}

bool scale_by(NodeExport& node) {
  if (node.dtype() != f32) return false;
  node.output("Mul", {node.input(0), node.input(1)});
  return true;
}

const Parts formulas[] = {{"tenon.square", square},
                          {"tenon.quadratic", quadratic},
                          {"tenon.cosine", cosine},
                          {"tenon.rsqrt", rsqrt},
                          {"tenon.not_equal", not_equal},
                          {"tenon.test_add", test_add},
                          {"tenon.div", div},
                          {"tenon.gelu_tanh", gelu_tanh},
                          {"tenon.swish", swish},
                          {"tenon.mish", mish},
                          {"tenon.smooth_l1", smooth_l1},
                          {"tenon.stop_gradient", identity},
                          {"tenon.floor", rounded},
                          {"tenon.ceil", rounded},
                          {"tenon.round", rounded},
                          {"tenon.in_training", in_training},
                          {"tenon.fill_like", fill_like},
                          {"tenon.broadcast_like", broadcast_like},
                          {"tenon.sum_gradients", sum_of_gradients},
                          {"tenon.mul_gradients", product_of_gradients},
                          {"tenon.sum_like", sum_like},
                          {"tenon.broadcast_to", broadcast_to},
                          {"tenon.scale_by", scale_by}};

}  // namespace
}  // namespace tenon::onnx
