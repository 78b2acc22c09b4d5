#include <cmath>

#include "whole_division.hpp"

struct Mod : tenon::Elementwise {
  bool truncate = false;

  static constexpr void describe(auto& op) {
    op.doc("the remainder of left / right, element by element; by 0 it is nan, or 0 of integers");
    op.types(tenon::any_real);
    op.input("left", "dividend");
    op.input("right", "divisor");
    op.output("output", "the inputs' shapes broadcast together, with the sign of right");
    op.param("fmod", &Mod::truncate, "the sign of left, as C's fmod and % have it");
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    if constexpr (std::is_unsigned_v<T>) {
      return T(left % safe_divisor(left, right));
    } else {
      const T rest = remainder_of(left, right);
      const bool other_sign = (rest != T(0)) & ((rest < T(0)) != (right < T(0)));
      return where(!truncate & other_sign, T(rest + right), rest);
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
