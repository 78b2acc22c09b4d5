#pragma once
#include "axes.hpp"
#include "csr_sums.hpp"
#include "rules.hpp"
#include "spread.hpp"

struct Sum : Reduction {
  static constexpr void describe(auto& op) {
    op.doc("the sum of x over the given axes; a csr x gives a dense y in time of what it stores");
    op.types(tenon::any_type);
    op.input("x", "values to add; true counts as 1");
    op.output("y", "x without the reduced axes; int64 for integers and booleans, else x's dtype");
    describe_axes(op);
    op.backward_reads();
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    const auto dtype = io.input(0).dtype;
    infer_reduction(io, dtype == tenon::unknown_dtype || tenon::floating.has(dtype) ? dtype : tenon::i64);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    return reduce_workspace(x, reduced(x.rank()));
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit(type.dtype, [&]<class T>() {
      using Out = std::conditional_t<is_floating<T>, T, std::int64_t>;
      run<Plus<Wide<T>>, T, Out>(call, [](Wide<T> folded) { return folded; });
    });
  }

  void infer_storage(tenon::InferStorage& io) const { infer_csr_reduction(io); }

  void forward_sparse(const tenon::Call& call) const {
    tenon::visit(call.input_type(0).dtype, [&]<class T>() {
      using Out = std::conditional_t<is_floating<T>, T, std::int64_t>;
      reduce_csr<T, Out>(call, reduced(2), [](CsrSum<Out> sum) { return sum; });
    });
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() { spread<T>(call, reduced(type.shape.rank()), false); });
  }
};
