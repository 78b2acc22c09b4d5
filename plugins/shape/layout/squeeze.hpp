#pragma once
#include "../../shared/argument_numbers.hpp"
#include "relabel.hpp"
#include "shared/dims.hpp"

struct Squeeze : Relabel {
  tenon::Ints axis;

  static constexpr void describe(auto& op) {
    op.doc("x without axes of size 1");
    op.input("x", "any shape");
    describe_argument(op, "axes", "[n]; replaces the parameter `axis`");
    op.output("y", "x's shape without the removed axes; the same elements");
    op.linear("x");
    op.param("axis", &Squeeze::axis,
             "axes to remove; negative axes count from the end; empty: all axes of size 1");
    describe_relabel(op);
    op.example({{"x", {2, 1, 3}}}, {{"axis", {1}}});
    op.onnx("", "Squeeze").until(12).inputs("x").attribute("axes", "axis");
    op.onnx("", "Squeeze").since(13).inputs("x").input_as("axis", 1);
  }

  void infer(tenon::Infer& io) const {
    const auto y = io.output(0).shape;
    auto x = io.input(0).shape;
    const auto numbers = argument_numbers(io, "axes", axis, "axis");
    if (!numbers) return require_same_size(io);
    const auto& axis = *numbers;
    const auto removed = static_cast<int>(std::min<std::size_t>(axis.size(), tenon::max_rank + 1));
    if (!x.has_rank() && y.has_rank() && removed > 0) {
      if (y.rank() + removed > tenon::max_rank)
        io.param_error("axis", "removes ", axis.size(), " axes, but y is ", y,
                       " and x has at most 8 dimensions");
      x = tenon::Shape::of_rank(y.rank() + removed);
    }
    if (!x.has_rank()) return io.set_output(0, tenon::Shape());

    const auto gone = removed > 0 ? axes_of(io, axis, x.rank()) : ones(x);
    if (removed == 0 && std::count(x.begin(), x.end(), tenon::unknown) > 0)
      return io.set_output(0, tenon::Shape());
    auto rest = tenon::Shape::of_rank(x.rank() - std::popcount(gone));
    const bool comparable = y.has_rank() && y.rank() == rest.rank();
    for (int a = 0, to = 0; a < x.rank(); ++a) {
      if (gone >> a & 1) {
        io.require(x[a] == 1 || x[a] == tenon::unknown, "x is ", x, ", but axis ", a,
                   " needs size 1");
        x.set(a, 1);
      } else {
        rest.set(to, x[a]);
        if (x[a] == tenon::unknown && comparable) x.set(a, y[to]);
        ++to;
      }
    }
    io.set_output(0, rest);
    io.set_input(0, x);
  }

 private:
  static unsigned ones(const tenon::Shape& x) {
    unsigned mask = 0;
    for (int a = 0; a < x.rank(); ++a) mask |= x[a] == 1 ? 1u << a : 0;
    return mask;
  }
};
