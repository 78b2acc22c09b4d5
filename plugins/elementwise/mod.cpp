#include <cmath>

#include "whole_division.hpp"

struct Mod : tenon::Elementwise {
  bool truncate = false;

  static constexpr void describe(auto& op) {
    op.doc("remainder of left / right, element by element; a zero divisor gives nan, or 0 for integers");
    op.types(tenon::any_real);
    op.input("left", "dividend");
    op.input("right", "divisor");
    op.output("output", "the inputs' shapes broadcast together; has the sign of right");
    op.param("fmod", &Mod::truncate, "if true, the result has the sign of left, as with C's fmod and %");
    op.onnx("", "Mod").since(10).attribute("fmod", "fmod");
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    if constexpr (std::is_unsigned_v<T>) {
      return T(left % safe_divisor(left, right));
    } else {
      const T rest = remainder_of(left, right);
      const T none = where(right < T(0), T(-T(0)), T(0));  // a zero remainder also has the sign of right
      const T moved = where(rest == T(0), none, where((rest < T(0)) != (right < T(0)), T(rest + right), rest));
      return where(truncate, rest, moved);
    }
  }

  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy, tenon::InputOf<T> left, tenon::InputOf<T> right) const {
    const T l = left, r = right;
    return {dy, -dy * rint((l - (*this)(l, r)) / r)};
  }

 private:
  template <class T>
  TENON_FN static T remainder_of(T left, T right) {
    if constexpr (std::is_integral_v<T>) {
      return T(left % safe_divisor(left, right));
    } else {
      return std::fmod(left, right);
    }
  }
};
TENON_OPERATOR(mod, Mod)
