#pragma once
#include "../../shared/argument_numbers.hpp"
#include "relabel.hpp"
#include "shared/dims.hpp"

struct ExpandDims : Relabel {
  tenon::Ints axis;

  static constexpr void describe(auto& op) {
    op.doc("x with additional axes of size 1 (torch.unsqueeze)");
    op.input("x", "any shape");
    describe_argument(op, "axes", "[n]; replaces the parameter `axis`");
    op.output("y", "x's shape with additional axes of size 1; the same elements");
    op.linear("x");
    op.param("axis", &ExpandDims::axis,
             "positions of the new axes in y; negative positions count from the end");
    describe_relabel(op);
    op.example({{"x", {2, 3}}}, {{"axis", {1}}});
    op.onnx("", "Unsqueeze").until(12).inputs("x").attribute("axes", "axis");
    op.onnx("", "Unsqueeze").since(13).inputs("x").input_as("axis", 1);
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape, y = io.output(0).shape;
    const auto numbers = argument_numbers(io, "axes", axis, "axis");
    const auto count =
        numbers ? static_cast<std::int64_t>(numbers->size()) : io.input("axes").shape.size();
    if (!numbers) {
      if (x.has_rank() && count >= 0 && x.rank() + count <= tenon::max_rank)
        io.set_output(0, tenon::Shape::of_rank(x.rank() + static_cast<int>(count)));
      return require_same_size(io);
    }
    const auto& axis = *numbers;
    const auto added = static_cast<int>(std::min<std::size_t>(axis.size(), tenon::max_rank + 1));
    const int rank = x.has_rank() ? x.rank() + added : y.has_rank() ? y.rank() : -1;
    if (rank < 0) return io.set_output(0, tenon::Shape());
    if (rank > tenon::max_rank)
      io.param_error("axis", "adds ", axis.size(), " dimensions to x, ", x,
                     ", but tensors have at most 8");
    const auto is_new = axes_of(io, axis, rank);
    io.require(rank >= added, "y is ", y, ", which has no room for ", added, " new axes");
    auto whole = tenon::Shape::of_rank(rank), rest = tenon::Shape::of_rank(rank - added);
    for (int a = 0, from = 0; a < rank; ++a) {
      const bool fresh = is_new >> a & 1;
      whole.set(a, fresh ? 1 : x.has_rank() ? x[from] : tenon::unknown);
      if (!fresh) rest.set(from++, y.has_rank() && y.rank() == rank ? y[a] : tenon::unknown);
    }
    io.set_output(0, whole);
    io.set_input(0, rest);
  }
};
