// says: operator() returns nothing: it must return the output's element
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN void operator()(T) const {}
};
TENON_OPERATOR(faulty, Faulty)
