// Second derivatives: for an operator that is declared linear in each input, and for another one by
// gradient() in addition to backward().
#include <cmath>
#include <tenon/operator.hpp>

// left[i] * right[j]. Tenon differentiates backward() with forward() and backward() themselves.
struct OuterProduct : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("left[i] * right[j]");
    op.types({tenon::f64});
    op.input("left", "[m]");
    op.input("right", "[n]");
    op.output("product", "[m, n]");
    op.linear("left", "right");
    op.backward_reads("left", "right");
  }

  void infer(tenon::Infer& io) const {
    const auto left = io.input(0).shape, right = io.input(1).shape;
    if (!left.has_rank() || !right.has_rank()) return;
    io.require(left.rank() == 1 && right.rank() == 1, "needs two vectors, got ", left, " and ",
               right);
    io.set_output(0, {left[0], right[0]});
  }

  void forward(const tenon::Call& call) const {
    const auto left = call.input<double>(0), right = call.input<double>(1);
    double* product = call.output<double>(0).data();
    for (const double l : left)
      for (const double r : right) *product++ = l * r;
  }

  void backward(const tenon::Call& call) const {
    const auto left = call.input<double>(0), right = call.input<double>(1);
    const double* dy = call.output_grad<double>(0).data();
    for (int i = 0; i < 2; ++i) {
      if (call.write(i) == tenon::Write::none) continue;
      const auto dx = call.input_grad<double>(i);
      for (double& element : dx) element = 0;
      for (std::int64_t l = 0; l < left.size(); ++l)
        for (std::int64_t r = 0; r < right.size(); ++r)
          (i == 0 ? dx[l] : dx[r]) += dy[l * right.size() + r] * (i == 0 ? right[r] : left[l]);
    }
  }
};
TENON_OPERATOR(outer_product, OuterProduct)

// The length of a vector. The kernel computes first derivatives; the graph gives the same gradient
// in differentiable operators.
struct Length : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("square root of the sum of all squares");
    op.types({tenon::f64});
    op.input("x", "any shape");
    op.output("length", "0-d");
  }

  void infer(tenon::Infer& io) const { io.set_output(0, tenon::Shape::scalar()); }

  void forward(const tenon::Call& call) const {
    double sum = 0;
    for (const double x : call.input<double>(0)) sum += x * x;
    *call.output<double>(0).data() = std::sqrt(sum);
  }

  void backward(const tenon::Call& call) const {
    const auto x = call.input<double>(0);
    const double scale = *call.output_grad<double>(0).data() / *call.output_value<double>(0).data();
    for (std::int64_t i = 0; i < x.size(); ++i) call.input_grad<double>(0)[i] = scale * x[i];
  }

  void gradient(tenon::Gradient& g) const {
    g.set_input_grad("x",
                     g.add("mul", {g.add("div", {g.output_grad(0), g.output(0)}), g.input("x")}));
  }
};
TENON_OPERATOR(length, Length)
