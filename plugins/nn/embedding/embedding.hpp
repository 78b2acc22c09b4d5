// Embedding: rows of a table, looked up by index.
#pragma once
#include <tenon/operator.hpp>

struct Embedding : tenon::Operator {
  std::int64_t input_dim = 0, output_dim = 0;
  bool sparse_grad = false;

  static constexpr void describe(auto& op) {
    op.doc("embedding lookup: output[i, :] = weight[indices[i], :]");
    op.version(2);
    op.input("indices", "any shape; row indices from 0 to input_dim - 1").types(tenon::integral);
    op.input("weight", "[input_dim, output_dim]").weight();
    op.output("output", "[shape of indices ..., output_dim]");
    op.linear("weight");
    op.param("input_dim", &Embedding::input_dim, "number of rows of weight").required().at_least(1);
    op.param("output_dim", &Embedding::output_dim, "number of columns of weight")
        .required()
        .at_least(1);
    op.param("sparse_grad", &Embedding::sparse_grad,
             "row_sparse gradient of weight with only the rows in indices, in time and memory "
             "proportional to the batch, as sparse=True of torch.nn.Embedding. Optimizers then "
             "update only these rows (see their `lazy_update`), and operators without a kernel for "
             "row_sparse convert the gradient to dense");
    op.added(2, "sparse_grad");
    op.backward_reads("indices");
    op.accumulates();
    op.example({{"indices", {3}, tenon::i64, {0, 4, 2}}, {"weight", {5, 2}}},
               {{"input_dim", 5}, {"output_dim", 2}});
  }

  void infer(tenon::Infer& io) const {
    io.set_input("weight", {input_dim, output_dim});
    const auto indices = io.input("indices").shape;
    // otherwise it would have the dtype of indices
    if (!indices.has_rank()) return io.set_output(0, tenon::Shape(), io.input("weight").dtype);
    io.require(indices.rank() < 8, "indices is ", indices,
               ": needs at most 7 dimensions, since output has one more");
    auto output = tenon::Shape::of_rank(indices.rank() + 1);
    for (int axis = 0; axis < indices.rank(); ++axis) output.set(axis, indices[axis]);
    output.set(-1, output_dim);
    io.set_output(0, output, io.input("weight").dtype);
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (!sparse_grad || !io.backward()) return;
    for (int i = 0; i < io.inputs(); ++i)
      if (io.input(i) != tenon::Storage::dense) return;
    if (io.output_grad(0) != tenon::Storage::dense) return;
    io.set_output(1, tenon::Storage::row_sparse);
    io.sparse_kernel();
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
  void backward_sparse(const tenon::Call& call) const;
};
