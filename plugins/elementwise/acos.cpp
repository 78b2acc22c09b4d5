#include <tenon/elementwise.hpp>

struct Acos : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the angle from 0 to pi whose cosine is x, element by element; nan outside of the range from -1 to 1");
    op.input("x", "numbers from -1 to 1");
    op.output("y", "same shape as x");
    op.onnx("", "Acos").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return acos(x);
  }
};
TENON_OPERATOR(acos, Acos)
