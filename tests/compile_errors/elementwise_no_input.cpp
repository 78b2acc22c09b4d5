// says: an elementwise operator has 1 to 6 inputs
#include <tenon/elementwise.hpp>

struct Faulty : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("one sentence");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x;
  }
};
TENON_OPERATOR(faulty, Faulty)
