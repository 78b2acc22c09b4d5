#pragma once
#include "../../shared/argument_numbers.hpp"
#include "../../shared/bytes.hpp"
#include "../../shared/reduction.hpp"
#include "../../shared/rules.hpp"
#include "shared/box_copy.hpp"
#include "shared/dims.hpp"

struct BroadcastTo : tenon::Operator {
  tenon::Ints shape;
  bool both_ways = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "x broadcast to a shape: repeated along axes of size 1 and along new leading axes "
        "(torch.expand)");
    op.types(tenon::storable);
    op.input("x", "a shape that broadcasts to `shape`");
    describe_argument(op, "sizes", "[rank of y]; replaces the parameter `shape`");
    op.output("y", "`shape`, or the common broadcast shape of x and `shape` if `both_ways` is set");
    op.linear("x");
    op.param("shape", &BroadcastTo::shape, "shape of y; empty: a scalar, or the input sizes");
    op.param("both_ways", &BroadcastTo::both_ways,
             "broadcast x and `shape` with each other, as ONNX Expand; false: y has exactly the "
             "shape `shape`");
    op.backward_reads();
    op.example({{"x", {1, 3}}}, {{"shape", {2, 3}}});
    op.example({{"x", {3, 1}}, {"sizes", {3}, tenon::i64, {2, 1, 4}}}, {{"both_ways", true}});
    op.onnx("", "Expand").since(8).inputs("x").input_as("shape", 1).constant("both_ways", true);
  }

  void infer(tenon::Infer& io) const {
    const auto sizes = argument_numbers(io, "sizes", shape, "shape");
    const auto x = io.input(0).shape;
    if (sizes) {
      const auto target = shape_of(io, *sizes);
      if (!target.known()) io.param_error("shape", "is ", target, ", but needs known sizes");
      io.set_output(0, both_ways ? joined(target, x) : target);
    } else {
      infer_rank(io, x);
    }
    const auto y = io.output(0).shape;
    if (!x.has_rank() || !y.has_rank()) return;
    bool fits = x.rank() <= y.rank();
    for (int a = 1; fits && a <= x.rank(); ++a)
      fits = x[-a] == 1 || x[-a] == tenon::unknown || y[-a] == tenon::unknown || x[-a] == y[-a];
    io.require(fits, "x is ", x, ", which does not broadcast to ", y);
  }

  void forward(const tenon::Call& call) const { repeat<BoxCopy>(call); }

  /// dx is the sum of dy over all repetitions of x.
  void backward(const tenon::Call& call) const {
    const auto axes = repeated_axes(call.input_type(0).shape, call.output_type(0).shape);
    tenon::visit<tenon::floating + tenon::any_complex>(call.input_type(0).dtype, [&]<class T>() {
      reduce<Plus<Plain<T>>>(call, call.output_grad<T>(0), call.input_grad<T>(0), axes, false,
                             nullptr, [](Plain<T> sum) { return sum; });
    });
  }

 protected:
  template <class Copy>
  void repeat(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    if (call.has_input("sizes")) require_output(call, target_of(call, x.shape));
    Strides repeated{};
    const auto strides = row_major(x.shape);
    const int fresh = y.shape.rank() - x.shape.rank();
    for (int a = 0; a < x.shape.rank(); ++a) repeated[fresh + a] = x.shape[a] == 1 ? 0 : strides[a];
    Copy(y.shape, repeated, row_major(y.shape), tenon::size_of(x.dtype))(
        call, bytes::input(call, 0), bytes::output(call, 0));
  }

  /// Bit mask of the axes of y that x does not have, or has with size 1.
  static unsigned repeated_axes(const tenon::Shape& x, const tenon::Shape& y) {
    const int fresh = y.rank() - x.rank();
    unsigned repeated = (1u << fresh) - 1;
    for (int a = 0; a < x.rank(); ++a) repeated |= x[a] == 1 ? 1u << (fresh + a) : 0;
    return repeated;
  }

 private:
  /// The length of sizes gives y's rank. Sizes of x other than 1 are sizes of y, too.
  void infer_rank(tenon::Infer& io, const tenon::Shape& x) const {
    const auto length = io.input("sizes").shape;
    if (!length.known() || length[0] > tenon::max_rank || (both_ways && !x.has_rank())) return;
    auto y = tenon::Shape::of_rank(std::max(static_cast<int>(length[0]), both_ways ? x.rank() : 0));
    for (int a = 1; a <= std::min(x.rank(), y.rank()); ++a)
      y.set(-a, x[-a] == 1 ? tenon::unknown : x[-a]);
    io.set_output(0, y);
  }

  tenon::Shape target_of(const tenon::Call& call, const tenon::Shape& x) const {
    const auto sizes = argument_numbers(call, "sizes", shape);
    const tenon::Shape target(sizes.data(), static_cast<int>(sizes.size()));
    return both_ways ? joined(target, x) : target;
  }

  /// The broadcast shape of both, as far as x is known; a's size if they contradict each other.
  static tenon::Shape joined(const tenon::Shape& a, const tenon::Shape& x) {
    if (!x.has_rank()) return tenon::Shape();
    auto y = tenon::Shape::of_rank(std::max(a.rank(), x.rank()));
    for (int i = 1; i <= y.rank(); ++i) {
      const auto left = i <= a.rank() ? a[-i] : 1, right = i <= x.rank() ? x[-i] : 1;
      y.set(-i, left == 1 ? right : left);
    }
    return y;
  }
};
