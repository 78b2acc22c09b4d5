// Gradients as graphs: arithmetic on values, and reductions over axes.
#pragma once
#include <tenon/operator.hpp>

/// Graph builder for gradient(). 16-bit values are computed in float32: convert inputs with wide()
/// and results with narrow().
class GraphArithmetic {
 public:
  using Value = tenon::Gradient::Value;
  explicit GraphArithmetic(tenon::Gradient& g) : g_(&g) {}

  Value add(Value left, Value right) { return g_->add("add", {left, right}); }
  Value neg(Value value) { return g_->add("neg", {value}); }
  Value sub(Value left, Value right) { return g_->add("sub", {left, right}); }
  Value mul(Value left, Value right) { return g_->add("mul", {left, right}); }
  Value div(Value left, Value right) { return g_->add("div", {left, right}); }
  /// Returns value * scale + offset; both numbers must be floats.
  Value scaled(Value value, double scale, double offset = 0) {
    return g_->add("quadratic", {value}, {{"b", scale}, {"c", offset}});
  }
  Value sum(Value value, const tenon::Ints& axes, bool keepdims = true) {
    return g_->add("sum", {value}, {{"axis", axes}, {"keepdims", keepdims}});
  }
  Value mean(Value value, const tenon::Ints& axes) {
    return g_->add("mean", {value}, {{"axis", axes}, {"keepdims", true}});
  }
  /// Returns the value without a gradient.
  Value fixed(Value value) { return g_->add("stop_gradient", {value}); }

  Value wide(Value value) {
    return half(g_->type(value).dtype) ? g_->add("cast", {value}, {{"dtype", "float32"}}) : value;
  }
  Value narrow(Value value, Value like) {
    const auto dtype = g_->type(like).dtype;
    return half(dtype) ? g_->add("cast", {value}, {{"dtype", tenon::name_of(dtype)}}) : value;
  }
  void set_input_grad(int i, Value value) { g_->set_input_grad(i, narrow(value, g_->input(i))); }

  /// Returns the rank of a value. Fails if it is not known yet.
  int rank(Value value) const {
    const auto shape = g_->type(value).shape;
    if (!shape.has_rank())
      throw tenon::Error(
          "the second derivative requires a known number of dimensions of the input");
    return shape.rank();
  }
  /// Returns the axes whose bits are set.
  static tenon::Ints axes_of(unsigned mask) {
    std::int64_t axes[8];
    std::size_t count = 0;
    for (int axis = 0; axis < 8; ++axis)
      if (mask >> axis & 1) axes[count++] = axis;
    return {axes, count};
  }

 private:
  static bool half(tenon::DType dtype) { return dtype == tenon::f16 || dtype == tenon::bf16; }
  tenon::Gradient* g_;
};
