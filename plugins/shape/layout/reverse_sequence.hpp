#pragma once
#include <cstring>

#include "../../shared/bytes.hpp"
#include "shared/box_copy.hpp"
#include "shared/dims.hpp"

struct ReverseSequence : tenon::Operator {
  std::int64_t batch_axis = 1, time_axis = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "x with the first lengths[i] steps of sequence i in reverse order and the other steps "
        "unchanged (ONNX ReverseSequence)");
    op.types(tenon::storable);
    op.input("x",
             "[steps, sequences, ...], or another order of axes with `batch_axis` and `time_axis`");
    op.input("lengths", "[sequences]; number of steps to reverse, from 0 to steps")
        .types({tenon::i64});
    op.output("y", "same shape as x");
    op.linear("x");
    op.param("batch_axis", &ReverseSequence::batch_axis,
             "axis of the sequences; negative axes count from the end");
    op.param("time_axis", &ReverseSequence::time_axis,
             "axis of the steps; negative axes count from the end");
    op.backward_reads("lengths");
    op.example({{"x", {4, 3}}, {"lengths", {3}, tenon::i64, {2, 0, 3}}});
    op.onnx("", "ReverseSequence")
        .since(10)
        .attribute("batch_axis", "batch_axis")
        .attribute("time_axis", "time_axis");
  }

  void infer(tenon::Infer& io) const {
    auto x = io.input(0).shape;
    io.set_output(0, x);
    x = io.output(0).shape;
    io.set_input(0, x);
    io.set_input(1, tenon::Shape::of_rank(1));
    if (!x.has_rank()) return;
    const int batch = axis_of(io, batch_axis, x.rank(), "batch_axis"),
              time = axis_of(io, time_axis, x.rank(), "time_axis");
    if (batch == time)
      io.param_error("time_axis", "refers to axis ", time, ", which is also batch_axis");
    io.set_input(1, {x[batch]});
  }

  void forward(const tenon::Call& call) const {
    reverse(call, bytes::input(call, 0), bytes::output(call, 0));
  }
  void backward(const tenon::Call& call) const {
    reverse(call, bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }

 private:
  void reverse(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    const auto x = call.input_type(0);
    const auto size = static_cast<std::int64_t>(tenon::size_of(x.dtype));
    const int batch = axis_of(batch_axis, x.shape.rank()),
              time = axis_of(time_axis, x.shape.rank());
    const auto lengths = call.input<std::int64_t>(1);
    const auto strides = row_major(x.shape);
    std::memcpy(to, from, static_cast<std::size_t>(x.shape.size() * size));
    for (std::int64_t i = 0; i < lengths.size(); ++i) {
      const auto length = lengths.data()[i];
      if (length < 0 || length > x.shape[time])
        throw tenon::Error("lengths[", i, "] is ", length, ", but sequences have ", x.shape[time],
                           " steps");
      if (length < 2) continue;
      auto extent = x.shape;
      extent.set(batch, 1);
      extent.set(time, length);
      auto backwards = strides;
      backwards[static_cast<std::size_t>(time)] *= -1;
      const auto first = i * strides[static_cast<std::size_t>(batch)];
      const auto last = first + (length - 1) * strides[static_cast<std::size_t>(time)];
      BoxCopy(extent, backwards, strides, static_cast<std::size_t>(size))(call, from + last * size,
                                                                          to + first * size);
    }
  }
};
