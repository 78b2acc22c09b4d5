#include <tenon/elementwise.hpp>

struct Pow : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("base^exponent, element by element; integers wrap around, and fractional results such as 2^-1 become 0");
    op.types(tenon::any_real);
    op.input("base", "any numbers; a negative one with a fractional exponent gives nan");
    op.input("exponent", "any numbers");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Pow").since(7);
  }

  template <class T>
  TENON_FN T operator()(T base, T exponent) const {
    return pow(base, exponent);
  }
};
TENON_OPERATOR(pow, Pow)
