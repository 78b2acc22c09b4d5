// Average pooling over everything that is not batch or channel.
#pragma once
#include <tenon/operator.hpp>

#include "pool.hpp"

struct GlobalAvgPool : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("average of each channel of each sample");
    op.types({tenon::f32});
    op.input("data", "[batch, channels, 1 to 3 spatial axes ...]");
    op.output("output", "[batch, channels, 1 for each spatial axis ...]");
    op.backward_reads();
    op.kernels_elsewhere();
  }

  void infer(tenon::Infer& io) const { infer_global_pooling(io); }

 protected:
  Pooling pooling() const { return Pooling::average; }
  Window window(const tenon::Shape& data) const { return global_window(data); }
};
