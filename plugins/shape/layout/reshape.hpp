#pragma once
#include "../../shared/argument_numbers.hpp"
#include "relabel.hpp"
#include "shared/dims.hpp"

struct Reshape : Relabel {
  tenon::Ints shape;
  bool copy_zeros = false;

  static constexpr void describe(auto& op) {
    op.doc("x in another shape with the same elements in row-major order");
    op.input("x", "any shape");
    describe_argument(op, "sizes", "[rank of y]; replaces the parameter `shape`");
    op.output("y", "`shape`; the elements of x in row-major order");
    op.linear("x");
    op.param(
        "shape", &Reshape::shape,
        "shape of y; one size may be -1, which is inferred; empty: a scalar, or the input sizes");
    op.param("copy_zeros", &Reshape::copy_zeros,
             "replace a size of 0 by x's size along the same axis");
    describe_relabel(op);
    op.example({{"x", {2, 3}}}, {{"shape", {3, 2}}});
    op.example({{"x", {2, 6}}, {"sizes", {3}, tenon::i64, {0, 3, -1}}}, {{"copy_zeros", true}});
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (const auto sizes = argument_numbers(io, "sizes", shape, "shape"))
      infer_from(io, *sizes, x);
    else if (const auto length = io.input("sizes").shape;
             length.known() && length[0] <= tenon::max_rank)
      io.set_output(0, tenon::Shape::of_rank(static_cast<int>(length[0])));
    const auto y = io.output(0).shape;
    require_same_size(io);
    infer_input(io, y, x);
  }

 private:
  void infer_from(tenon::Infer& io, const Numbers& sizes, const tenon::Shape& x) const {
    auto y = shape_of(io, sizes);
    if (std::count(y.begin(), y.end(), tenon::unknown) > 1)
      io.param_error("shape", "contains -1 more than once: ", y);
    bool has_unknown = false;  // whether a size is not known yet
    for (int a = 0; copy_zeros && a < y.rank(); ++a) {
      if (y[a] != 0) continue;
      io.require(!x.has_rank() || a < x.rank(), "x is ", x,
                 ", which has no axis for the size 0 in ", y);
      y.set(a, x.has_rank() ? x[a] : tenon::unknown);
      has_unknown |= y[a] == tenon::unknown;
    }
    if (x.known() && !has_unknown) {
      fill_in(y, x.size());
      io.require(y.known() && y.size() == x.size(), "x is ", x, ", whose ", x.size(),
                 " elements cannot be reshaped to ", shape_of(io, sizes));
    }
    io.set_output(0, y);
  }

  /// Replaces -1 by a size if exactly one size gives `elements` elements.
  static void fill_in(tenon::Shape& shape, std::int64_t elements) {
    std::int64_t others = 1;
    int missing = -1;
    for (int a = 0; a < shape.rank(); ++a)
      shape[a] == tenon::unknown ? void(missing = a) : void(others *= shape[a]);
    if (missing >= 0 && others > 0 && elements % others == 0) shape.set(missing, elements / others);
  }

  static void infer_input(tenon::Infer& io, const tenon::Shape& y, tenon::Shape x) {
    if (!y.known() || !x.has_rank() || std::count(x.begin(), x.end(), tenon::unknown) != 1) return;
    fill_in(x, y.size());
    io.require(x.known() || y.size() == 0, "x is ", x, ", which cannot be reshaped to the ",
               y.size(), " elements of ", y);
    io.set_input(0, x);
  }
};
