// The logarithm of softmax, without the detour over shares that round to 0.
#pragma once
#include <tenon/operator.hpp>

#include "axis.hpp"

struct LogSoftmax : tenon::Operator {
  std::int32_t axis = -1;

  static constexpr void describe(auto& op) {
    op.doc("data - log(sum(exp(data))) along one axis");
    op.input("data", "at least one dimension");
    op.output("output", "same shape as data");
    op.param("axis", &LogSoftmax::axis, "the axis whose exponentials sum to 1; negative axes count from the end").at_least(-8).at_most(7);
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
