// says: op.types() names only complex dtypes
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.types(tenon::any_complex);
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x;
  }
};
TENON_OPERATOR(faulty, Faulty)
