// says: every input declares its own .types()
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.input("x", "any shape").types({tenon::f32});
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x;
  }
};
TENON_OPERATOR(faulty, Faulty)
