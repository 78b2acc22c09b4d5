// Base of the reductions: parameters, shape inference and reduction over axes.
#pragma once
#include <bit>
#include <string>
#include <tenon/operator.hpp>

#include "../shared/argument_numbers.hpp"
#include "../shared/reduction.hpp"

struct Reduction : tenon::Operator {
  tenon::Ints axis;
  bool keepdims = false;
  bool noop_with_empty_axes = false;

 protected:
  /// Bit a is set if axis a is reduced for an x of this rank. The axes must have passed
  /// infer_reduction.
  unsigned reduced(int rank) const { return rank < 0 ? 0 : mask_of(axis, rank); }

  /// The mask in forward and backward, where the axes may come from an input. Error: they
  /// contradict y's shape, if it was known before.
  unsigned reduced(const tenon::Call& call) const {
    const auto x = call.input_type(0).shape;
    if (!call.has_input("axes")) return reduced(x.rank());
    const auto axes = argument_numbers(call, "axes", axis);
    checked_axes(axes, x.rank());
    const auto mask = mask_of(axes, x.rank());
    require_output(call, without(x, mask));
    return mask;
  }

  static constexpr void describe_axes(auto& op) {
    op.param("axis", &Reduction::axis,
             "axes to reduce; negative axes count from the end; empty: all axes");
    op.param("keepdims", &Reduction::keepdims, "keep the reduced axes with size 1");
  }

  /// axes_are_input: the opset since which the axes are an input instead of an attribute. types:
  /// those for which ONNX's result has the same dtype as ours. on: a flag that is always set in
  /// ONNX.
  static constexpr void describe_onnx(auto& op, const char* type, int axes_are_input,
                                      tenon::Types types = tenon::any_real +
                                                           tenon::Types{tenon::boolean},
                                      const char* on = nullptr) {
    auto attributes = op.onnx("", type).until(axes_are_input - 1);
    attributes.types(types)
        .inputs("x")
        .attribute("axes", "axis")
        .attribute("keepdims", "keepdims", 1);
    if (on) attributes.constant(on, true);
    auto inputs = op.onnx("", type).since(axes_are_input);
    inputs.types(types).inputs("x").input_as("axis", 1).attribute("keepdims", "keepdims", 1);
    inputs.attribute("noop_with_empty_axes", "noop_with_empty_axes");
    if (on) inputs.constant(on, true);
  }

  /// For operators whose axes may come from an input.
  static constexpr void describe_axes_input(auto& op) {
    describe_argument(op, "axes", "[n]; replaces the parameter `axis`");
    op.param("noop_with_empty_axes", &Reduction::noop_with_empty_axes,
             "if no axes are set, reduce none of them, as in ONNX; false: reduce all axes");
  }

  /// Infers y's shape from x's, and x's sizes from y's.
  void infer_reduction(tenon::Infer& io, tenon::DType dtype) const {
    const auto axes = argument_axes(io);
    if (!axes) {
      const auto x = io.input(0).shape;
      return io.set_output(
          0, keepdims && x.has_rank() ? tenon::Shape::of_rank(x.rank()) : tenon::Shape(), dtype);
    }
    const int rank = rank_of_x(io, *axes);
    if (rank < 0) {
      io.set_output(0,
                    axes->empty() && !noop_with_empty_axes && !keepdims ? tenon::Shape::of_rank(0)
                                                                        : tenon::Shape(),
                    dtype);
      return;
    }
    check_axes(io, *axes, rank);
    const auto mask = mask_of(*axes, rank);
    io.set_input(0, retained_from_y(io.output(0).shape, mask, rank));
    io.set_output(0, without(io.input(0).shape, mask), dtype);
  }

  /// sum, mean, max and min: folds x by Rule, then applies finish.
  template <class Rule, class T, class Out, class Finish>
  void run(const tenon::Call& call, Finish finish) const {
    const auto shape = call.input_type(0).shape;
    const auto mask = reduced(call);
    const auto bytes = call.has_input("axes") ? 0 : reduce_workspace(shape, mask);
    auto* scratch =
        bytes > 0 ? call.workspace<typename Rule::Acc>(bytes / sizeof(double)) : nullptr;
    reduce<Rule>(call, call.input<T>(0), call.output<Out>(0), mask,
                 call.write(0) == tenon::Write::add, scratch, finish);
  }

