#pragma once
#include "../../shared/bytes.hpp"
#include "section.hpp"

struct Concat : tenon::Operator {
  std::int64_t axis = 0;

  static constexpr void describe(auto& op) {
    op.doc("concatenation of the inputs along an existing axis");
    op.types(tenon::storable);
    op.input("inputs", "one or more tensors with equal sizes along all axes except `axis`")
        .variadic();
    op.output("output", "the inputs' shape, with the sum of their sizes along `axis`");
    op.linear("inputs");
    op.param("axis", &Concat::axis, "axis to concatenate along; negative axes count from the end");
    op.backward_reads();
    op.takes_channels_last("inputs", "output");
    op.example({{"inputs0", {2, 3}}, {"inputs1", {4, 3}}}, {{"axis", 0}});
    op.onnx("", "Concat").until(3).attribute("axis", "axis", 1);
    op.onnx("", "Concat").since(4).attribute("axis", "axis");
  }

  void infer(tenon::Infer& io) const {
    io.require(io.inputs() > 0, "needs at least one input");
    auto common = io.output(0).shape;
    for (int i = 0; i < io.inputs() && !common.has_rank(); ++i) common = io.input(i).shape;
    if (!common.has_rank()) return io.set_output(0, tenon::Shape(), io.input(0).dtype);

    const int along = axis_of(io, axis, common.rank());
    common.set(along, tenon::unknown);
    std::int64_t sum = 0;
    int unknown_inputs = 0, last_unknown = 0;
    for (int i = 0; i < io.inputs(); ++i) {
      const auto shape = io.input(i).shape;
      agree(io, common, shape, along, i);
      const auto size = shape.has_rank() ? shape[along] : tenon::unknown;
      if (size == tenon::unknown) {
        ++unknown_inputs;
        last_unknown = i;
      } else if (__builtin_add_overflow(sum, size, &sum)) {
        io.require(false, "the inputs' sizes along axis ", axis,
                   " add up to more than 64 bits can represent");
      }
    }
    for (int i = 0; i < io.inputs(); ++i) io.set_input(i, common);
    io.set_output(0, with_size(common, along, unknown_inputs == 0 ? sum : tenon::unknown));

    const auto total = io.output(0).shape[along];
    if (unknown_inputs == 1 && total != tenon::unknown) {
      io.require(total >= sum, "the output has size ", total, " along axis ", axis,
                 ", but the known inputs already have ", sum);
      io.set_input(last_unknown, with_size(common, along, total - sum));
    }
  }

  void forward(const tenon::Call& call) const { join<BoxCopy>(call); }
  void backward(const tenon::Call& call) const { cut<BoxCopy>(call); }

 protected:
  template <class Copy>
  void join(const tenon::Call& call) const {
    each(call, [&](int i, const Section& section) {
      section.put<Copy>(call, bytes::input(call, i), bytes::output(call, 0));
    });
  }

  template <class Copy>
  void cut(const tenon::Call& call) const {
    each(call, [&](int i, const Section& section) {
      if (call.write(i) != tenon::Write::none)
        section.take<Copy>(call, bytes::output_grad(call, 0), bytes::input_grad(call, i));
    });
  }

 private:
  static void agree(const tenon::Infer& io, tenon::Shape& common, const tenon::Shape& shape,
                    int along, int i) {
    if (!shape.has_rank()) return;
    io.require(shape.rank() == common.rank(), "input ", i, " is ", shape, ", but needs rank ",
               common.rank());
    for (int a = 0; a < shape.rank(); ++a) {
      if (a == along || shape[a] == tenon::unknown) continue;
      io.require(common[a] == tenon::unknown || common[a] == shape[a], "input ", i, " is ", shape,
                 ", but needs size ", common[a], " along axis ", a);
      common.set(a, shape[a]);
    }
  }

  template <class Body>
  void each(const tenon::Call& call, Body body) const {
    const auto whole = call.output_type(0);
    const bool last = call.output_channels_last(0);
    const int rank = whole.shape.rank(), along = axis_in_memory(axis_of(axis, rank), rank, last);
    std::int64_t start = 0;
    for (int i = 0; i < call.inputs(); ++i) {
      const auto shape = in_memory(call.input_type(i).shape, last);
      body(i, Section(in_memory(whole.shape, last), shape, along, start, whole.dtype));
      start += shape[along];
    }
  }
};
