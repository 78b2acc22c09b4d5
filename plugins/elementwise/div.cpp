#include <tenon/elementwise.hpp>
#include <type_traits>

struct Div : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left / right, element by element; integers give float64. A csr or row_sparse left divided by a dense right keeps its storage: 0 / "
        "0 is nan and becomes a stored element, but is an error if right is broadcast");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("left", "dividend");
    op.input("right", "divisor");
    op.zero_where("left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Div").since(7).types(tenon::floating);  // ONNX's Div truncates integers: see int_divide
  }

  template <class T>
  TENON_FN auto operator()(T left, T right) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<double>(left) / static_cast<double>(right);
    } else {
      return left / right;
    }
  }
};
TENON_OPERATOR(div, Div)
