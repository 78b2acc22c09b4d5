// Operators that ONNX lacks, at all or in older opsets, as formulas of its operators.
#include <algorithm>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

bool square(NodeExport& node) {
  node.output("Mul", {node.input(0), node.input(0)});
  return true;
}

bool quadratic(NodeExport& node) {
  const Wide wide(node);
  const auto x = wide.input(0);
  const auto squared = node.add("Mul", {node.add("Mul", {wide.scalar(node.real("a")), x}), x});
  const auto line = node.add("Mul", {wide.scalar(node.real("b")), x});
  wide.output("Add", {node.add("Add", {squared, line}), wide.scalar(node.real("c"))});
  return true;
}

bool cosine(NodeExport& node) {
  const Wide wide(node);
  wide.output("Mul", {wide.scalar(node.real("scale")), node.add("Cos", {wide.input(0)})});
  return true;
}

bool rsqrt(NodeExport& node) {
  const Wide wide(node);
  wide.output("Reciprocal", {node.add("Sqrt", {wide.input(0)})});
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

// The quotient of integers is float64.
bool div(NodeExport& node) {
  if (node.output_dtype() == node.dtype()) return false;
  node.output("Div", {node.cast(node.input(0), node.output_dtype()),
                      node.cast(node.input(1), node.output_dtype())});
  return true;
}

bool gelu_tanh(NodeExport& node) {
  if (node.opset() >= 20) {
    node.output("Gelu", {node.input(0)}, {{"approximate", "tanh"}});
    return true;
  }
  const Wide wide(node);
  const auto x = wide.input(0);
  const auto cubic = node.add("Mul", {node.add("Mul", {wide.scalar(0.071354816272600248), x}), x});
  const auto factor = node.add("Add", {wide.scalar(1.5957691216057308), cubic});  // 2 sqrt(2 / pi)
  wide.output("Mul", {x, node.add("Sigmoid", {node.add("Mul", {x, factor})})});
  return true;
}

bool swish(NodeExport& node) {
  if (node.opset() >= 24) return false;
  const Wide wide(node);
  const auto x = wide.input(0);
  const auto scaled =
      node.real("alpha") == 1 ? x : node.add("Mul", {wide.scalar(node.real("alpha")), x});
  wide.output("Mul", {x, node.add("Sigmoid", {scaled})});
  return true;
}

bool mish(NodeExport& node) {
  if (node.opset() >= 18) return false;
  const Wide wide(node);
  const auto x = wide.input(0);
  wide.output("Mul", {x, node.add("Tanh", {node.add("Softplus", {x})})});
  return true;
}

bool smooth_l1(NodeExport& node) {
  const Wide wide(node);
  const auto x = wide.input(0), size = node.add("Abs", {x});
  const double s2 = node.real("sigma") * node.real("sigma");
  const auto parabola = node.add("Mul", {node.add("Mul", {wide.scalar(0.5 * s2), x}), x});
  const auto line = node.add("Sub", {size, wide.scalar(0.5 / s2)});
  wide.output("Where", {node.add("Less", {size, wide.scalar(1 / s2)}), parabola, line});
  return true;
}

bool identity(NodeExport& node) {
  node.alias_output(node.input(0));
  return true;
}

// Rounding integers has no effect.
bool rounded(NodeExport& node) {
  if (allows(floating.mask, node.dtype())) return false;
  return identity(node);
}

bool in_training(NodeExport& node) {
  node.alias_output(node.scalar(0, node.output_dtype()));
  return true;
}

bool fill_like(NodeExport& node) {
  if (node.dtype() != f32 && node.dtype() != f64) return false;
  const auto number = as_scalar(node.real("value"), node.dtype());
  if (!number) return false;
  node.output("ConstantOfShape", {node.add("Shape", {node.input(0)})},
              {{"value", number->reshape({1})}});
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
    const auto size = data.dims[axis], target = other < 0 ? 1 : like.dims[other];
    if (other >= 0 && (size < 0 || target < 0)) return false;
    if (other < 0 || size != target) axes.push_back(axis);
  }
  const auto sum =
      axes.empty() ? node.input(0) : node.reduce("ReduceSum", node.input(0), axes, true);
  node.output("Reshape", {sum, node.add("Shape", {node.input(1)})});
  return true;
}

bool broadcast_to(NodeExport& node) {
  const auto sizes = node.input("sizes");
  node.output("Expand", {node.input(0),
                         sizes.empty() ? node.integers_constant(node.integers("shape")) : sizes});
  return true;
}

bool scale_by(NodeExport& node) {
  if (node.dtype() != f32) return false;
  node.output("Mul", {node.input(0), node.input(1)});
  return true;
}

// Tenon's floating-point remainder has the sign of the divisor, even if it is 0; ONNX has only the
// one with the sign of the dividend.
bool mod(NodeExport& node) {
  if (node.flag("fmod") || !allows(floating.mask, node.dtype())) return false;
  const Wide wide(node);
  const auto y = wide.input(1), zero = wide.scalar(0);
  const auto rest = node.add("Mod", {wide.input(0), y}, {{"fmod", 1}});
  const auto below = node.add("Less", {y, zero});
  const auto other_side = node.add("Xor", {node.add("Less", {rest, zero}), below});
  const auto moved = node.add("Where", {other_side, node.add("Add", {rest, y}), rest});
  const auto none = node.add("Where", {below, wide.scalar(-0.0), zero});
  wide.output("Where", {node.add("Equal", {rest, zero}), none, moved});
  return true;
}

// In Tenon both inputs broadcast; in ONNX only the slope does.
bool prelu(NodeExport& node) {
  const auto &x = node.type(0), &slope = node.type(1);
  bool one_way = slope.rank <= x.rank;
  for (int axis = 1; one_way && axis <= slope.rank; ++axis) {
    const auto size = slope.dims[slope.rank - axis], into = x.dims[x.rank - axis];
    one_way = size == 1 || size == into || size < 0 || into < 0;
  }
  if (one_way) return false;
  const Wide wide(node);
  const auto data = wide.input(0), scaled = node.add("Mul", {data, wide.input(1)});
  wide.output("Where", {node.add("Less", {data, wide.scalar(0)}), scaled, data});
  return true;
}

const Decomposition formulas[] = {{"tenon.square", square},
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
                                  {"tenon.mod", mod},
                                  {"tenon.prelu", prelu},
                                  {"tenon.scale_by", scale_by}};

}  // namespace
}  // namespace tenon::onnx
