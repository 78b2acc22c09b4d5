// Shares of one axis: positive, and 1 together.
#pragma once
#include <tenon/operator.hpp>

#include "axis.hpp"

struct Softmax : tenon::Operator {
  std::int32_t axis = -1;

  static constexpr void describe(auto& op) {
    op.doc("exp(data) / sum(exp(data)) along one axis, so that its elements are positive and sum to 1");
    op.input("data", "at least one dimension");
    op.output("output", "same shape as data");
    op.param("axis", &Softmax::axis, "the axis that sums to 1; negative axes count from the end").at_least(-8).at_most(7);
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("output");
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    if (!data.has_rank()) return;
    require_axis(io, data, axis);
    io.set_output(0, data);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
};
