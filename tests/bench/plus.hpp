// The cheapest possible operator: the rest of a node's time is the host's.
#pragma once
#include <tenon/elementwise.hpp>

struct Plus : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left + right");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("sum", "both broadcast");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left + right;
  }
};
