// The parameters that every reduction has, and what they make of a shape.
#pragma once
#include <bit>
#include <tenon/operator.hpp>

#include "../shared/reduction.hpp"

struct Reduction : tenon::Operator {
  tenon::Ints axis;
  bool keepdims = false;

 protected:
  /// Bit a is set where axis a of an x of this rank is reduced. The axes must have passed infer_reduction.
  unsigned reduced(int rank) const {
    if (rank < 0) return 0;
    unsigned mask = axis.size() == 0 ? (1u << rank) - 1 : 0;
    for (const auto a : axis) mask |= 1u << (a < 0 ? a + rank : a);
    return mask;
  }

  static constexpr void describe_axes(auto& op) {
    op.param("axis", &Reduction::axis, "axes to reduce, negative ones counted from the end; empty = all of them");
    op.param("keepdims", &Reduction::keepdims, "keep the reduced axes, with size 1");
  }

  /// Since axes_are_input, the axes are no attribute. types: those for which ONNX's result has the dtype that ours has.
  static constexpr void describe_onnx(auto& op, const char* type, int axes_are_input,
                                      tenon::Types types = tenon::any_real + tenon::Types{tenon::boolean}) {
    op.onnx("", type).until(axes_are_input - 1).types(types).attribute("axes", "axis").attribute("keepdims", "keepdims", 1);
    op.onnx("", type)
        .since(axes_are_input)
        .types(types)
        .input_as("axis", 1)
        .attribute("keepdims", "keepdims", 1)
        .only("noop_with_empty_axes", 0);
  }

  /// y's shape from x's, and what y's tells about x's.
  void infer_reduction(tenon::Infer& io, tenon::DType dtype) const {
    const int rank = rank_of_x(io);
    if (rank < 0) {
      io.set_output(0, axis.size() == 0 && !keepdims ? tenon::Shape::of_rank(0) : tenon::Shape(), dtype);
      return;
    }
    check_axes(io, rank);
    io.set_input(0, kept_from_y(io.output(0).shape, rank));
    const auto x = io.input(0).shape;
    std::int64_t dims[8] = {};
    int count = 0;
    for (int a = 0; a < rank; ++a) {
      const bool gone = reduced(rank) >> a & 1;
      if (!gone || keepdims) dims[count++] = gone ? 1 : x[a];
    }
    io.set_output(0, tenon::Shape(dims, count), dtype);
  }

  /// sum, mean, max and min: x folded by Rule, then finished.
  template <class Rule, class T, class Out, class Finish>
  void run(const tenon::Call& call, Finish finish) const {
    const auto shape = call.input_type(0).shape;
    const auto mask = reduced(shape.rank());
    const auto bytes = reduce_workspace(shape, mask);
    auto* scratch = bytes > 0 ? call.workspace<typename Rule::Acc>(bytes / sizeof(double)) : nullptr;
    reduce<Rule>(call, call.input<T>(0), call.output<Out>(0), mask, call.write(0) == tenon::Write::add, scratch, finish);
  }

  /// For reductions without a result for no elements.
  void require_elements(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (!x.has_rank()) return;
    bool none_reduced = false, has_results = true;
    for (int a = 0; a < x.rank(); ++a) (reduced(x.rank()) >> a& 1 ? none_reduced |= x[a] == 0 : has_results &= x[a] > 0);
    io.require(!none_reduced || !has_results, "x is ", x, ", which leaves no elements to choose from along the reduced axes");
  }

 private:
  int rank_of_x(const tenon::Infer& io) const {
    const auto x = io.input(0).shape, y = io.output(0).shape;
    if (x.has_rank()) return x.rank();
    if (!y.has_rank()) return -1;
    if (keepdims) return y.rank();
    if (axis.size() == 0) return -1;
    io.require(axis.size() <= 8u - y.rank(), "y is ", y, " and ", axis.size(), " axes are reduced, but tensors have at most 8 dimensions");
    return y.rank() + static_cast<int>(axis.size());
  }

  void check_axes(const tenon::Infer& io, int rank) const {
    unsigned seen = 0;
    for (const auto a : axis) {
      if (a < -rank || a >= rank) io.param_error("axis", "names axis ", a, ", which is out of range for x with rank ", rank);
      const auto bit = 1u << (a < 0 ? a + rank : a);
      if (seen & bit) io.param_error("axis", "names axis ", a, " twice");
      seen |= bit;
    }
  }

  tenon::Shape kept_from_y(const tenon::Shape& y, int rank) const {
    auto x = tenon::Shape::of_rank(rank);
    const int gone = std::popcount(reduced(rank));
    if (!y.has_rank() || y.rank() != (keepdims ? rank : rank - gone)) return x;  // set_output will show a contradiction
    for (int a = 0, from = 0; a < rank; ++a) {
      const bool is_reduced = reduced(rank) >> a & 1;
      if (!is_reduced) x.set(a, y[from]);
      from += !is_reduced || keepdims;
    }
    return x;
  }
};
