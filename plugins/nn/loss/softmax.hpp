// softmax and log_softmax. The logarithm is computed directly, not from probabilities that may
// underflow to 0.
#pragma once
#include <cmath>
#include <tenon/elementwise/math/math.hpp>
#include <tenon/operator.hpp>

#include "../../shared/graph_arithmetic.hpp"
#include "shared/axis.hpp"

/// The result for an element, given its difference from the maximum of its run, and the gradient.
/// `norm` is computed from the sum of the run's exponentials.
struct SoftmaxRule {
  static constexpr const char* onnx = "Softmax";
  static constexpr const char* doc = "softmax: exp(data) / sum(exp(data)) along one axis";
  static constexpr const char* axis_doc =
      "axis along which the output sums to 1; negative axes count from the end";

  template <class W>
  TENON_FN static W norm(W sum) {
    return sum;
  }
  template <class W>
  TENON_FN static W value(W distance, W norm) {
    return tenon::elementwise::exp(distance) / norm;
  }
  /// dx = y * (dy - sum(dy * y))
  template <class W>
  TENON_FN static W term(W y, W dy) {
    return dy * y;
  }
  template <class W>
  TENON_FN static W gradient(W y, W dy, W sum) {
    return y * (dy - sum);
  }
  /// The gradient as a graph.
  static GraphArithmetic::Value gradient(GraphArithmetic& math, GraphArithmetic::Value y,
                                         GraphArithmetic::Value dy, const tenon::Ints& axis,
                                         tenon::Gradient&) {
    return math.mul(y, math.sub(dy, math.sum(math.mul(dy, y), axis)));
  }
};

struct LogSoftmaxRule {
  static constexpr const char* onnx = "LogSoftmax";
  static constexpr const char* doc =
      "logarithm of softmax: data - log(sum(exp(data))) along one axis";
  static constexpr const char* axis_doc =
      "axis along which the exponentials of the output sum to 1; negative axes count from the end";

  template <class W>
  TENON_FN static W norm(W sum) {
    return std::log(sum);
  }
  template <class W>
  TENON_FN static W value(W distance, W norm) {
    return distance - norm;
  }
  /// dx = dy - exp(y) * sum(dy)
  template <class W>
  TENON_FN static W term(W, W dy) {
    return dy;
  }
  template <class W>
  TENON_FN static W gradient(W y, W dy, W sum) {
    return dy - tenon::elementwise::exp(y) * sum;
  }
  static GraphArithmetic::Value gradient(GraphArithmetic& math, GraphArithmetic::Value y,
                                         GraphArithmetic::Value dy, const tenon::Ints& axis,
                                         tenon::Gradient& g) {
    return math.sub(dy, math.mul(g.add("exp", {y}), math.sum(dy, axis)));
  }
};

/// Rule: SoftmaxRule for softmax, LogSoftmaxRule for log_softmax.
template <class Rule>
struct Softmax : tenon::Operator {
  std::int32_t axis = -1;

  static constexpr void describe(auto& op) {
    op.doc(Rule::doc);
    op.input("data", "at least one dimension");
    op.output("output", "same shape as data");
    op.param("axis", &Softmax::axis, Rule::axis_doc).at_least(-8).at_most(7);
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("output");
    op.accumulates();
    op.example({{"data", {2, 3}}});
    op.onnx("", Rule::onnx).since(13).attribute("axis", "axis");  // older versions flatten data
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    if (!data.has_rank()) return;
    require_axis(io, data, axis);
    io.set_output(0, data);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
  void gradient(tenon::Gradient& g) const {
    GraphArithmetic math(g);
    g.set_input_grad(0, Rule::gradient(math, g.output(0), g.output_grad(0), tenon::Ints{axis}, g));
  }
};
