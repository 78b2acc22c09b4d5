#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "dims.hpp"
#include "pad_axis.hpp"

struct Pad : tenon::Operator {
  tenon::Ints before, after;
  PadMode mode = PadMode::constant;
  double value = 0;

  static constexpr void describe(auto& op) {
    op.doc("x with more elements before and after it along each axis");
    op.types(tenon::every_type);
    op.input("x", "one dimension for each entry of before");
    op.output("y", "larger than x by before + after");
    op.linear("x").when("value", 0.0);
    op.linear("x").when("mode", "edge", "reflect");
    op.param("before", &Pad::before, "elements to add at the beginning of each axis, 0 or more").required();
    op.param("after", &Pad::after, "elements to add at the end of each axis, 0 or more").required();
    op.param("mode", &Pad::mode, "constant: value; edge: the nearest element; reflect: mirrored at the edge, which is not repeated")
        .one_of({{"constant", PadMode::constant}, {"edge", PadMode::edge}, {"reflect", PadMode::reflect}});
    op.param("value", &Pad::value, "the element that mode constant adds");
    op.backward_reads();
    op.example({{"x", {2, 3}}}, {{"before", {0, 1}}, {"after", {1, 1}}});
    op.onnx("", "Pad").since(2).until(10).halves("pads", "before", "after").attribute("mode", "mode").attribute("value", "value");
    op.onnx("", "Pad").since(11).halves(1, "before", "after").input_as("value", 2).attribute("mode", "mode");
  }

  void configure() {
    if (before.size() != after.size())
      throw tenon::Error(tenon::ErrorKind::parameter, "before has ", before.size(), " entries, but after has ", after.size());
    for (const auto* list : {&before, &after})
      for (const auto amount : *list)
        if (amount < 0)
          throw tenon::Error(tenon::ErrorKind::parameter, "elements to add are 0 or more, not ", amount,
                             "; the operator slice removes some");
  }

  void infer(tenon::Infer& io) const {
    if (before.size() > tenon::max_rank) io.param_error("before", "has ", before.size(), " entries, but tensors have at most 8 dimensions");
    const int rank = static_cast<int>(before.size());
    auto x = io.input(0).shape, y = io.output(0).shape;
    io.require(!x.has_rank() || x.rank() == rank, "x is ", x, ", but before and after need rank ", rank);
    io.require(!y.has_rank() || y.rank() == rank, "y is ", y, ", but before and after need rank ", rank);
    if (!x.has_rank()) x = tenon::Shape::of_rank(rank);
    if (!y.has_rank()) y = tenon::Shape::of_rank(rank);
    for (int a = 0; a < rank; ++a) {
      const auto added = amount(io, a);
      if (x[a] == tenon::unknown && y[a] != tenon::unknown) {
        io.require(y[a] >= added, "y is ", y, ", but ", added, " elements are added along axis ", a);
        x.set(a, y[a] - added);
      }
      std::int64_t size = x[a];
      if (size == tenon::unknown) continue;
      if (__builtin_add_overflow(size, added, &size))
        io.param_error("after", "makes axis ", a, " of x, ", x, ", larger than 64 bits can count");
      io.require(x[a] > 0 || added == 0 || mode == PadMode::constant, "x is ", x, ", which has no element to repeat along axis ", a);
      y.set(a, size);
    }
    io.set_input(0, x);
    io.set_output(0, y);
    const auto dtype = io.input(0).dtype;
    if (dtype == tenon::unknown_dtype || (tenon::floating + tenon::any_complex).has(dtype)) return;
    const bool exact =
        tenon::visit<tenon::any_integer + tenon::Types{tenon::boolean}>(dtype, [&]<class T>() { return representable<T>(value); });
    if (!exact) io.param_error("value", "is ", value, ", which ", dtype, " cannot hold");
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::every_type>(call.input_type(0).dtype, [&]<class T>() { forward_as<T>(call); });
  }

