// says: gradient must return T for one input and tenon::Pair<T> for two
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left + right;
  }
  template <class T>
  TENON_FN T gradient(T dy) const {
    return dy;
  }
};
TENON_OPERATOR(faulty, Faulty)
