// Base of the optimizers: inputs, output, shapes of the states, and the loop over the elements.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <tenon/elementwise/convert.hpp>
#include <tenon/operator.hpp>
#include <type_traits>

#include "flush_denormals.hpp"

/// The type for arithmetic on T and for its moments: small updates would vanish in 16 bits.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Base of operators that update one weight by one step. Updates are elementwise, so the bits do
/// not depend on the number of threads.
struct Optimizer : tenon::Operator {
  bool lazy_update = true;

  /// Only a row_sparse gradient has a sparse kernel; all other inputs are dense.
  void infer_storage(tenon::InferStorage& io) const {
    const auto dense = tenon::Storage::dense;
    if (io.backward() || io.input(0) != dense || io.input(1) != tenon::Storage::row_sparse ||
        io.input(2) != dense)
      return;
    io.sparse_kernel();
  }

 protected:
  static constexpr void describe_step(auto& op) {
    op.version(2);
    op.input("weight", "variable to update, any shape");
    op.input("grad", "gradient of the loss with respect to weight, same shape as weight");
    op.input("learning_rate", "float32 scalar; step size").types({tenon::f32});
    op.output("updated", "weight after the step, same shape as weight");
    op.inplace("weight", "updated");
    op.param("lazy_update", &Optimizer::lazy_update,
             "for a row_sparse gradient, update only the rows of weight and of the states that the "
             "gradient stores, without weight decay and momentum for other rows; false: other rows "
             "take a step with a zero gradient, so that the result is bit-identical to that of a "
             "dense gradient and takes as long");
    op.added(2, "lazy_update");
    op.example({{"weight", {2, 3}}, {"grad", {2, 3}}, {"learning_rate", {}, tenon::f32, {0.5}}});
  }

  /// `moments` names the states that have the weight's shape.
  static void infer_step(tenon::Infer& io, std::initializer_list<const char*> moments = {}) {
    io.set_input("learning_rate", tenon::Shape::scalar());
    io.set_input("grad", io.input("weight").shape);
    io.set_input("weight", io.input("grad").shape);
    const auto weight = io.input("weight");
    io.set_output(0, weight.shape);
    const auto wide = weight.dtype == tenon::f64 || weight.dtype == tenon::unknown_dtype
                          ? weight.dtype
                          : tenon::f32;
    for (const char* name : moments) io.set_state(name, weight.shape, wide);
  }

  /// Whether denormals may be flushed to zero. False for steps that might divide by a denormal.
  bool may_flush() const { return true; }
  static constexpr double min_divisor =
      1e-12;  // the root of a denormal is negligible compared with it

  static double learning_rate(const tenon::Call& call) {
    return static_cast<double>(call.input<float>("learning_rate")[0]);
  }

  /// Calls f.operator()<T>() with the weight's type.
  template <class F>
  static void visit(const tenon::Call& call, F&& f) {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, std::forward<F>(f));
  }

  template <class T>
  static Wide<T>* moment(const tenon::Call& call, const char* name) {
    return call.state<Wide<T>>(name).data();
  }

  /// Runs one step on the CPU. op.rule<T>(call) returns the update rule with its constants; its
  /// begin(learning_rate, more ...) sets the coefficients of this step.
  template <class Op, class... More>
  static void step(const tenon::Call& call, const Op& op, More... more) {
    visit(call, [&]<class T>() {
      auto rule = op.template rule<T>(call);
      rule.begin(learning_rate(call), more...);
      op.template for_each_weight<T>(call, rule, op.may_flush());
    });
  }

  /// rule(i, weight, grad) returns element i of the updated weight, and may update element i of the
  /// moments. With a row_sparse gradient it is called for the elements of stored rows only, or,
  /// without lazy_update, for all of them, with gradients of 0.
  template <class T, class Rule>
  void for_each_weight(const tenon::Call& call, Rule rule, bool flushes) const {
    const auto weight = call.input<T>("weight");
    const Loop<T, Rule> loop{weight.data(), call.output<T>(0).data(), rule, flushes};
    if (call.storage(1) == tenon::Storage::row_sparse) {
      const auto grad = call.row_sparse<T>(1);
      return lazy_update ? stored_rows(call, grad, loop) : all_rows(call, grad, loop);
    }
    const T* const grad = call.input<T>("grad").data();
    call.parallel_for(weight.size(), grain, [=](std::int64_t begin, std::int64_t end) {
      const FlushDenormals flush(loop.flushes);
      loop.run(begin, end, grad + begin);
    });
  }

 private:
  static constexpr std::int64_t grain = 16384;

  template <class T, class Rule>
  struct Loop {
    const T* from;
    T* to;
    Rule rule;
    bool flushes;

    /// `grad` points to the gradient of element `begin`.
    void run(std::int64_t begin, std::int64_t end, const T* grad) const {
      for_each(begin, end, [=](std::int64_t offset) { return Wide<T>(grad[offset]); });
    }
    void run_without_gradient(std::int64_t begin, std::int64_t end) const {
      for_each(begin, end, [](std::int64_t) { return Wide<T>(0); });
    }

   private:
    template <class Grad>
    void for_each(std::int64_t begin, std::int64_t end, const Grad& grad) const {
      tenon::elementwise::for_each(
          end - begin, [=, from = from, to = to, rule = rule](std::int64_t offset) {
            const auto i = begin + offset;
            to[i] = static_cast<T>(rule(i, Wide<T>(from[i]), grad(offset)));
          });
    }
  };

  template <class T, class Rule>
  static void stored_rows(const tenon::Call& call, const tenon::RowSparse<const T>& grad,
                          const Loop<T, Rule>& loop) {
    const auto size = grad.row_size;
    if (loop.to != loop.from)
      call.parallel_for(grad.total_rows * size, grain, [&](std::int64_t begin, std::int64_t end) {
        std::copy(loop.from + begin, loop.from + end, loop.to + begin);
      });
    call.parallel_for(grad.rows, 1 + grain / std::max<std::int64_t>(size, 1),
                      [&](std::int64_t begin, std::int64_t end) {
                        const FlushDenormals flush(loop.flushes);
                        for (auto row = begin; row < end; ++row)
                          loop.run(grad.row_ids[row] * size, (grad.row_ids[row] + 1) * size,
                                   grad.values + row * size);
                      });
  }

  template <class T, class Rule>
  static void all_rows(const tenon::Call& call, const tenon::RowSparse<const T>& grad,
                       const Loop<T, Rule>& loop) {
    const auto size = grad.row_size;
    call.parallel_for(
        grad.total_rows, 1 + grain / std::max<std::int64_t>(size, 1),
        [&](std::int64_t begin, std::int64_t end) {
          const FlushDenormals flush(loop.flushes);
          auto stored =
              std::lower_bound(grad.row_ids, grad.row_ids + grad.rows, begin) - grad.row_ids;
          for (auto row = begin; row < end; ++stored) {
            const auto next = stored < grad.rows ? std::min(grad.row_ids[stored], end) : end;
            loop.run_without_gradient(row * size, next * size);
            if (next < end) loop.run(next * size, (next + 1) * size, grad.values + stored * size);
            row = next + 1;
          }
        });
  }
};
