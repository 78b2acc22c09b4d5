// The CUDA kernel of grid_sample.
#include <tenon/gpu/launch.hpp>

#include "grid_sample.hpp"

namespace {

template <class T>
struct SampleGrid {
  GridSampler sampler;
  const T *data, *grid;
  T* output;

  TENON_FN void operator()(std::int64_t i) const {
    const auto point = i % sampler.points, plane = i / sampler.points, n = plane / sampler.channels;
    const T* const from = data + plane * sampler.elements;
    Wide<T> sum = 0;
    sampler.each_tap(
        sampler.around<Wide<T>>(grid + (n * sampler.points + point) * sampler.axes), -1,
        [&](std::int64_t at, Wide<T> weight) { sum += weight * static_cast<Wide<T>>(from[at]); });
    output[i] = T(sum);
  }
};

/// The gradient of a plane. One thread computes it, so that each element has a fixed order of
/// summation.
template <class T>
struct ScatterGrid {
  GridSampler sampler;
  const T *grid, *dy;
  Wide<T>* sums;
  T* dx;

  TENON_FN void operator()(std::int64_t plane) const {
    const auto n = plane / sampler.channels;
    Wide<T>* const to = sums + plane * sampler.elements;
    for (std::int64_t k = 0; k < sampler.elements; ++k) to[k] = 0;
    for (std::int64_t point = 0; point < sampler.points; ++point) {
      const auto slope = static_cast<Wide<T>>(dy[plane * sampler.points + point]);
      sampler.each_tap(sampler.around<Wide<T>>(grid + (n * sampler.points + point) * sampler.axes),
                       -1, [&](std::int64_t at, Wide<T> weight) { to[at] += weight * slope; });
    }
    for (std::int64_t k = 0; k < sampler.elements; ++k) dx[plane * sampler.elements + k] = T(to[k]);
  }
};

template <class T>
struct GridGradient {
  GridSampler sampler;
  const T *data, *grid, *dy;
  T* dgrid;

  TENON_FN void operator()(std::int64_t i) const {
    const auto n = i / sampler.points, point = i % sampler.points;
    const auto around = sampler.around<Wide<T>>(grid + i * sampler.axes);
    for (int axis = 0; axis < sampler.axes; ++axis) {
      Wide<T> sum = 0;
      for (auto plane = n * sampler.channels; plane < (n + 1) * sampler.channels; ++plane) {
        const auto slope = static_cast<Wide<T>>(dy[plane * sampler.points + point]);
        const T* const from = data + plane * sampler.elements;
        sampler.each_tap(around, axis, [&](std::int64_t at, Wide<T> weight) {
          sum += weight * slope * static_cast<Wide<T>>(from[at]);
        });
      }
      dgrid[i * sampler.axes + sampler.axes - 1 - axis] = T(sum);
    }
  }
};

}  // namespace

struct GridSampleCuda : GridSampleShapes {
  static constexpr bool capturable = true;

  /// Data's gradient in the type of the computation.
  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    return data.known() ? static_cast<std::size_t>(data.size()) *
                              (io.input(0).dtype == tenon::f64 ? sizeof(double) : sizeof(float))
                        : 0;
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      tenon::gpu::for_each(call, call.output_type(0).shape.size(),
                           SampleGrid<T>{sampler(call), call.input<T>(0).data(),
                                         call.input<T>(1).data(), call.output<T>(0).data()});
    });
  }

  void backward(const tenon::Call& call) const {
    const auto grid_sampler = sampler(call);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T *const data = call.input<T>(0).data(), *const grid = call.input<T>(1).data(),
                     *const dy = call.output_grad<T>(0).data();
      if (call.write(1) != tenon::Write::none)
        tenon::gpu::for_each(
            call, grid_sampler.batch * grid_sampler.points,
            GridGradient<T>{grid_sampler, data, grid, dy, call.input_grad<T>(1).data()});
      if (call.write(0) == tenon::Write::none) return;
      Wide<T>* const sums =
          call.workspace<Wide<T>>(static_cast<std::size_t>(call.input_type(0).shape.size()));
      tenon::gpu::for_each(
          call, grid_sampler.batch * grid_sampler.channels,
          ScatterGrid<T>{grid_sampler, grid, dy, sums, call.input_grad<T>(0).data()});
    });
  }

 private:
  GridSampler sampler(const tenon::Call& call) const {
    return sampler_for(call.input_type(0).shape, call.input_type(1).shape);
  }
};
TENON_KERNEL(grid_sample, cuda, GridSampleCuda)
