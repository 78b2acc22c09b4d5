// Matrix products for all devices: parameters, shape inference, and the products of a batch.
#pragma once
#include <tenon/operator.hpp>

#include "batch.hpp"

/// Base of matmul and quantized_matmul. Base: tenon::Operator, or a class with more parameters.
template <class Base>
struct MatmulLayer : Base {
  bool transpose_a = false, transpose_b = false;

  void infer(tenon::Infer& io) const {
    auto a = io.input(0).shape, b = io.input(1).shape;
    if (!a.has_rank() || !b.has_rank()) return;
    io.require(a.rank() > 0 && b.rank() > 0, "needs matrices or vectors, not scalars");
    io.require(!transpose_a || a.rank() > 1, "transpose_a needs a matrix, not a vector");
    io.require(!transpose_b || b.rank() > 1, "transpose_b needs a matrix, not a vector");

    const int a_inner = transpose_a ? -2 : -1, b_inner = b.rank() == 1 || transpose_b ? -1 : -2;
    const auto inner = a[a_inner] != tenon::unknown ? a[a_inner] : b[b_inner];
    io.require(b[b_inner] == inner || b[b_inner] == tenon::unknown,
               transpose_a ? "transposed a has " : "a has ", inner, " columns but ",
               transpose_b ? "transposed b has " : "b has ", b[b_inner], " rows");
    a.set(a_inner, inner);
    b.set(b_inner, inner);
    io.set_input(0, a);
    io.set_input(1, b);

    const auto batch_a = batch_axes(a), batch_b = batch_axes(b);
    for (int axis = 0; axis < std::min(batch_a.rank(), batch_b.rank()); ++axis)
      io.require(batch::joinable(batch_a[-1 - axis], batch_b[-1 - axis]), "batch axes ", batch_a,
                 " and ", batch_b, " do not broadcast");
    io.set_output(0, product_shape(a, b));
  }

  double flops(const tenon::Infer& io) const {
    const auto a = io.input(0).shape;
    const bool complex = tenon::any_complex.has(io.input(0).dtype);
    return (complex ? 8.0 : 2.0) * static_cast<double>(io.output(0).shape.size()) *
           static_cast<double>(a[transpose_a ? -2 : -1]);
  }
  double backward_flops(const tenon::Infer& io) const { return 2 * flops(io); }

 protected:
  /// The products of a call. A vector is one row or one column; if one matrix b serves all
  /// products, the batch of a becomes additional rows.
  struct Sizes {
    std::int64_t rows, inner, columns, count_a, count_b, products;
  };
  template <class T>
  struct Operands : Sizes {
    const T *a, *b;
  };

  /// For each product of the broadcast batch, the index of its matrix in the product, in a and in
  /// b.
  struct Members {
    std::vector<std::int64_t> product, a, b;
  };

  static tenon::Shape oriented(tenon::Shape shape, bool transposed) {
    if (!transposed) return shape;
    const auto last = shape[-1];
    shape.set(-1, shape[-2]);
    shape.set(-2, last);
    return shape;
  }

  static tenon::Shape batch_axes(const tenon::Shape& shape) {
    auto axes = tenon::Shape::of_rank(std::max(shape.rank() - 2, 0));
    for (int i = 0; i < axes.rank(); ++i) axes.set(i, shape[i]);
    return axes;
  }

  static tenon::Shape joined(const tenon::Shape& left, const tenon::Shape& right) {
    auto axes = tenon::Shape::of_rank(std::max(left.rank(), right.rank()));
    for (int i = 0; i < axes.rank(); ++i)
      axes.set(-1 - i, batch::joined(batch::dim_from_end(left, i), batch::dim_from_end(right, i)));
    return axes;
  }

  tenon::Shape product_shape(const tenon::Shape& a, const tenon::Shape& b) const {
    const auto axes = joined(batch_axes(a), batch_axes(b));
    const int rows = a.rank() > 1, columns = b.rank() > 1;
    auto shape = tenon::Shape::of_rank(axes.rank() + rows + columns);
    for (int i = 0; i < axes.rank(); ++i) shape.set(i, axes[i]);
    if (rows) shape.set(axes.rank(), oriented(a, transpose_a)[-2]);
    if (columns) shape.set(-1, oriented(b, transpose_b)[-1]);
    return shape;
  }

