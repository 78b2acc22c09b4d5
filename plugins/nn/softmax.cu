// softmax on CUDA.
#include "softmax.hpp"
#include "team_exponentials.hpp"

namespace {

template <class T>
struct Shares {
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
      store(write, y[i], row.share(x[i]));
    }
  }
};

template <class T>
struct ShareGradients {
  const T *y, *dy;
  T* dx;
  Axis along;
  tenon::Write write;

  template <class Team>
  TENON_DEVICE void operator()(const Team& team, std::int64_t run) const {
    const auto start = along.start(run);
    Wide<T> sum = 0;
    for (std::int64_t k = team.thread(); k < along.length; k += team_size<Team>) {
      const auto i = start + k * along.inner;
      sum += Wide<T>(dy[i]) * Wide<T>(y[i]);
    }
    sum = team.sum(sum);
    for (std::int64_t k = team.thread(); k < along.length; k += team_size<Team>) {
      const auto i = start + k * along.inner;
      store(write, dx[i], Wide<T>(y[i]) * (Wide<T>(dy[i]) - sum));
    }
  }
};

}  // namespace

struct SoftmaxCuda : Softmax {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    const auto along = Axis::of(call.input_type(0).shape, axis);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Shares<T> body{call.input<T>(0).data(), call.output<T>(0).data(), along, call.write(0)};
      for_each_team(call, along.runs(), along.length, along.inner > 1, body);
    });
  }

  /// dx = y * (dy - sum(dy * y))
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto along = Axis::of(call.output_type(0).shape, axis);
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const ShareGradients<T> body{call.output_value<T>(0).data(), call.output_grad<T>(0).data(), call.input_grad<T>(0).data(), along,
                                   call.write(0)};
      for_each_team(call, along.runs(), along.length, along.inner > 1, body);
    });
  }
};
TENON_KERNEL(softmax, cuda, SoftmaxCuda)
