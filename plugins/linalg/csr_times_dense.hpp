// Shape and storage inference of csr_times_dense, for all devices.
#pragma once
#include <tenon/operator.hpp>

struct CsrTimesDense : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("matrix product left @ right, with a dedicated kernel for csr left");
    op.types({tenon::f32});
    op.input("left", "[m, k], csr or dense");
    op.input("right", "[k, n]");
    op.output("product", "[m, n]");
    op.example({{"left", {2, 3}}, {"right", {3, 4}}});
  }

  void infer(tenon::Infer& io) const {
    const auto l = io.input(0).shape, r = io.input(1).shape;
    if (!l.has_rank() || !r.has_rank()) return;
    io.require(l.rank() == 2 && r.rank() == 2, "needs two matrices, but the inputs are ", l,
               " and ", r);
    io.require(l[1] == r[0] || l[1] == tenon::unknown || r[0] == tenon::unknown, "left ", l,
               " has ", l[1], " columns but right ", r, " has ", r[0],
               " rows: needs equal numbers");
    io.set_output(0, {l[0], r[1]});
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(0) == tenon::Storage::csr && io.input(1) == tenon::Storage::dense) {
      io.set_output(0, tenon::Storage::dense);
      io.sparse_kernel();
    }
  }

  void forward(const tenon::Call& call) const;
  void forward_sparse(const tenon::Call& call) const;
};
