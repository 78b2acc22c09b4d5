// softmax and log_softmax on the CPU.
#include "softmax.hpp"

#include "exponentials.hpp"
#include "shared/store.hpp"

template <class Rule>
void Softmax<Rule>::forward(const tenon::Call& call) const {
  const auto along = Axis::of(call.input_type(0).shape, axis);
  const auto write = call.write(0);
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const T* const x = call.input<T>(0).data();
    T* const y = call.output<T>(0).data();
    for_each_run(call, along, [&](std::int64_t start) {
      const auto row = exponentials(x + start, along.length, along.inner);
      const auto norm = Rule::norm(row.sum);
      for (auto i = start; i < start + along.length * along.inner; i += along.inner)
        store(write, y[i], Rule::value(Wide<T>(x[i]) - row.largest, norm));
    });
  });
}

template <class Rule>
void Softmax<Rule>::backward(const tenon::Call& call) const {
  if (call.write(0) == tenon::Write::none) return;
  const auto along = Axis::of(call.output_type(0).shape, axis);
  const auto write = call.write(0);
  tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
    const T *const y = call.output_value<T>(0).data(), *const dy = call.output_grad<T>(0).data();
    T* const dx = call.input_grad<T>(0).data();
    for_each_run(call, along, [&](std::int64_t start) {
      const auto end = start + along.length * along.inner;
      Wide<T> sum = 0;
      for (auto i = start; i < end; i += along.inner) sum += Rule::term(Wide<T>(y[i]), Wide<T>(dy[i]));
      for (auto i = start; i < end; i += along.inner) store(write, dx[i], Rule::gradient(Wide<T>(y[i]), Wide<T>(dy[i]), sum));
    });
  });
}

TENON_OPERATOR(softmax, Softmax<Share>)
TENON_OPERATOR(log_softmax, Softmax<LogShare>)
