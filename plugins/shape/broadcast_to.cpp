#include "../reduce/reduction.hpp"
#include "../reduce/rules.hpp"
#include "box_copy.hpp"
#include "bytes.hpp"
#include "dims.hpp"

struct BroadcastTo : tenon::Operator {
  tenon::Ints shape;

  static constexpr void describe(auto& op) {
    op.doc("x repeated along axes of size 1 and along new axes in front, up to a shape");
    op.types(tenon::any_type);
    op.input("x", "sizes that are 1 or equal to those of shape, compared from the last");
    op.output("y", "of the shape given");
    op.param("shape", &BroadcastTo::shape, "shape of y").required();
    op.backward_reads();
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

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    Strides repeated{};
    const auto strides = row_major(x.shape);
    const int fresh = y.shape.rank() - x.shape.rank();
    for (int a = 0; a < x.shape.rank(); ++a) repeated[fresh + a] = x.shape[a] == 1 ? 0 : strides[a];
    BoxCopy(y.shape, repeated, row_major(y.shape), tenon::size_of(x.dtype))(call, bytes::input(call, 0), bytes::output(call, 0));
  }

  /// dx is the sum of dy over everything that repeated x.
  void backward(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    const int fresh = y.shape.rank() - x.shape.rank();
    unsigned repeated = (1u << fresh) - 1;
    for (int a = 0; a < x.shape.rank(); ++a) repeated |= x.shape[a] == 1 ? 1u << (fresh + a) : 0;
    tenon::visit<tenon::floating>(x.dtype, [&]<class T>() {
      reduce<Plus<Plain<T>>>(call, call.output_grad<T>(0), call.input_grad<T>(0), repeated, false, nullptr,
                             [](Plain<T> sum) { return sum; });
    });
  }
};
TENON_OPERATOR(broadcast_to, BroadcastTo)
