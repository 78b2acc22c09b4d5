#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../../shared/argument_numbers.hpp"
#include "../../shared/bytes.hpp"
#include "pad_axis.hpp"
#include "shared/dims.hpp"

struct Pad : tenon::Operator {
  tenon::Ints before, after, axes;
  PadMode mode = PadMode::constant;
  double value = 0;

  static constexpr void describe(auto& op) {
    op.doc("x padded or cropped at both ends of each axis (ONNX Pad)");
    op.types(tenon::storable);
    op.input("x", "one axis for each value of `before`, or any shape if `axes` is set");
    describe_argument(op, "widths",
                      "[2 * n]; n values of `before`, then n of `after`; replaces both parameters");
    op.input("fill", "scalar or [1]; replaces the parameter `value`").optional();
    describe_argument(op, "along", "[n]; replaces the parameter `axes`");
    op.output("y", "x's sizes + `before` + `after` along each axis");
    op.linear("x").when("mode", "edge", "reflect", "wrap");
    op.param(
        "before", &Pad::before,
        "number of elements added at the start of each axis; negative: number of elements removed");
    op.param(
        "after", &Pad::after,
        "number of elements added at the end of each axis; negative: number of elements removed");
    op.param("mode", &Pad::mode,
             "added elements: constant: `value`; edge: the nearest element; reflect: x mirrored "
             "without repeating its edge; wrap: x continued from its opposite end")
        .one_of({{"constant", PadMode::constant},
                 {"edge", PadMode::edge},
                 {"reflect", PadMode::reflect},
                 {"wrap", PadMode::wrap}});
    op.param("value", &Pad::value, "value of the added elements if mode is constant");
    op.param("axes", &Pad::axes,
             "axes to which `before` and `after` apply; negative axes count from the end; empty: "
             "all axes");
    op.backward_reads("widths", "along");
    op.example({{"x", {2, 3}}}, {{"before", {0, 1}}, {"after", {1, 1}}});
    op.example({{"x", {2, 3}},
                {"widths", {2}, tenon::i64, {-1, 2}},
                {"fill", {}},
                {"along", {1}, tenon::i64, {-1}}});
    op.onnx("", "Pad")
        .since(2)
        .until(10)
        .inputs("x")
        .halves("pads", "before", "after")
        .attribute("mode", "mode")
        .attribute("value", "value");
    op.onnx("", "Pad")
        .since(11)
        .inputs("x")
        .halves(1, "before", "after")
        .input_as("value", 2)
        .input_as("axes", 3)
        .attribute("mode", "mode");
  }

  void configure() {
    if (before.size() != after.size())
      throw tenon::Error(tenon::ErrorKind::parameter, "before has ", before.size(),
                         " values, but after has ", after.size(), ": needs equal numbers");
  }

  void infer(tenon::Infer& io) const {
    if (before.size() > tenon::max_rank)
      io.param_error("before", "has ", before.size(),
                     " values, but tensors have at most 8 dimensions");
    if (io.has_input("fill") && io.input("fill").shape.known())
      io.require(io.input("fill").shape.size() == 1, "fill is ", io.input("fill").shape,
                 ", but needs one element");
    const bool whole = axes.empty() && !io.has_input("along"),
               by_parameters = !io.has_input("widths");
    auto x = io.input(0).shape, y = io.output(0).shape;
    const int rank = x.has_rank()             ? x.rank()
                     : y.has_rank()           ? y.rank()
                     : whole && by_parameters ? static_cast<int>(before.size())
                                              : -1;
    if (rank < 0) return io.set_output(0, tenon::Shape());
    if (!x.has_rank()) x = tenon::Shape::of_rank(rank);
    io.require(!y.has_rank() || y.rank() == rank, "y is ", y, ", but x has rank ", rank);
    if (!y.has_rank()) y = tenon::Shape::of_rank(rank);
    if (const auto widths = widths_of(io, rank)) infer_sizes(io, *widths, x, y);
    io.set_input(0, x);
    io.set_output(0, y);
    const auto dtype = io.input(0).dtype;
    if (dtype == tenon::unknown_dtype || io.has_input("fill") ||
        (tenon::floating + tenon::any_complex).has(dtype))
      return;
    if (tenon::low_bit.has(dtype) && mode != PadMode::constant) return;
    const bool exact = tenon::low_bit.has(dtype)
                           ? low_bit_holds(dtype)
                           : tenon::visit<tenon::any_integer + tenon::Types{tenon::boolean}>(
                                 dtype, [&]<class T>() { return representable<T>(value); });
    if (!exact) io.param_error("value", "is ", value, ", which ", dtype, " cannot represent");
  }

