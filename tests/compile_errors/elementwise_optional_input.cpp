// says: the inputs of an elementwise operator can be neither optional nor variadic
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.input("x", "any shape").optional();
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x;
  }
};
TENON_OPERATOR(faulty, Faulty)