  /// Of a constant border: the others are linear.
  void gradient(tenon::Gradient& g) const {
    std::int64_t end[tenon::Ints::capacity];
    for (std::size_t i = 0; i < after.size(); ++i) end[i] = after[i] > 0 ? -after[i] : std::numeric_limits<std::int64_t>::max();
    g.set_input_grad(0, g.add("slice", {g.output_grad(0)}, {{"begin", before}, {"end", tenon::Ints(end, after.size())}}));
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating + tenon::any_complex>(call.input_type(0).dtype, [&]<class T>() { backward_as<T>(call); });
  }

 private:
  std::int64_t amount(const tenon::Infer& io, int a) const {
    std::int64_t sum = 0;
    const auto i = static_cast<std::size_t>(a);
    if (__builtin_add_overflow(before[i], after[i], &sum)) io.param_error("after", "and before add up to more than 64 bits can count");
    return sum;
  }

  template <class T>
  static bool representable(double value) {
    constexpr double exact = 9007199254740992;  // up to 2^53, every whole double is just that integer
    return value >= -exact && value <= exact && value == static_cast<double>(static_cast<std::int64_t>(value)) &&
           value >= static_cast<double>(std::numeric_limits<T>::lowest()) && value <= static_cast<double>(std::numeric_limits<T>::max());
  }

  std::vector<PadAxis> axes_of_y(const tenon::Shape& x) const {
    std::vector<PadAxis> axes;
    for (int a = 0; a < x.rank(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      axes.emplace_back(mode, before[i], x[a], after[i]);
    }
    return axes;
  }

  /// The row of x that a row of y comes from, or -1. A row is what lies along the last axis.
  static std::int64_t source_row(const std::vector<PadAxis>& axes, const tenon::Shape& x, std::int64_t row) {
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

  template <class T>
  void forward_as(const tenon::Call& call) const {
    const auto x = call.input<T>(0);
    const auto y = call.output<T>(0);
    if (y.size() == 0) return;
    if (x.shape().rank() == 0) return void(*y.data() = *x.data());
    const auto fill = static_cast<T>(value);
    const auto axes = axes_of_y(x.shape());
    const auto& along = axes.back();
    const auto width = x.dim(-1), padded = along.padded(), left = before[before.size() - 1];
    call.parallel_for(y.size() / padded, std::max<std::int64_t>(1, 16384 / padded), [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) {
        T* to = y.data() + row * padded;
        const auto source = source_row(axes, x.shape(), row);
        if (source < 0) {
          std::fill_n(to, padded, fill);
          continue;
        }
        const T* from = x.data() + source * width;
        const auto border = [&](std::int64_t i) { to[i] = along[i] < 0 ? fill : from[along[i]]; };
        for (std::int64_t i = 0; i < left; ++i) border(i);
        std::copy_n(from, width, to + left);
        for (auto i = left + width; i < padded; ++i) border(i);
      }
    });
  }

  /// Each element of dx is the sum of all elements of dy that came from it, added up in their order.
  template <class T>
  void backward_as(const tenon::Call& call) const {
    using Sum = std::conditional_t<tenon::is_half<T>, float, T>;
    const auto dy = call.output_grad<T>(0);
    const auto dx = call.input_grad<T>(0);
    if (dx.size() == 0) return;
    if (dx.shape().rank() == 0) return void(*dx.data() = *dy.data());
    const auto axes = axes_of_y(dx.shape());
    const auto& along = axes.back();
    const auto width = dx.dim(-1), padded = along.padded();
    std::vector<Sum> sums(static_cast<std::size_t>(dx.size()));
    for (std::int64_t row = 0; row < dy.size() / padded; ++row) {
      const auto source = source_row(axes, dx.shape(), row);
      for (std::int64_t i = 0; source >= 0 && i < padded; ++i)
        if (along[i] >= 0) sums[static_cast<std::size_t>(source * width + along[i])] += static_cast<Sum>(dy.data()[row * padded + i]);
    }
    for (std::int64_t i = 0; i < dx.size(); ++i) dx.data()[i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
  }
};
