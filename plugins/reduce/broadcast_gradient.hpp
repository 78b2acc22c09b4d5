// The gradient of sum and mean: dy broadcast to x's shape.
#pragma once
#include "../shared/reduction_tiling.hpp"
#include "../shared/rules.hpp"

/// dx = (with Write::add: +=) dy * scale, repeated along the reduced axes.
template <class T>
void broadcast_gradient(const tenon::Call& call, unsigned reduced, bool average) {
  const auto dy = call.output_grad<T>(0);
  const auto dx = call.input_grad<T>(0);
  if (dx.size() == 0) return;
  const bool add = call.write(0) == tenon::Write::add;
  const ReductionTiling tiling(dx.shape(), reduced);
  const auto chunks = tiling.chunks();
  const auto divisor = static_cast<Plain<T>>(average ? tiling.reduced_count() : 1);
  const auto grain = std::max<std::int64_t>(1, (1 << 14) * tiling.tiles() * chunks / dx.size());
  call.parallel_for(tiling.tiles() * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto tile = tiling.tile(i / chunks);
      const auto chunk = tiling.chunk(i % chunks);
      T* to = dx.data() + tile.x + chunk.x;
      const T* from = dy.data() + tile.y;
      const auto length = tiling.inner_reduced() ? chunk.length : tile.width;
      for (std::int64_t e = 0; e < length; ++e) {
        const auto value = static_cast<Plain<T>>(from[tiling.inner_reduced() ? 0 : e]) / divisor;
        to[e] = static_cast<T>(add ? static_cast<Plain<T>>(to[e]) + value : value);
      }
    }
  });
}
