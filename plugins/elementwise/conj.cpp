#include <tenon/elementwise.hpp>

struct Conj : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("complex conjugate of x, element by element; x itself if it is real");
    op.types(tenon::floating + tenon::any_complex);
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
  }

  template <class T>
  TENON_FN auto operator()(T x) const {
    if constexpr (tenon::is_complex<T>)
      return conj(x);
    else
      return x;
  }

  template <class T>
  TENON_FN T gradient(T dy) const {
    if constexpr (tenon::is_complex<T>)
      return conj(dy);
    else
      return dy;
  }
};
TENON_OPERATOR(conj, Conj)
