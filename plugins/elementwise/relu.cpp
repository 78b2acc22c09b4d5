#include <tenon/elementwise.hpp>

struct Relu : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("max(x, 0), element by element; nan stays nan");
    op.types(tenon::floating + tenon::Types{tenon::i8, tenon::i16, tenon::i32, tenon::i64});
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Relu").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(0), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    return where(T(y) > T(0), dy, T(0));
  }
};
TENON_OPERATOR(relu, Relu)
