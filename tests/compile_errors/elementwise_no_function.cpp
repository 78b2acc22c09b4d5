// says: operator() must be public, const, and take as many arguments of one type as describe() has inputs
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
};
TENON_OPERATOR(faulty, Faulty)
