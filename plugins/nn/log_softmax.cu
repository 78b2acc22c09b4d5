// log_softmax on CUDA.
#include "log_softmax.hpp"
#include "team_exponentials.hpp"

namespace {

template <class T>
struct LogShares {
  const T* x;
  T* y;
  Axis along;
  tenon::Write write;

  template <class Team>
  TENON_DEVICE void operator()(const Team& team, std::int64_t run) const {
    const auto start = along.start(run);
    const auto row = exponentials(team, x + start, along.length, along.inner);
    for (std::int64_t k = team.thread(); k < along.length; k += team_size<Team>) {
      const auto i = start + k * along.inner;
      store(write, y[i], row.log_share(x[i]));
    }
  }
};

template <class T>
struct LogShareGradients {
  const T *y, *dy;
  T* dx;
  Axis along;
  tenon::Write write;

  template <class Team>
  TENON_DEVICE void operator()(const Team& team, std::int64_t run) const {
    const auto start = along.start(run);
    Wide<T> sum = 0;
    for (std::int64_t k = team.thread(); k < along.length; k += team_size<Team>) sum += Wide<T>(dy[start + k * along.inner]);
    sum = team.sum(sum);
    for (std::int64_t k = team.thread(); k < along.length; k += team_size<Team>) {
      const auto i = start + k * along.inner;
      store(write, dx[i], Wide<T>(dy[i]) - std::exp(Wide<T>(y[i])) * sum);
    }
  }
};

}  // namespace

struct LogSoftmaxCuda : LogSoftmax {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    const auto along = Axis::of(call.input_type(0).shape, axis);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const LogShares<T> body{call.input<T>(0).data(), call.output<T>(0).data(), along, call.write(0)};
      for_each_team(call, along.runs(), along.length, along.inner > 1, body);
    });
  }

  /// dx = dy - exp(y) * sum(dy)
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto along = Axis::of(call.output_type(0).shape, axis);
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const LogShareGradients<T> body{call.output_value<T>(0).data(), call.output_grad<T>(0).data(), call.input_grad<T>(0).data(), along,
                                      call.write(0)};
      for_each_team(call, along.runs(), along.length, along.inner > 1, body);
    });
  }
};
TENON_KERNEL(log_softmax, cuda, LogSoftmaxCuda)