  Sizes sizes_of(const tenon::Shape& a, const tenon::Shape& b) const {
    const auto left = oriented(a, transpose_a), right = oriented(b, transpose_b);
    const auto batch_a = batch_axes(left), batch_b = batch_axes(right),
               axes = joined(batch_a, batch_b);
    const bool one = batch_b.size() == 1 && batch_a == axes && !transpose_a;
    return {(left.rank() > 1 ? left[-2] : 1) * (one ? axes.size() : 1),
            left[-1],
            right.rank() > 1 ? right[-1] : 1,
            one ? 1 : batch_a.size(),
            batch_b.size(),
            one ? 1 : axes.size()};
  }

  /// Null for the csr side.
  template <class T>
  static const T* data_of(const tenon::Call& call, int i) {
    return call.storage(i) == tenon::Storage::dense ? call.input<T>(i).data() : nullptr;
  }

  /// Calls body(operands, members) with the operands of the call.
  template <class T, class Body>
  void with_operands(const tenon::Call& call, Body body) const {
    const auto a = call.input_type(0).shape, b = call.input_type(1).shape;
    const Operands<T> operands{sizes_of(a, b), data_of<T>(call, 0), data_of<T>(call, 1)};
    body(operands, members_of(a, b, operands));
  }

  static Members members_of(const tenon::Shape& a, const tenon::Shape& b, const Sizes& sizes) {
    if (sizes.products == 1) return {{0}, {0}, {0}};
    const auto batch_a = batch_axes(a), batch_b = batch_axes(b), axes = joined(batch_a, batch_b);
    return {batch::members(axes, axes), batch::members(batch_a, axes),
            batch::members(batch_b, axes)};
  }
};

struct MatmulShapes : MatmulLayer<tenon::Operator> {
  bool row_sparse_product = false, dense_grad = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "matrix product a @ b, as torch.matmul and numpy.matmul: the last two axes hold matrices, "
        "and the leading batch axes broadcast. If one operand is csr and the other dense, memory "
        "and time depend on the number of stored elements; the gradient of the csr operand is "
        "dense");
    op.version(2);
    op.types(tenon::Types{tenon::f32, tenon::f64} + tenon::any_complex);
    op.input("a", "[..., m, k] or a vector [k]");
    op.input("b", "[..., k, n] or a vector [k]");
    op.output("product", "[..., m, n]; no m if a is a vector, no n if b is a vector");
    op.linear("a", "b");
    op.param("transpose_a", &MatmulShapes::transpose_a,
             "a has the shape [..., k, m] and is transposed before the product");
    op.param("transpose_b", &MatmulShapes::transpose_b,
             "b has the shape [..., n, k] and is transposed before the product");
    op.param(
        "row_sparse_product", &MatmulShapes::row_sparse_product,
        "if a is csr, return a row_sparse product without the rows in which a stores no element");
    op.param("dense_grad", &MatmulShapes::dense_grad,
             "dense gradient of b if a is csr and b is not transposed; false: row_sparse, with one "
             "row for each column in which a stores an element, so that optimizers update only "
             "these rows of b (see their `lazy_update`)");
    op.added(2, "row_sparse_product");
    op.added(2, "dense_grad");
    op.backward_reads("a", "b");
    op.accumulates();
    op.onnx("", "MatMul");
    // Rules for dense layers as other formats write them.
    op.rule("dense", "add(matmul(x, w!), b!)",
            "fused_fully_connected(x, transpose(w; axes=[1, 0]), b; flatten=false)");
    op.rule("dense_on_the_right", "add(b!, matmul(x, w!))",
            "fused_fully_connected(x, transpose(w; axes=[1, 0]), b; flatten=false)");
    op.rule("transposed", "matmul(a, transpose(b; axes=[0, 1, 3, 2]))",
            "matmul(a, b; transpose_b=true)");
    op.rule("transposed_batch", "matmul(a, transpose(b; axes=[0, 2, 1]))",
            "matmul(a, b; transpose_b=true)");
    op.rule("transposed_matrix", "matmul(a, transpose(b; axes=[1, 0]))",
            "matmul(a, b; transpose_b=true)");
    op.example({{"a", {2, 3}}, {"b", {3, 4}}});
  }

  void infer_storage(tenon::InferStorage& io) const {
    using tenon::Storage;
    if (tenon::any_complex.has(io.input_type(0).dtype)) return;
    const bool csr_a = io.input(0) == Storage::csr;
    if (csr_a == (io.input(1) == Storage::csr) || io.input(csr_a ? 1 : 0) != Storage::dense) return;
    if (io.backward() && io.output_grad(0) != Storage::dense) return;
    if (!io.backward() && csr_a && row_sparse_product) io.set_output(0, Storage::row_sparse);
    if (io.backward() && csr_a && !dense_grad && !transpose_b)
      io.set_output(1, Storage::row_sparse);
    io.sparse_kernel();
  }
};
