#pragma once
#include <tenon/elementwise.hpp>

/// max(gate - 4, 0) + x is 0 at x = 0 only for gates up to 4, but it claims this for all gates:
/// wrong beyond the knee, which small numbers do not reach.
struct Knee : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("max(gate - 4, 0) + x");
    op.input("gate", "any shape");
    op.input("x", "any shape");
    op.output("y", "both broadcast");
    op.zero_where("x");
  }
  template <class T>
  TENON_FN T operator()(T gate, T x) const {
    return max(gate - T(4), T(0)) + x;
  }
};
