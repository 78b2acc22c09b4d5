#pragma once
#include <tenon/operator.hpp>

/// Everything that depends only on the shape is computed at planning time.
struct ShapeOf : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("shape of x as a tensor");
    op.types(tenon::storable);
    op.input("x", "any shape; only the shape is read").shape_only();
    op.output("sizes", "int64 [rank of x]");
    op.backward_reads();
    op.example({{"x", {2, 3}}});
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    io.set_output(0, {x.has_rank() ? x.rank() : tenon::unknown}, tenon::i64);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0).shape;
    std::copy(x.begin(), x.end(), call.output<std::int64_t>(0).data());
  }
};
