#include <tenon/elementwise.hpp>

#include "wrapping.hpp"

struct Mul : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left * right, element by element; integers wrap around. Sparse times dense has the sparse input's storage and stored elements; "
        "two inputs of the same sparse storage give the elements that both store");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("left", "first factor");
    op.input("right", "second factor");
    op.zero_where("left");
    op.zero_where("right");
    op.output("output", "the inputs' shapes broadcast together");
    op.linear("left", "right");
    op.onnx("", "Mul").since(7);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return wrapping(left, right, [](auto l, auto r) { return l * r; });
  }
};
TENON_OPERATOR(mul, Mul)
