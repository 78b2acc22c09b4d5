// softmax and log_softmax on CUDA.
#include "group_exponentials.hpp"
#include "softmax.hpp"

namespace {

template <class T, class Rule>
struct Values {
  const T* x;
  T* y;
  Axis along;
  tenon::Write write;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t run) const {
    const auto start = along.start(run);
    const auto row = exponentials(threads, x + start, along.length, along.inner);
    const auto norm = Rule::norm(row.sum);
    for (std::int64_t k = threads.thread(); k < along.length; k += group_size<ThreadGroup>) {
      const auto i = start + k * along.inner;
      store(write, y[i], Rule::value(Wide<T>(x[i]) - row.maximum, norm));
    }
  }
};

template <class T, class Rule>
struct Gradients {
  const T *y, *dy;
  T* dx;
  Axis along;
  tenon::Write write;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t run) const {
    const auto start = along.start(run);
    Wide<T> sum = 0;
    for (std::int64_t k = threads.thread(); k < along.length; k += group_size<ThreadGroup>) {
      const auto i = start + k * along.inner;
      sum += Rule::term(Wide<T>(y[i]), Wide<T>(dy[i]));
    }
    sum = threads.sum(sum);
    for (std::int64_t k = threads.thread(); k < along.length; k += group_size<ThreadGroup>) {
      const auto i = start + k * along.inner;
      store(write, dx[i], Rule::gradient(Wide<T>(y[i]), Wide<T>(dy[i]), sum));
    }
  }
};

}  // namespace

template <class Rule>
struct SoftmaxCuda : Softmax<Rule> {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    const auto along = Axis::of(call.input_type(0).shape, this->axis);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Values<T, Rule> body{call.input<T>(0).data(), call.output<T>(0).data(), along,
                                 call.write(0)};
      for_each_group(call, along.runs(), along.length, along.inner > 1, body);
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto along = Axis::of(call.output_type(0).shape, this->axis);
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const Gradients<T, Rule> body{call.output_value<T>(0).data(), call.output_grad<T>(0).data(),
                                    call.input_grad<T>(0).data(), along, call.write(0)};
      for_each_group(call, along.runs(), along.length, along.inner > 1, body);
    });
  }
};
TENON_KERNEL(softmax, cuda, SoftmaxCuda<SoftmaxRule>)
TENON_KERNEL(log_softmax, cuda, SoftmaxCuda<LogSoftmaxRule>)
