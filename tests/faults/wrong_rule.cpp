#include <tenon/elementwise.hpp>

// Its rule drops the constant 1.
struct WrongRule : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("2 x + 1");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.rule("forgets_one", "wrong_rule(wrong_rule(x))", "four_times(x)");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(2) * x + T(1);
  }
};
TENON_OPERATOR(wrong_rule, WrongRule)

struct FourTimes : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("4 x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(4) * x;
  }
};
TENON_OPERATOR(four_times, FourTimes)

// Its rule acts only if b has the length of a row, and drops it.
struct WrongForRows : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("2 x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.rule("forgets_row", "plus(wrong_for_rows(x), b)", "twice_and_row(x, b)");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(2) * x;
  }
};
TENON_OPERATOR(wrong_for_rows, WrongForRows)

struct Plus : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("a + b");
    op.input("a", "any shape");
    op.input("b", "a shape that broadcasts with a");
    op.output("y", "the shape of both, broadcast");
  }
  template <class T>
  TENON_FN T operator()(T a, T b) const {
    return a + b;
  }
};
TENON_OPERATOR(plus, Plus)

struct TwiceAndRow : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("2 x");
    op.input("x", "[rows, columns]");
    op.input("b", "[columns]");
    op.output("y", "same shape as x");
    op.types({tenon::f32});
  }
  void infer(tenon::Infer& io) const {
    io.require(!io.input("b").shape.has_rank() || io.input("b").shape.rank() == 1, "b is no row");
    io.set_output("y", io.input("x").shape);
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
  }
};
TENON_OPERATOR(twice_and_row, TwiceAndRow)
