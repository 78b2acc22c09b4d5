// An operator whose gradient cannot be inferred from small numbers.
#pragma once
#include <tenon/elementwise.hpp>

/// Is 0 wherever x is 0; has a kink at gate = 4, beyond small numbers.
struct Gated : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("max(gate - 4, 0) * x");
    op.input("gate", "any shape");
    op.input("x", "any shape");
    op.output("y", "both broadcast");
    op.zero_where("x");
  }
  template <class T>
  TENON_FN T operator()(T gate, T x) const {
    return max(gate - T(4), T(0)) * x;
  }
};
