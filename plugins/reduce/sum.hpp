// sum and mean: one class, parameterized by the final step.
#pragma once
#include "../shared/rules.hpp"
#include "axes.hpp"
#include "broadcast_gradient.hpp"
#include "csr_sums.hpp"

struct Added {
  static constexpr const char* doc =
      "sum of x over the reduced axes, 0 over no elements; for csr x, y is dense, and time depends "
      "on the number of stored elements";
  static constexpr const char* x_doc = "any shape; true counts as 1";
  static constexpr const char* y_doc =
      "x's shape without the reduced axes, or with size 1 along them if `keepdims` is set; int64 "
      "for integers and booleans, uint64 for uint64, otherwise x's dtype";
  static constexpr const char* onnx = "ReduceSum";
  static constexpr int axes_are_input = 13;
  static constexpr tenon::Types preserved = tenon::floating + tenon::Types{tenon::i64, tenon::u64};
  static constexpr bool divided = false;
  using OfWhole = std::int64_t;  ///< y's element type if x has integers or booleans
};

struct Averaged {
  static constexpr const char* doc =
      "arithmetic mean of x over the reduced axes, NaN over no elements; for csr x, y is dense, "
      "and time depends on the number of stored elements";
  static constexpr const char* x_doc = "any shape; true counts as 1";
  static constexpr const char* y_doc =
      "x's shape without the reduced axes, or with size 1 along them if `keepdims` is set; float64 "
      "for integers and booleans, otherwise x's dtype";
  static constexpr const char* onnx = "ReduceMean";
  static constexpr int axes_are_input = 18;
  static constexpr tenon::Types preserved = tenon::floating;
  static constexpr bool divided = true;
  using OfWhole = double;
};

/// Turns a sum of type Acc into the result.
template <class Rule, class Acc>
struct Finish {
  Acc count;

  TENON_FN Acc operator()(Acc sum) const {
    if constexpr (Rule::divided)
      return sum / count;
    else
      return sum;
  }
};

/// Rule: Added for sum, Averaged for mean.
template <class Rule>
struct Sum : Reduction {
  static constexpr void describe(auto& op) {
    op.doc(Rule::doc);
    op.types(tenon::every_type);
    op.input("x", Rule::x_doc);
    describe_axes_input(op);
    op.output("y", Rule::y_doc);
    op.linear("x");
    describe_axes(op);
    op.backward_reads("axes");
    op.accumulates();
    op.example({{"x", {2, 3}}}, {{"axis", {1}}});
    op.example({{"x", {2, 3}}, {"axes", {1}, tenon::i64, {-1}}});
    describe_onnx(op, Rule::onnx, Rule::axes_are_input, Rule::preserved);
    if constexpr (Rule::divided) describe_rules(op);
  }

  // Pooling reads channels-last tensors, which convolutions write.
  static constexpr void describe_rules(auto& op) {
    op.rule("of_planes", "mean(x:4; axis=[2, 3], keepdims=true)", "global_avg_pool(x)");
    op.rule("of_planes_from_the_end", "mean(x:4; axis=[-2, -1], keepdims=true)",
            "global_avg_pool(x)");
    op.rule("of_planes_without_axes", "mean(x:4; axis=[2, 3])",
            "squeeze(global_avg_pool(x); axis=[2, 3])");
    op.rule("of_planes_from_the_end_without_axes", "mean(x:4; axis=[-2, -1])",
            "squeeze(global_avg_pool(x); axis=[2, 3])");
  }

  void infer(tenon::Infer& io) const {
    const auto dtype = io.input(0).dtype;
    const bool preserved = dtype == tenon::unknown_dtype ||
                           (tenon::floating + tenon::any_complex).has(dtype) ||
                           (dtype == tenon::u64 && !Rule::divided);
    infer_reduction(io, preserved ? dtype : tenon::dtype_of<typename Rule::OfWhole>);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    return run_workspace(
        io, io.input(0).dtype == tenon::c128 ? sizeof(tenon::Complex<double>) : sizeof(double));
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::every_type>(call.input_type(0).dtype, [&]<class T>() {
      using Acc = Wide<Out<T>>;
      run<Plus<Acc>, T, Out<T>>(call, finish<Acc>(call));
    });
  }

  void infer_storage(tenon::InferStorage& io) const { infer_csr_reduction(io); }

  void forward_sparse(const tenon::Call& call) const {
    tenon::visit<tenon::every_type>(call.input_type(0).dtype, [&]<class T>() {
      reduce_csr<T, Out<T>>(call, reduced(call), finish<CsrSum<Out<T>>>(call));
    });
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating + tenon::any_complex>(
        type.dtype, [&]<class T>() { broadcast_gradient<T>(call, reduced(call), Rule::divided); });
  }

 protected:
  /// y's element type if x has elements of type T.
  template <class T>
  using Out = std::conditional_t<is_floating<T> || tenon::is_complex<T> ||
                                     (std::is_same_v<T, std::uint64_t> && !Rule::divided),
                                 T, typename Rule::OfWhole>;

  template <class Acc>
  Finish<Rule, Acc> finish(const tenon::Call& call) const {
    return {static_cast<Acc>(divisor(call))};
  }

  /// Number of elements of x per result for mean; 1 for sum.
  std::int64_t divisor(const tenon::Call& call) const {
    const auto x = call.input_type(0).shape;
    std::int64_t count = 1;
    const auto mask = Rule::divided ? reduced(call) : 0;
    for (int a = 0; Rule::divided && a < x.rank(); ++a) count *= mask >> a & 1 ? x[a] : 1;
    return count;
  }
};
