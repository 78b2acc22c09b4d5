// softmax on the CPU.
#include "softmax.hpp"

#include <cmath>

#include "exponentials.hpp"
#include "store.hpp"

void Softmax::forward(const tenon::Call& call) const {
  const auto along = Axis::of(call.input_type(0).shape, axis);
  const auto write = call.write(0);
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const T* const x = call.input<T>(0).data();
    T* const y = call.output<T>(0).data();
    for_each_run(call, along, [&](std::int64_t start) {
      const auto row = exponentials(x + start, along.length, along.inner);
      for (auto i = start; i < start + along.length * along.inner; i += along.inner) store(write, y[i], row.share(x[i]));
    });
  });
}

/// dx = y * (dy - sum(dy * y))
void Softmax::backward(const tenon::Call& call) const {
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

TENON_OPERATOR(softmax, Softmax)
