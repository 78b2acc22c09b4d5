// The logarithm of softmax, without the detour over shares that round to 0.
#include <cmath>
#include <tenon/operator.hpp>

#include "axis.hpp"
#include "exponentials.hpp"
#include "store.hpp"

struct LogSoftmax : tenon::Operator {
  std::int32_t axis = -1;

  static constexpr void describe(auto& op) {
    op.doc("data - log(sum(exp(data))) along one axis");
    op.input("data", "at least one dimension");
    op.output("output", "same shape as data");
    op.param("axis", &LogSoftmax::axis, "the axis whose exponentials sum to 1; negative axes count from the end").at_least(-8).at_most(7);
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
        for (auto i = start; i < start + along.length * along.inner; i += along.inner) store(write, y[i], row.log_share(x[i]));
      });
    });
  }

  /// dx = dy - exp(y) * sum(dy)
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
        for (auto i = start; i < end; i += along.inner) sum += Wide<T>(dy[i]);
        for (auto i = start; i < end; i += along.inner) store(write, dx[i], Wide<T>(dy[i]) - std::exp(Wide<T>(y[i])) * sum);
      });
    });
  }
};
TENON_OPERATOR(log_softmax, LogSoftmax)
