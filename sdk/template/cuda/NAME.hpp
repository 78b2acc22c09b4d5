// Shared by both kernels: description and inference.
#pragma once
#include <tenon/operator.hpp>

struct @CLASS@ : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("reverses each row");
    op.types({tenon::f32});
    op.input("data", "[rows, columns]");
    op.output("reversed", "same shape as data");
    op.backward_reads();  // only the output's gradient
    op.example({{"data", {2, 3}}});
  }
  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    io.require(!data.has_rank() || data.rank() == 2, "data is ", data,
               " but must have rows and columns");
    io.set_output(0, data);
    io.set_input(0, io.output(0).shape);
  }

  void forward(const tenon::Call& call) const {
    reverse(call.input<float>(0), call.output<float>(0), call.input_type(0).shape[1]);
  }
  void backward(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none)
      reverse(call.output_grad<float>(0), call.input_grad<float>(0), call.input_type(0).shape[1]);
  }

 private:
  static void reverse(tenon::View<const float> from, tenon::View<float> to, std::int64_t columns) {
    for (std::int64_t i = 0; i < to.size(); ++i)
      to[i] = from[i / columns * columns + columns - 1 - i % columns];
  }
};
