// Layer normalisation: every sample by itself, so training and not are the same.
#pragma once
#include <tenon/operator.hpp>

#include "shared/axis.hpp"
#include "shared/fits.hpp"
#include "statistics.hpp"

struct LayerNorm : tenon::Operator {
  std::int32_t axis = -1;
  double epsilon = 1e-5;

  static constexpr void describe(auto& op) {
    op.doc("gamma * (data - mean) / sqrt(variance + epsilon) + beta, with mean and variance over the axes from axis to the last");
    op.input("data", "at least one dimension");
    op.input("gamma", "the scale, with the shape of data from axis on").initial(1);
    op.input("beta", "the offset, with the shape of data from axis on").weight();
    op.output("output", "same shape as data");
    op.output("mean", "the mean that was subtracted, with the shape of data before axis").hidden();
    op.output("inverse_std", "1 / sqrt(variance + epsilon), with the shape of data before axis").hidden();
    op.param("axis", &LayerNorm::axis, "the first of the axes that are normalised together; negative axes count from the end")
        .at_least(-8)
        .at_most(7);
    op.param("epsilon", &LayerNorm::epsilon, "added to the variance").greater_than(0);
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("data", "gamma", "mean", "inverse_std");
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data");
    if (!data.shape.has_rank()) return;
    require_axis(io, data.shape, axis);
    const int split = axis < 0 ? axis + data.shape.rank() : axis;
    const tenon::Shape before(data.shape.begin(), split), after(data.shape.begin() + split, data.shape.rank() - split);
    for (const char* name : {"gamma", "beta"}) {
      const auto given = io.input(name).shape;
      io.require(fits(given, after), name, " is ", given, " but data ", data.shape, " needs ", after);
      io.set_input(name, after);
    }
    const auto statistics = wide(data.dtype);
    io.set_output(0, data.shape);
    io.set_output(1, before, statistics);
    io.set_output(2, before, statistics);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;

  /// What is normalised together.
  struct Rows {
    std::int64_t count, size;
  };

  Rows rows_of(const tenon::Shape& data) const {
    const auto along = Axis::of(data, axis);
    return {along.outer, along.length * along.inner};
  }
};
