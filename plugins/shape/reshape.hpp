#pragma once
#include "dims.hpp"
#include "relabel.hpp"

struct Reshape : Relabel {
  tenon::Ints shape;

  static constexpr void describe(auto& op) {
    op.doc("the elements of x in row-major order, in another shape");
    op.input("x", "any shape");
    op.output("y", "as many elements as x");
    op.linear("x");
    op.param("shape", &Reshape::shape, "shape of y; one size may be -1, which follows from the others").required();
    describe_relabel(op);
    op.example({{"x", {2, 3}}}, {{"shape", {3, 2}}});
  }

  void infer(tenon::Infer& io) const {
    auto y = shape_of(io, shape);
    const auto x = io.input(0).shape;
    if (std::count(y.begin(), y.end(), tenon::unknown) > 1) io.param_error("shape", "has -1 more than once: ", y);
    if (x.known()) {
      fill_in(y, x.size());
      io.require(y.known() && y.size() == x.size(), "x is ", x, ", whose ", x.size(), " elements do not fit ", shape_of(io, shape));
    }
    io.set_output(0, y);
    infer_input(io, io.output(0).shape, x);
  }

 private:
  /// Puts a size in the place of -1 where there is just one that gives so many elements.
  static void fill_in(tenon::Shape& shape, std::int64_t elements) {
    std::int64_t others = 1;
    int missing = -1;
    for (int a = 0; a < shape.rank(); ++a) shape[a] == tenon::unknown ? void(missing = a) : void(others *= shape[a]);
    if (missing >= 0 && others > 0 && elements % others == 0) shape.set(missing, elements / others);
  }

  static void infer_input(tenon::Infer& io, const tenon::Shape& y, tenon::Shape x) {
    if (!y.known() || !x.has_rank() || std::count(x.begin(), x.end(), tenon::unknown) != 1) return;
    fill_in(x, y.size());
    io.require(x.known() || y.size() == 0, "x is ", x, ", which cannot have the ", y.size(), " elements of ", y);
    io.set_input(0, x);
  }
};
