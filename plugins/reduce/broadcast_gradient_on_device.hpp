// The gradient of sum and mean on a CUDA device.
#pragma once
#include <tenon/gpu/launch.hpp>

#include "../shared/offset_calculator.hpp"
#include "../shared/rules.hpp"

/// Maps each element of x to the index of its result in y.
inline OffsetCalculator results_of(const tenon::Shape& x, unsigned reduced) {
  std::int64_t strides[tenon::max_rank] = {}, stride = 1;
  for (int a = x.rank() - 1; a >= 0; --a) {
    if (reduced >> a & 1) continue;
    strides[a] = stride;
    stride *= x[a];
  }
  OffsetCalculator results;
  for (int a = 0; a < x.rank(); ++a) results.push(x[a], strides[a]);
  return results;
}

template <class T>
struct BroadcastGradient {
  const T* dy;
  T* dx;
  OffsetCalculator results;
  Plain<T> divisor;
  bool add;

  TENON_FN void operator()(std::int64_t i) const {
    const auto value = static_cast<Plain<T>>(dy[results.offset(i)]) / divisor;
    dx[i] = static_cast<T>(add ? static_cast<Plain<T>>(dx[i]) + value : value);
  }
};

/// dx = (with Write::add: +=) dy / divisor, repeated along the reduced axes.
template <class T>
void broadcast_gradient_on_device(const tenon::Call& call, unsigned reduced, std::int64_t divisor) {
  const auto dx = call.input_grad<T>(0);
  if (dx.size() == 0) return;
  tenon::gpu::for_each(
      call, dx.size(),
      BroadcastGradient<T>{call.output_grad<T>(0).data(), dx.data(),
                           results_of(dx.shape(), reduced), static_cast<Plain<T>>(divisor),
                           call.write(0) == tenon::Write::add});
}
