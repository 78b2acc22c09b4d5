#include <tenon/elementwise.hpp>

#include "wrapping.hpp"

struct Add : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left + right, element by element; integers wrap around. Two csr or two row_sparse tensors of equal shape give a tensor of that "
        "storage");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("left", "first addend");
    op.input("right", "second addend");
    op.output("output", "the inputs' shapes broadcast together");
    op.linear("left");
    op.linear("right");
    op.onnx("", "Add").since(7);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return wrapping(left, right, [](auto l, auto r) { return l + r; });
  }

  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy) const {
    return {dy, dy};
  }
};
TENON_OPERATOR(add, Add)
