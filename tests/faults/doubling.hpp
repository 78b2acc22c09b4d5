// Twice x: what the broken operators in this folder compute apart from their fault.
#pragma once
#include <tenon/operator.hpp>

struct Doubling : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }

  static void write(const tenon::Call& call, std::int64_t count) {
    const auto* x = call.input<float>(0).data();
    auto* y = call.output<float>(0).data();
    for (std::int64_t i = 0; i < count; ++i) y[i] = 2 * x[i];
  }
};
