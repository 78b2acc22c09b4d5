#pragma once
#include "../shared/reduction.hpp"
#include "../shared/rules.hpp"
#include "box_copy.hpp"
#include "bytes.hpp"
#include "dims.hpp"

struct BroadcastTo : tenon::Operator {
  tenon::Ints shape;

  static constexpr void describe(auto& op) {
    op.doc("x broadcast to a shape: repeated along axes of size 1 and along new axes in front");
    op.types(tenon::every_type);
    op.input("x", "each size is 1 or that of shape, compared from the last axis");
    op.output("y", "the given shape");
    op.linear("x");
    op.param("shape", &BroadcastTo::shape, "shape of y").required();
    op.backward_reads();
    op.example({{"x", {1, 3}}}, {{"shape", {2, 3}}});
    op.onnx("", "Expand").since(8).input_as("shape", 1);
  }

  void infer(tenon::Infer& io) const {
    const auto y = shape_of(io, shape), x = io.input(0).shape;
    if (!y.known()) io.param_error("shape", "is ", y, ", but every size must be known");
    io.set_output(0, y);
    if (!x.has_rank()) return;
    bool fits = x.rank() <= y.rank();
    for (int a = 1; fits && a <= x.rank(); ++a) fits = x[-a] == 1 || x[-a] == tenon::unknown || x[-a] == y[-a];
    io.require(fits, "x is ", x, ", which does not broadcast to ", y);
  }

  void forward(const tenon::Call& call) const { repeat<BoxCopy>(call); }

  /// dx is the sum of dy over everything that repeated x.
  void backward(const tenon::Call& call) const {
    const auto axes = repeated_axes(call.input_type(0).shape, call.output_type(0).shape);
    tenon::visit<tenon::floating + tenon::any_complex>(call.input_type(0).dtype, [&]<class T>() {
      reduce<Plus<Plain<T>>>(call, call.output_grad<T>(0), call.input_grad<T>(0), axes, false, nullptr, [](Plain<T> sum) { return sum; });
    });
  }

 protected:
  template <class Copy>
  void repeat(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    Strides repeated{};
    const auto strides = row_major(x.shape);
    const int fresh = y.shape.rank() - x.shape.rank();
    for (int a = 0; a < x.shape.rank(); ++a) repeated[fresh + a] = x.shape[a] == 1 ? 0 : strides[a];
    Copy(y.shape, repeated, row_major(y.shape), tenon::size_of(x.dtype))(call, bytes::input(call, 0), bytes::output(call, 0));
  }

  /// A bit for each axis of y that x does not have, or has with size 1.
  static unsigned repeated_axes(const tenon::Shape& x, const tenon::Shape& y) {
    const int fresh = y.rank() - x.rank();
    unsigned repeated = (1u << fresh) - 1;
    for (int a = 0; a < x.rank(); ++a) repeated |= x[a] == 1 ? 1u << (fresh + a) : 0;
    return repeated;
  }
};
