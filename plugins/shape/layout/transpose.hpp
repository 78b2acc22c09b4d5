#pragma once
#include "../../shared/bytes.hpp"
#include "shared/box_copy.hpp"
#include "shared/dims.hpp"

struct Transpose : tenon::Operator {
  tenon::Ints axes;

  static constexpr void describe(auto& op) {
    op.doc("x with permuted axes (torch.permute)");
    op.types(tenon::every_type);
    op.input("x", "any shape");
    op.output("y", "size i of y is size axes[i] of x");
    op.linear("x");
    op.param(
        "axes", &Transpose::axes,
        "permutation of the axes of x; negative axes count from the end; empty: reversed order");
    op.backward_reads();
    op.example({{"x", {2, 3}}}, {{"axes", {1, 0}}});
    op.onnx("", "Transpose").attribute("perm", "axes");
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
