#pragma once
#include <cstring>

#include "../../shared/bytes.hpp"
#include "shared/dims.hpp"

/// The size of y is known only after the kernel has run.
struct Compress : tenon::Operator {
  tenon::Ints axis;

  static constexpr void describe(auto& op) {
    op.doc(
        "slices of x along `axis`, or elements of x, for which condition is true (ONNX Compress)");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("x", "any shape");
    op.input("condition",
             "[n], n at most the number of slices or elements; slices or elements after the first "
             "n are dropped")
        .types({tenon::boolean});
    op.output("y",
              "x's shape with size count along `axis`, or [count] without an axis; count is the "
              "number of true elements of condition")
        .allocated();
    op.param("axis", &Compress::axis,
             "axis of the slices; negative axes count from the end; empty: the elements of x in "
             "row-major order");
    op.backward_reads("condition");
    op.example({{"x", {3, 3}}, {"condition", {3}, tenon::boolean, {1, 0, 1}}}, {{"axis", {1}}});
    op.example({{"x", {3, 2}}, {"condition", {2}, tenon::boolean, {0, 1}}});
    op.onnx("", "Compress").since(9).attribute("axis", "axis");
  }

  void infer(tenon::Infer& io) const {
    if (axis.size() > 1)
      io.param_error("axis", "has ", axis.size(), " axes, but needs at most one");
    const auto x = io.input(0).shape;
    io.set_input(1, tenon::Shape::of_rank(1));
    if (axis.empty()) return io.set_output(0, {tenon::unknown}, io.input(0).dtype);
    if (!x.has_rank()) return io.set_output(0, tenon::Shape(), io.input(0).dtype);
    auto y = x;
    y.set(axis_of(io, axis[0], x.rank()), tenon::unknown);
    io.set_output(0, y, io.input(0).dtype);
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const AxisSplit split(*this, type.shape, call.input<bool>(1));
    auto y = type.shape;
    if (axis.empty())
      y = {split.selected};
    else
      y.set(axis_of(axis[0], y.rank()), split.selected);
    tenon::visit<tenon::any_real + tenon::Types{tenon::boolean}>(
        type.dtype, [&]<class T>() { call.allocate<T>(0, y); });
    const auto size = tenon::size_of(type.dtype);
    const auto* const from = bytes::input(call, 0);
    auto* to = bytes::output(call, 0);
    split.each(size, [&](std::int64_t offset, std::size_t bytes) {
      std::memcpy(to, from + offset, bytes);
      to += bytes;
    });
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto size = tenon::size_of(type.dtype);
    const AxisSplit split(*this, type.shape, call.input<bool>(1));
    auto* const dx = bytes::input_grad(call, 0);
    const auto* dy = bytes::output_grad(call, 0);
    std::memset(dx, 0, static_cast<std::size_t>(type.shape.size()) * size);
    split.each(size, [&](std::int64_t offset, std::size_t bytes) {
      std::memcpy(dx + offset, dy, bytes);
      dy += bytes;
    });
  }

 private:
  struct AxisSplit {
    std::int64_t outer = 1, count = 1, inner = 1, selected = 0;
    tenon::View<const bool> condition;

    AxisSplit(const Compress& op, const tenon::Shape& x, tenon::View<const bool> which)
        : condition(which) {
      if (op.axis.empty()) {
        count = x.size();
      } else {
        const int along = axis_of(op.axis[0], x.rank());
        for (int a = 0; a < x.rank(); ++a) (a < along ? outer : a > along ? inner : count) *= x[a];
      }
      if (which.size() > count)
        throw tenon::Error(tenon::ErrorKind::type, "condition has ", which.size(),
                           " elements, but there are only ", count, " slices");
      selected = std::count(which.begin(), which.end(), true);
    }

    /// Calls body(offset in bytes, number of bytes) for each selected run.
    template <class Body>
    void each(std::size_t size, Body body) const {
      const auto bytes = static_cast<std::size_t>(inner) * size;
      for (std::int64_t o = 0; o < outer && bytes > 0; ++o)
        for (std::int64_t i = 0; i < condition.size(); ++i)
          if (condition.data()[i]) body((o * count + i) * static_cast<std::int64_t>(bytes), bytes);
    }
  };
};
