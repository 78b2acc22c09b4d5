// says: gradient must be public, const, and take (T dy), (T dy, tenon::OutputOf<T> y), or (T dy, tenon::InputOf<T> x)
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x * x;
  }
  template <class T>
  TENON_FN T gradient(T dy, T x) const {
    return 2 * x * dy;
  }
};
TENON_OPERATOR(faulty, Faulty)
