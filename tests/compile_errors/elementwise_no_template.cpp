// says: operator() must be a template
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  TENON_FN float operator()(float x) const { return x; }
};
TENON_OPERATOR(faulty, Faulty)
