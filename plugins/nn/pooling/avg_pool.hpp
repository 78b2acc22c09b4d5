// Average pooling.
#pragma once
#include <tenon/operator.hpp>

#include "pool.hpp"

struct AvgPool : tenon::Operator {
  tenon::Ints kernel, stride, pad;
  bool count_include_pad = true;

  static constexpr void describe(auto& op) {
    op.doc("average of each window, over 1 to 3 spatial axes");
    op.types({tenon::f32});
    op.input("data", "[batch, channels, one spatial axis for each value of kernel ...]");
    op.output("output", "[batch, channels, (axis + 2 pad - kernel) / stride + 1, rounded down, for each spatial axis]");
    op.param("kernel", &AvgPool::kernel, "size of the window along each spatial axis, 1 to 3 values")
        .required()
        .at_least(1)
        .at_most(Window::largest);
    op.param("stride", &AvgPool::stride, "steps along each spatial axis; one value is for all; default: kernel")
        .at_least(1)
        .at_most(Window::largest);
    op.param("pad", &AvgPool::pad, "zeros on both sides of each spatial axis, fewer than kernel; one value is for all; default: 0")
        .at_least(0)
        .at_most(Window::largest);
    op.param("count_include_pad", &AvgPool::count_include_pad,
             "divide by the size of the window, not by the number of its elements inside data");
    op.backward_reads();
    op.kernels_elsewhere();
  }

  void infer(tenon::Infer& io) const { infer_pooling(io, kernel, stride, pad); }

 protected:
  Pooling pooling() const { return count_include_pad ? Pooling::average : Pooling::inside; }
  Window window(const tenon::Shape&) const { return pooling_window(kernel, stride, pad); }
};
