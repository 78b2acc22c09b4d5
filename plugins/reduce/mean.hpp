#pragma once
#include "axes.hpp"
#include "csr_sums.hpp"
#include "rules.hpp"
#include "spread.hpp"

struct Mean : Reduction {
  static constexpr void describe(auto& op) {
    op.doc("the arithmetic mean of x over the given axes; nan for no elements; a csr x gives a dense y in time of what it stores");
    op.types(tenon::any_type);
    op.input("x", "values to average; true counts as 1");
    op.output("y", "x without the reduced axes; float64 for integers and booleans, else x's dtype");
    describe_axes(op);
    op.backward_reads();
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    const auto dtype = io.input(0).dtype;
    infer_reduction(io, dtype == tenon::unknown_dtype || tenon::floating.has(dtype) ? dtype : tenon::f64);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    return reduce_workspace(x, reduced(x.rank()));
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit(type.dtype, [&]<class T>() {
      using Out = std::conditional_t<is_floating<T>, T, double>;
      using Acc = Plain<Out>;
      const auto count = static_cast<Acc>(averaged(type.shape));
      run<Plus<Acc>, T, Out>(call, [count](Acc folded) { return folded / count; });
    });
  }

  void infer_storage(tenon::InferStorage& io) const { infer_csr_reduction(io); }

  void forward_sparse(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto count = static_cast<double>(averaged(type.shape));
    tenon::visit(type.dtype, [&]<class T>() {
      using Out = std::conditional_t<is_floating<T>, T, double>;
      reduce_csr<T, Out>(call, reduced(2), [count](double sum) { return sum / count; });
    });
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() { spread<T>(call, reduced(type.shape.rank()), true); });
  }

 protected:
  /// Elements of x for one of y.
  std::int64_t averaged(const tenon::Shape& x) const {
    std::int64_t count = 1;
    for (int a = 0; a < x.rank(); ++a) count *= reduced(x.rank()) >> a & 1 ? x[a] : 1;
    return count;
  }
};
