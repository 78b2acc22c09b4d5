// An operator that leaves its kernel to another plugin.
#pragma once
#include <tenon/operator.hpp>

struct Cumulate : tenon::Operator {
  float decay = 1;

  static constexpr void describe(auto& op) {
    op.doc("y[i] = x[i] + decay * y[i - 1]");
    op.types({tenon::f32});
    op.input("x", "[n]");
    op.output("y", "[n]");
    op.param("decay", &Cumulate::decay, "share of the sum so far that is kept");
    op.backward_reads();
    op.kernels_elsewhere();
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (!x.has_rank()) return;
    io.require(x.rank() == 1, "x is ", x, " but needs one dimension");
    io.set_output(0, x);
  }
};
