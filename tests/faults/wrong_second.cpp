// Right gradients with wrong derivatives, in each way to declare them.
#include <tenon/elementwise.hpp>
#include <tenon/operator.hpp>

constexpr tenon::Types wide{tenon::f64, tenon::f32};

/// The sums of the rows' squares.
struct SquaredRows : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("sums of squares");
    op.input("x", "[n, m]");
    op.output("y", "[n]");
    op.types(wide);
    op.linear("x");  // wrong
  }
  void infer(tenon::Infer& io) const {
    const auto shape = io.input("x").shape;
    if (!shape.has_rank()) return;
    io.require(shape.rank() == 2, "x is ", shape, " but needs [n, m]");
    io.set_output("y", {shape[0]});
  }
  void forward(const tenon::Call& call) const {
    const auto columns = call.input_type(0).shape[1];
    tenon::visit<wide>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      for (auto& sum : y) sum = 0;
      for (std::int64_t i = 0; i < x.size(); ++i) y[i / columns] += x[i] * x[i];
    });
  }
  void backward(const tenon::Call& call) const {
    const auto columns = call.input_type(0).shape[1];
    tenon::visit<wide>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto dy = call.output_grad<T>(0);
      const auto dx = call.input_grad<T>(0);
      for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * x[i] * dy[i / columns];
    });
  }
};
TENON_OPERATOR(linear_squares, SquaredRows)

struct Cube : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x cubed");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.types(wide);
  }
  void forward(const tenon::Call& call) const {
    tenon::visit<wide>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i] * x[i] * x[i];
    });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<wide>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto dy = call.output_grad<T>(0);
      const auto dx = call.input_grad<T>(0);
      for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 3 * x[i] * x[i] * dy[i];
    });
  }
  void gradient(tenon::Gradient& g) const {
    const auto x = g.input(0);
    // a third of the right value
    g.set_input_grad(0, g.add("mul", {g.output_grad(0), g.add("mul", {x, x})}));
  }
};
TENON_OPERATOR(third_of_cube, Cube)

struct CubeOfDuals : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x cubed");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x * x * x;
  }
  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return dy * T(3) * x.value * T(double(x.value));  // drops one slope
  }
};
TENON_OPERATOR(drops_slope, CubeOfDuals)
