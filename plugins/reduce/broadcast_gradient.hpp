// The gradient of sum and mean: dy broadcast to x's shape.
#pragma once
#include "../shared/rules.hpp"
#include "../shared/strips.hpp"

/// dx = (with Write::add: +=) dy * scale, repeated along the reduced axes.
template <class T>
void broadcast_gradient(const tenon::Call& call, unsigned reduced, bool average) {
  const auto dy = call.output_grad<T>(0);
  const auto dx = call.input_grad<T>(0);
  if (dx.size() == 0) return;
  const bool add = call.write(0) == tenon::Write::add;
  const Strips strips(dx.shape(), reduced);
  const auto steps = strips.steps();
  const auto divisor = static_cast<Plain<T>>(average ? strips.reduced_count() : 1);
  const auto grain = std::max<std::int64_t>(1, (1 << 14) * strips.units() * steps / dx.size());
  call.parallel_for(strips.units() * steps, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto unit = strips.unit(i / steps);
      const auto step = strips.step(i % steps);
      T* to = dx.data() + unit.x + step.x;
      const T* from = dy.data() + unit.y;
      const auto length = strips.inner_reduced() ? step.length : unit.width;
      for (std::int64_t e = 0; e < length; ++e) {
        const auto value = static_cast<Plain<T>>(from[strips.inner_reduced() ? 0 : e]) / divisor;
        to[e] = static_cast<T>(add ? static_cast<Plain<T>>(to[e]) + value : value);
      }
    }
  });
}