  void forward(const tenon::Call& call) const {
    const auto dtype = call.input_type(0).dtype;
    if (tenon::low_bit.has(dtype)) return forward_as(call, low_bit_code(dtype));
    tenon::visit<tenon::every_type>(dtype,
                                    [&]<class T>() { forward_as<T>(call, static_cast<T>(value)); });
  }

  /// For mode constant; the other modes are linear. Padding is removed, and removed elements are
  /// padded.
  void gradient(tenon::Gradient& g) const {
    const auto dy = g.output_grad(0);
    const auto along = g.has_input("along") ? g.input("along") : tenon::Gradient::Value();
    const auto dx =
        g.has_input("widths")
            ? g.add("pad", {dy, g.add("neg", {g.input("widths")}), {}, along}, {{"axes", axes}})
            : g.add("pad", {dy, {}, {}, along},
                    {{"before", negated(before)}, {"after", negated(after)}, {"axes", axes}});
    g.set_input_grad(0, dx);
    if (!g.has_input("fill")) return;
    const auto rest = g.add("sub", {g.add("sum", {dy}), g.add("sum", {dx})}),
               fill = g.input("fill");
    g.set_input_grad("fill", g.add("broadcast_to", {rest, g.add("shape", {fill})}));
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating + tenon::any_complex>(call.input_type(0).dtype, [&]<class T>() {
      if (call.write(0) != tenon::Write::none) backward_as<T>(call);
      if (call.has_input("fill") && call.write(2) != tenon::Write::none) sum_of_fill<T>(call);
    });
  }

 private:
  /// Elements to add along each axis of x.
  struct Widths {
    Numbers before, after;
  };

  static Widths per_axis(const Numbers& both, const Numbers& axes, int rank) {
    const auto count = both.size() / 2;
    if (both.size() % 2 != 0 ||
        count != (axes.empty() ? static_cast<std::size_t>(rank) : axes.size()))
      throw tenon::Error(tenon::ErrorKind::type, "before and after have ", count,
                         axes.empty() ? " values each, but x has rank "
                                      : " values each, but the number of axes is ",
                         axes.empty() ? static_cast<std::size_t>(rank) : axes.size());
    checked_axes(axes, rank);
    Widths widths{Numbers(static_cast<std::size_t>(rank)), Numbers(static_cast<std::size_t>(rank))};
    for (std::size_t i = 0; i < count; ++i) {
      const auto a =
          static_cast<std::size_t>(axes.empty() ? static_cast<int>(i) : axis_of(axes[i], rank));
      widths.before[a] = both[i];
      widths.after[a] = both[count + i];
    }
    return widths;
  }

  Numbers both() const {
    Numbers both(before.begin(), before.end());
    both.insert(both.end(), after.begin(), after.end());
    return both;
  }