  /// The workspace of run(), which is the same whether or not the axes are known at planning time.
  std::size_t run_workspace(const tenon::Infer& io,
                            std::size_t accumulator = sizeof(double)) const {
    const auto x = io.input(0).shape;
    return io.has_input("axes") ? 0 : reduce_workspace(x, reduced(x.rank()), accumulator);
  }

  /// The algorithm of a forward pass; empty if x has no elements or the axes are not known. CUDA
  /// kernels are derived from the same classes, so only OnCpu calls it.
  std::string algorithm_on_cpu(const tenon::Infer& io, bool may_split = true) const {
    const auto x = io.input(0).shape;
    const auto axes = argument_axes(io);
    if (!axes || x.size() == 0) return {};
    const ReductionTiling tiling(x, mask_of(*axes, x.rank()));
    return choice::text_of(choose_reduction(tiling, x.size(), may_split && !io.has_input("axes")));
  }

  /// For reductions that have no result over zero elements.
  void require_elements(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    const auto axes = argument_axes(io);
    if (!x.has_rank() || !axes) return;
    const auto mask = mask_of(*axes, x.rank());
    bool none_reduced = false, has_results = true;
    for (int a = 0; a < x.rank(); ++a)
      (mask >> a& 1 ? none_reduced |= x[a] == 0 : has_results &= x[a] > 0);
    io.require(
        !none_reduced || !has_results, "x is ", x,
        ", which has no elements along the reduced axes: needs at least one for each result");
  }

 private:
  std::optional<Numbers> argument_axes(const tenon::Infer& io) const {
    return argument_numbers(io, "axes", axis, "axis");
  }

  template <class List>
  unsigned mask_of(const List& axes, int rank) const {
    unsigned mask = axes.empty() && !noop_with_empty_axes ? (1u << rank) - 1 : 0;
    for (const auto a : axes) mask |= 1u << (a < 0 ? a + rank : a);
    return mask;
  }

  /// y's shape.
  tenon::Shape without(const tenon::Shape& x, unsigned mask) const {
    std::int64_t dims[8] = {};
    int count = 0;
    for (int a = 0; a < x.rank(); ++a) {
      const bool gone = mask >> a & 1;
      if (!gone || keepdims) dims[count++] = gone ? 1 : x[a];
    }
    return {dims, count};
  }

  int rank_of_x(const tenon::Infer& io, const Numbers& axes) const {
    const auto x = io.input(0).shape, y = io.output(0).shape;
    if (x.has_rank()) return x.rank();
    if (!y.has_rank()) return -1;
    if (keepdims) return y.rank();
    if (axes.empty()) return noop_with_empty_axes ? y.rank() : -1;
    io.require(axes.size() <= 8u - y.rank(), "y is ", y, " and ", axes.size(),
               " axes are reduced: tensors have at most 8 dimensions");
    return y.rank() + static_cast<int>(axes.size());
  }

  static void check_axes(const tenon::Infer& io, const Numbers& axes, int rank) {
    unsigned seen = 0;
    for (const auto a : axes) {
      if (a < -rank || a >= rank)
        io.param_error("axis", "refers to axis ", a, ", which is out of range for x with rank ",
                       rank);
      const auto bit = 1u << (a < 0 ? a + rank : a);
      if (seen & bit) io.param_error("axis", "refers to axis ", a, " twice");
      seen |= bit;
    }
  }

  tenon::Shape retained_from_y(const tenon::Shape& y, unsigned mask, int rank) const {
    auto x = tenon::Shape::of_rank(rank);
    const int gone = std::popcount(mask);
    if (!y.has_rank() || y.rank() != (keepdims ? rank : rank - gone))
      return x;  // set_output reports the contradiction
    for (int a = 0, from = 0; a < rank; ++a) {
      const bool is_reduced = mask >> a & 1;
      if (!is_reduced) x.set(a, y[from]);
      from += !is_reduced || keepdims;
    }
    return x;
  }
};
