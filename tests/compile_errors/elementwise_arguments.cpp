// says: operator() must be public, const, and take as many arguments of one type as describe() has inputs
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x;
  }
};
TENON_OPERATOR(faulty, Faulty)
