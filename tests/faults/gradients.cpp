// Plugins, one for each FAULT_NAME, with gradients that are wrong in some sense.
#include <tenon/elementwise.hpp>
#include <tenon/operator.hpp>

#ifdef FAULT_wrong_second
// Right gradients with wrong derivatives, in each way to declare them.
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
#endif

#ifdef FAULT_wrong_complex
// Gradients that are right only for real numbers.
struct Square : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("z squared");
    op.input("z", "any shape");
    op.output("y", "same shape as z");
    op.types(tenon::floating + tenon::any_complex);
  }
  template <class T>
  TENON_FN T operator()(T z) const {
    return z * z;
  }
  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> z) const {
    return dy * T(2) * z.value;  // not conj(z)
  }
};
TENON_OPERATOR(forgets_conj, Square)

struct Turn : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("i times z");
    op.input("z", "any shape");
    op.output("y", "same shape as z");
    op.types(tenon::any_complex);
    op.backward_reads();
  }
  template <class View, class Out>
  static void turn(const View& from, const Out& to) {
    for (std::int64_t i = 0; i < to.size(); ++i) to[i] = {-from[i].im, from[i].re};
  }
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_complex>(call.input_type(0).dtype,
                                     [&]<class T>() { turn(call.input<T>(0), call.output<T>(0)); });
  }
  void backward(const tenon::Call& call) const {  // should rotate back
    tenon::visit<tenon::any_complex>(call.output_type(0).dtype, [&]<class T>() {
      turn(call.output_grad<T>(0), call.input_grad<T>(0));
    });
  }
};
TENON_OPERATOR(turns_on, Turn)
#endif

#ifdef FAULT_surrogate_gradients
// Rounding that passes gradients through: not a fault if declared, else a fault.
struct Quantize : tenon::Elementwise {
  float step = 0.25F;

  static constexpr void describe(auto& op) {
    op.doc("the nearest multiple of step; gradients pass through");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("step", &Quantize::step, "distance of the multiples").at_least(0.125);
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return floor(x / step + T(0.5F)) * step;
  }
  template <class T>
  TENON_FN T gradient(T dy) const {
    return dy;
  }
};
TENON_OPERATOR(silent_quantize, Quantize)

struct SaidQuantize : Quantize {
  static constexpr void describe(auto& op) {
    Quantize::describe(op);
    op.surrogate_gradient();
  }
};
TENON_OPERATOR(said_quantize, SaidQuantize)
#endif
