#pragma once
#include "../../shared/bytes.hpp"
#include "shared/box_copy.hpp"
#include "shared/dims.hpp"

// Rules that move transpositions to channels-last after elementwise operators, where they meet
// transpositions to channels-first: converted networks transpose around each convolution. Texts of
// rules must be literals, which only macros can concatenate.
#define TENON_LAST(x) "transpose(" x "; axes=[0, 2, 3, 1])"
#define TENON_PAIR(op, name, first, second) \
  op.exact_rule(name, "transpose(transpose(x; axes=[" first "]); axes=[" second "])", "x")
#define TENON_AFTER(op, function) \
  op.exact_rule(function, function "(" TENON_LAST("x") "; ...)", TENON_LAST(function "(x; ...)"))
#define TENON_AFTER_BOTH(op, function)                                                   \
  op.exact_rule(function "_both", function "(" TENON_LAST("x") ", " TENON_LAST("y") ")", \
                TENON_LAST(function "(x, y)"))
// c! with four dimensions; with one, as only vectors have these axes; and with one element.
#define TENON_FIRST "transpose(c; axes=[0, 3, 1, 2])"
#define TENON_VECTOR "expand_dims(transpose(c; axes=[0]); axis=[0, 2, 3])"
#define TENON_ONE "reshape(c; shape=[])"
#define TENON_AFTER_LEFT(op, name, function, c) \
  op.exact_rule(name, function "(" TENON_LAST("x") ", c!)", TENON_LAST(function "(x, " c ")"))
#define TENON_AFTER_RIGHT(op, name, function, c) \
  op.exact_rule(name, function "(c!, " TENON_LAST("x") ")", TENON_LAST(function "(" c ", x)"))

struct Transpose : tenon::Operator {
  tenon::Ints axes;

  static constexpr void describe(auto& op) {
    op.doc("x with permuted axes (torch.permute)");
    op.types(tenon::storable);
    op.input("x", "any shape");
    op.output("y", "size i of y is size axes[i] of x");
    op.linear("x");
    op.param(
        "axes", &Transpose::axes,
        "permutation of the axes of x; negative axes count from the end; empty: reversed order");
    op.backward_reads();
    op.example({{"x", {2, 3}}}, {{"axes", {1, 0}}});
    op.onnx("", "Transpose").attribute("perm", "axes");
    TENON_PAIR(op, "first_and_last", "0, 3, 1, 2", "0, 2, 3, 1");
    TENON_PAIR(op, "last_and_first", "0, 2, 3, 1", "0, 3, 1, 2");
    TENON_PAIR(op, "rows", "0, 2, 1", "0, 2, 1");
    TENON_PAIR(op, "heads", "0, 2, 1, 3", "0, 2, 1, 3");
    TENON_AFTER(op, "relu");
    TENON_AFTER(op, "clip");
    TENON_AFTER(op, "leaky_relu");
    TENON_AFTER(op, "sigmoid");
    TENON_AFTER_BOTH(op, "add");
    TENON_AFTER_BOTH(op, "mul");
    TENON_AFTER_LEFT(op, "add", "add", TENON_FIRST);
    TENON_AFTER_LEFT(op, "sub", "sub", TENON_FIRST);
    TENON_AFTER_LEFT(op, "mul", "mul", TENON_FIRST);
    TENON_AFTER_LEFT(op, "div", "div", TENON_FIRST);
    TENON_AFTER_LEFT(op, "add_vector", "add", TENON_VECTOR);
    TENON_AFTER_LEFT(op, "sub_vector", "sub", TENON_VECTOR);
    TENON_AFTER_LEFT(op, "mul_vector", "mul", TENON_VECTOR);
    TENON_AFTER_LEFT(op, "add_one", "add", TENON_ONE);
    TENON_AFTER_LEFT(op, "mul_one", "mul", TENON_ONE);
    TENON_AFTER_LEFT(op, "div_one", "div", TENON_ONE);
    TENON_AFTER_RIGHT(op, "add_on_the_right", "add", TENON_FIRST);
    TENON_AFTER_RIGHT(op, "mul_on_the_right", "mul", TENON_FIRST);
    TENON_AFTER_RIGHT(op, "add_vector_on_the_right", "add", TENON_VECTOR);
    TENON_AFTER_RIGHT(op, "mul_one_on_the_right", "mul", TENON_ONE);
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape, y = io.output(0).shape;
    const auto named = static_cast<int>(axes.size());
    if (axes.size() > tenon::max_rank)
      io.param_error("axes", "has ", axes.size(), " axes, but tensors have at most 8 dimensions");
    const int rank = named > 0 ? named : x.has_rank() ? x.rank() : y.has_rank() ? y.rank() : -1;
    if (rank < 0) return io.set_output(0, tenon::Shape());
    axes_of(io, axes, rank, "axes");
    io.require(!x.has_rank() || x.rank() == rank, "x is ", x, ", but axes needs rank ", rank);
    io.require(!y.has_rank() || y.rank() == rank, "y is ", y, ", but axes needs rank ", rank);
    auto to = tenon::Shape::of_rank(rank), from = to;
    for (int a = 0; a < rank; ++a) {
      if (x.has_rank()) to.set(a, x[source(a, rank)]);
      if (y.has_rank()) from.set(source(a, rank), y[a]);
    }
    io.set_output(0, to);
    io.set_input(0, from);
  }

  void forward(const tenon::Call& call) const { permute<BoxCopy>(call); }
  void backward(const tenon::Call& call) const { permute_back<BoxCopy>(call); }

 protected:
  template <class Copy>
  void permute(const tenon::Call& call) const {
    const auto y = call.output_type(0);
    Copy(y.shape, x_strides(call), row_major(y.shape), tenon::size_of(y.dtype))(
        call, bytes::input(call, 0), bytes::output(call, 0));
  }

  template <class Copy>
  void permute_back(const tenon::Call& call) const {
    const auto y = call.output_type(0);
    const Copy copy(y.shape, row_major(y.shape), x_strides(call), tenon::size_of(y.dtype));
    copy(call, bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }

 private:
  /// The axis of x that becomes axis `a` of y.
  int source(int a, int rank) const {
    return axes.size() == 0 ? rank - 1 - a : axis_of(axes[static_cast<std::size_t>(a)], rank);
  }

  /// x's strides in the order of y's axes.
  Strides x_strides(const tenon::Call& call) const {
    const auto x = call.input_type(0).shape;
    const auto strides = row_major(x);
    Strides permuted{};
    for (int a = 0; a < x.rank(); ++a) permuted[a] = strides[source(a, x.rank())];
    return permuted;
  }
};

#undef TENON_LAST
#undef TENON_PAIR
#undef TENON_AFTER
#undef TENON_AFTER_BOTH
#undef TENON_ONE
#undef TENON_FIRST
#undef TENON_VECTOR
#undef TENON_AFTER_LEFT
#undef TENON_AFTER_RIGHT
