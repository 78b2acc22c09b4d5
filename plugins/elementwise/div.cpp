#include <tenon/elementwise.hpp>
#include <type_traits>

struct Div : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left / right, element by element; integers give float64. A csr or row_sparse left over a dense right keeps its "
        "storage; 0 / 0 is nan, and stored, where right has an element for each of left's, and refused where right is repeated");
    op.types(tenon::numeric);
    op.input("left", "dividend");
    op.input("right", "divisor");
    op.zero_where("left");
    op.output("output", "the inputs' shapes broadcast together");
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