  std::optional<Widths> widths_of(const tenon::Infer& io, int rank) const {
    const auto along = argument_numbers(io, "along", axes, "axes"),
               widths = argument_numbers(io, "widths", before, "before");
    if (!along || !widths) return {};
    return per_axis(io.has_input("widths") ? *widths : both(), *along, rank);
  }
  /// Equal to those in infer(), unless y's shape was known without them.
  Widths widths_of(const tenon::Call& call) const {
    const auto x = call.input_type(0).shape;
    auto widths = per_axis(call.has_input("widths") ? argument_numbers(call, "widths", {}) : both(),
                           argument_numbers(call, "along", axes), x.rank());
    auto padded = x;
    for (int a = 0; a < x.rank(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      padded.set(a, std::max<std::int64_t>(0, x[a] + widths.before[i] + widths.after[i]));
      if (x[a] == 0 && padded[a] > 0 && mode != PadMode::constant)
        throw tenon::Error("x is ", x, ", which has no elements to repeat");
    }
    require_output(call, padded);
    return widths;
  }

  void infer_sizes(const tenon::Infer& io, const Widths& widths, tenon::Shape& x,
                   tenon::Shape& y) const {
    for (int a = 0; a < x.rank(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      std::int64_t added = 0;
      if (__builtin_add_overflow(widths.before[i], widths.after[i], &added))
        io.param_error("after", "and before add up to more than 64 bits can represent");
      if (x[a] == tenon::unknown && y[a] != tenon::unknown) {
        io.require(y[a] >= added, "y is ", y, ", but ", added, " elements are added along axis ",
                   a);
        x.set(a, y[a] - added);
      }
      std::int64_t size = x[a];
      if (size == tenon::unknown) continue;
      if (__builtin_add_overflow(size, added, &size))
        io.param_error("after", "makes axis ", a, " of x, ", x,
                       ", larger than 64 bits can represent");
      io.require(size >= 0 && widths.before[i] >= -x[a] && widths.after[i] >= -x[a], "x is ", x,
                 ", but ", widths.before[i], " before and ", widths.after[i],
                 " after remove more elements than axis ", a, " has");
      io.require(x[a] > 0 || added == 0 || mode == PadMode::constant, "x is ", x,
                 ", which has no elements to repeat along axis ", a);
      y.set(a, size);
    }
  }

  static tenon::Ints negated(const tenon::Ints& list) {
    std::int64_t opposite[tenon::Ints::capacity] = {};
    for (std::size_t i = 0; i < list.size(); ++i) opposite[i] = -list[i];
    return {opposite, list.size()};
  }

  template <class T>
  static bool representable(double value) {
    constexpr double exact =
        9007199254740992;  // up to 2^53, doubles represent all integers exactly
    return value >= -exact && value <= exact &&
           value == static_cast<double>(static_cast<std::int64_t>(value)) &&
           value >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
           value <= static_cast<double>(std::numeric_limits<T>::max());
  }

  std::vector<PadAxis> axes_of_y(const tenon::Shape& x, const Widths& widths) const {
    std::vector<PadAxis> axes;
    for (int a = 0; a < x.rank(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      axes.emplace_back(mode, widths.before[i], x[a], widths.after[i]);
    }
    return axes;
  }

  /// The row of x that a row of y is copied from, or -1. Rows are along the last axis.
  static std::int64_t source_row(const std::vector<PadAxis>& axes, const tenon::Shape& x,
                                 std::int64_t row) {
    std::int64_t source = 0, stride = 1;
    for (int a = x.rank() - 2; a >= 0; --a) {
      const auto& axis = axes[static_cast<std::size_t>(a)];
      const auto at = axis[row % axis.padded()];
      row /= axis.padded();
      if (at < 0) return -1;
      source += at * stride;
      stride *= x[a];
    }
    return source;
  }

  std::uint8_t low_bit_code(tenon::DType dtype) const {
    return tenon::low_bit_format(dtype).encode(static_cast<float>(value), false);  // keeps infinity
  }
  bool low_bit_holds(tenon::DType dtype) const {
    const double held = tenon::low_bit_format(dtype).decode(low_bit_code(dtype));
    return held == value || (std::isnan(held) && std::isnan(value));
  }

  /// T: the type of x, or the byte that stores a low-bit number.
  template <class T>
  void forward_as(const tenon::Call& call, T fill) const {
    const auto shape = call.input_type(0).shape;
    const auto size = call.output_type(0).shape.size();
    const T* const x = reinterpret_cast<const T*>(bytes::input(call, 0));
    T* const y = reinterpret_cast<T*>(bytes::output(call, 0));
    if (size == 0) return;
    if (shape.rank() == 0) return void(*y = *x);
    if (call.has_input("fill")) fill = *reinterpret_cast<const T*>(bytes::input(call, 2));
    const auto widths = widths_of(call);
    const auto axes = axes_of_y(shape, widths);
    const auto& along = axes.back();
    const auto width = shape[-1], padded = along.padded();
    // the segment copied contiguously from x: after `left` elements of y, without x's first
    // `skipped` elements
    const auto left = std::clamp<std::int64_t>(widths.before.back(), 0, padded),
               skipped = std::max<std::int64_t>(-widths.before.back(), 0);
    const auto whole = std::max<std::int64_t>(0, std::min(padded - left, width - skipped));
    call.parallel_for(size / padded, std::max<std::int64_t>(1, 16384 / padded),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto row = begin; row < end; ++row) {
                          T* to = y + row * padded;
                          const auto source = source_row(axes, shape, row);
                          if (source < 0) {
                            std::fill_n(to, padded, fill);
                            continue;
                          }
                          const T* from = x + source * width;
                          const auto border = [&](std::int64_t i) {
                            to[i] = along[i] < 0 ? fill : from[along[i]];
                          };
                          for (std::int64_t i = 0; i < left; ++i) border(i);
                          std::copy_n(from + skipped, whole, to + left);
                          for (auto i = left + whole; i < padded; ++i) border(i);
                        }
                      });
  }

  /// The gradient of fill: the sum of all elements of dy that were copied from it.
  template <class T>
  void sum_of_fill(const tenon::Call& call) const {
    using Sum = std::conditional_t<tenon::is_half<T>, float, T>;
    const auto dy = call.output_grad<T>(0);
    const auto x = call.input_type(0).shape;
    Sum sum(0);
    const auto axes = axes_of_y(x, widths_of(call));
    const auto padded = axes.empty() ? 1 : axes.back().padded();
    for (std::int64_t row = 0; !axes.empty() && padded > 0 && row < dy.size() / padded; ++row) {
      const auto source = source_row(axes, x, row);
      for (std::int64_t i = 0; i < padded; ++i)
        if (source < 0 || axes.back()[i] < 0) sum += static_cast<Sum>(dy.data()[row * padded + i]);
    }
    *call.input_grad<T>(2).data() = static_cast<T>(sum);
  }

  /// Each element of dx is the sum of the elements of dy that were copied from it, in their order.
  template <class T>
  void backward_as(const tenon::Call& call) const {
    using Sum = std::conditional_t<tenon::is_half<T>, float, T>;
    const auto dy = call.output_grad<T>(0);
    const auto dx = call.input_grad<T>(0);
    if (dx.size() == 0) return;
    if (dx.shape().rank() == 0) return void(*dx.data() = *dy.data());
    const auto axes = axes_of_y(dx.shape(), widths_of(call));
    const auto& along = axes.back();
    const auto width = dx.dim(-1), padded = along.padded();
    std::vector<Sum> sums(static_cast<std::size_t>(dx.size()));
    for (std::int64_t row = 0; padded > 0 && row < dy.size() / padded; ++row) {
      const auto source = source_row(axes, dx.shape(), row);
      for (std::int64_t i = 0; source >= 0 && i < padded; ++i)
        if (along[i] >= 0)
          sums[static_cast<std::size_t>(source * width + along[i])] +=
              static_cast<Sum>(dy.data()[row * padded + i]);
    }
    for (std::int64_t i = 0; i < dx.size(); ++i)
      dx.data()[i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
  }
};
