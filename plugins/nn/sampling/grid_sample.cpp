// grid_sample on the CPU.
#include "grid_sample.hpp"

#include <algorithm>
#include <vector>

struct GridSample : GridSampleShapes {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0), grid = call.input<T>(1);
      const auto output = call.output<T>(0);
      const GridSampler sampler = sampler_for(data.shape(), grid.shape());
      call.parallel_for(
          sampler.batch * sampler.points, 1 + 256 / (1 + sampler.channels),
          [&](std::int64_t begin, std::int64_t end) {
            for (auto i = begin; i < end; ++i) {
              const auto around = sampler.around<Wide<T>>(grid.data() + i * sampler.axes);
              const auto n = i / sampler.points, point = i % sampler.points;
              for (std::int64_t c = 0; c < sampler.channels; ++c) {
                const T* const plane = data.data() + (n * sampler.channels + c) * sampler.elements;
                Wide<T> sum = 0;
                sampler.each_tap(around, -1, [&](std::int64_t at, Wide<T> weight) {
                  sum += weight * static_cast<Wide<T>>(plane[at]);
                });
                output[(n * sampler.channels + c) * sampler.points + point] = T(sum);
              }
            }
          });
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto data = call.input<T>(0), grid = call.input<T>(1);
      const auto dy = call.output_grad<T>(0);
      const GridSampler sampler = sampler_for(data.shape(), grid.shape());
      T* const dx = call.write(0) != tenon::Write::none ? call.input_grad<T>(0).data() : nullptr;
      T* const dgrid = call.write(1) != tenon::Write::none ? call.input_grad<T>(1).data() : nullptr;
      call.parallel_for(sampler.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<W> sums(static_cast<std::size_t>(sampler.channels * sampler.elements));
        for (auto n = begin; n < end; ++n) {
          std::fill(sums.begin(), sums.end(), W(0));
          for (std::int64_t point = 0; point < sampler.points; ++point) {
            const auto i = n * sampler.points + point;
            const auto around = sampler.around<W>(grid.data() + i * sampler.axes);
            W slopes[3] = {};
            for (std::int64_t c = 0; c < sampler.channels; ++c) {
              const W slope =
                  static_cast<W>(dy[(n * sampler.channels + c) * sampler.points + point]);
              W* const plane = sums.data() + c * sampler.elements;
              sampler.each_tap(around, -1,
                               [&](std::int64_t at, W weight) { plane[at] += weight * slope; });
              const T* const from = data.data() + (n * sampler.channels + c) * sampler.elements;
              for (int axis = 0; dgrid && axis < sampler.axes; ++axis)
                sampler.each_tap(around, axis, [&](std::int64_t at, W weight) {
                  slopes[axis] += weight * slope * static_cast<W>(from[at]);
                });
            }
            for (int axis = 0; dgrid && axis < sampler.axes; ++axis)
              dgrid[i * sampler.axes + sampler.axes - 1 - axis] = T(slopes[axis]);
          }
          const auto count = sampler.channels * sampler.elements;
          for (std::int64_t k = 0; dx && k < count; ++k)
            dx[n * count + k] = T(sums[static_cast<std::size_t>(k)]);
        }
      });
    });
  }
};
TENON_OPERATOR(grid_sample, GridSample)
