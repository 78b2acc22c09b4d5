// Shares of one axis: positive, and 1 together.
#include <cmath>
#include <tenon/operator.hpp>

#include "axis.hpp"
#include "exponentials.hpp"
#include "store.hpp"

struct Softmax : tenon::Operator {
  std::int32_t axis = -1;

  static constexpr void describe(auto& op) {
    op.doc("exp(data) / sum(exp(data)) along one axis, so that its elements are positive and sum to 1");
    op.input("data", "at least one dimension");
    op.output("output", "same shape as data");
    op.param("axis", &Softmax::axis, "the axis that sums to 1; negative axes count from the end").at_least(-8).at_most(7);
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("output");
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    if (!data.has_rank()) return;
    require_axis(io, data, axis);
    io.set_output(0, data);
  }

  void forward(const tenon::Call& call) const {
    const auto along = Axis::of(call.input_type(0).shape, axis);
    const auto write = call.write(0);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const x = call.input<T>(0).data();
      T* const y = call.output<T>(0).data();
      for_each_run(call, along, [&](std::int64_t start) {
        const Exponentials<T> row(x + start, along.length, along.inner);
        for (auto i = start; i < start + along.length * along.inner; i += along.inner) store(write, y[i], row.share(x[i]));
      });
    });
  }

  /// dx = y * (dy - sum(dy * y))
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto along = Axis::of(call.output_type(0).shape, axis);
    const auto write = call.write(0);
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const T *const y = call.output_value<T>(0).data(), *const dy = call.output_grad<T>(0).data();
      T* const dx = call.input_grad<T>(0).data();
      for_each_run(call, along, [&](std::int64_t start) {
        const auto end = start + along.length * along.inner;
        Wide<T> sum = 0;
        for (auto i = start; i < end; i += along.inner) sum += Wide<T>(dy[i]) * Wide<T>(y[i]);
        for (auto i = start; i < end; i += along.inner) store(write, dx[i], Wide<T>(y[i]) * (Wide<T>(dy[i]) - sum));
      });
    });
  }
};
TENON_OPERATOR(softmax, Softmax)
