// The CUDA kernels of roi_align and max_roi_pool.
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>

#include "regions.hpp"

namespace {

/// The tensors of a call. Sample indices out of range and regions that are not finite become a
/// fault.
template <class T>
struct Regions {
  RoiRules rules;
  const T *data, *regions;
  const std::int64_t* samples;
  std::int64_t batch, channels, rows, columns, count;
  tenon::gpu::Fault fault;

  using Region = RoiRules::Region<Wide<T>>;
  TENON_FN std::int64_t bins() const { return rules.height * rules.width; }
  TENON_FN const T* plane(std::int64_t n, std::int64_t c) const {
    return data + (n * channels + c) * rows * columns;
  }
  /// Whether region r is valid; if so, stores it in `found`.
  TENON_DEVICE bool find(std::int64_t r, Region& found) const {
    constexpr std::int64_t max_points = 4097;  // elements of a bin along an axis
    if (!fault.fits(samples[r], batch)) return false;
    found = rules.template region_of<Wide<T>>(regions + 4 * r);
    return found.valid() || fault.fits(max_points, max_points);
  }
};

template <class T>
struct AlignRegion {
  Regions<T> at;
  T* output;

  TENON_DEVICE void operator()(std::int64_t o) const {
    using W = Wide<T>;
    const auto i = o % at.bins(), c = o / at.bins() % at.channels, r = o / at.bins() / at.channels;
    typename Regions<T>::Region region;
    if (!at.find(r, region)) return;
    const T* const plane = at.plane(at.samples[r], c);
    W made = 0;
    bool first = true;
    const bool all =
        at.rules.each_point(region, i, at.rows, at.columns, [&](const RoiRules::Point<W>& point) {
          for (int k = 0; k < 4; ++k) {
            const W term = point.term(plane, k);
            made = !at.rules.takes_max ? made + term : first || is_larger(term, made) ? term : made;
            first = false;
          }
        });
    if (at.rules.takes_max && !all && made < 0) made = 0;
    output[o] = T(at.rules.takes_max ? made : made / region.count());
  }
};

/// The gradient of a plane. One thread computes it, so that each element has a fixed order of
/// summation.
template <class T>
struct PlaneGradient {
  Regions<T> at;
  const T* dy;
  Wide<T>* sums;
  T* dx;

  TENON_DEVICE void operator()(std::int64_t number) const {
    using W = Wide<T>;
    const auto size = at.rows * at.columns, n = number / at.channels, c = number % at.channels;
    W* const to = sums + number * size;
    for (std::int64_t k = 0; k < size; ++k) to[k] = 0;
    for (std::int64_t r = 0; r < at.count; ++r) {
      typename Regions<T>::Region region;
      if (!at.find(r, region) || at.samples[r] != n) continue;
      for (std::int64_t i = 0; i < at.bins(); ++i) {
        const W slope = static_cast<W>(dy[(r * at.channels + c) * at.bins() + i]);
        at.rules.each_term(region, i, at.plane(n, c), at.rows, at.columns,
                           [&](const RoiRules::Point<W>& point, int k, W share) {
                             to[point.index(k)] += slope * share * point.weight(k);
                           });
      }
    }
    for (std::int64_t k = 0; k < size; ++k) dx[number * size + k] = T(to[k]);
  }
};

template <class T>
struct RegionGradient {
  Regions<T> at;
  const T* dy;
  T* dregions;

  TENON_DEVICE void operator()(std::int64_t r) const {
    using W = Wide<T>;
    typename Regions<T>::Region region;
    if (!at.find(r, region)) return;
    W sums[4] = {};
    for (std::int64_t i = 0; i < at.bins(); ++i)
      for (std::int64_t c = 0; c < at.channels; ++c) {
        const T* const plane = at.plane(at.samples[r], c);
        const W slope = static_cast<W>(dy[(r * at.channels + c) * at.bins() + i]) *
                        static_cast<W>(at.rules.spatial_scale);
        at.rules.each_term(region, i, plane, at.rows, at.columns,
                           [&](const RoiRules::Point<W>& point, int k, W share) {
                             point.add_moves(sums, k,
                                             slope * share * static_cast<W>(plane[point.index(k)]));
                           });
      }
    for (int i = 0; i < 4; ++i) dregions[4 * r + i] = T(sums[i]);
  }
};

template <class T>
struct MaxOfRegion {
  WholeRegions rules;
  const T *data, *regions;
  std::int64_t batch, channels, rows, columns;
  T* output;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t o) const {
    const auto bins = rules.height * rules.width, plane = o / bins, c = plane % channels,
               r = plane / channels;
    const auto region = rules.region_of(regions + 5 * r);
    const auto n = region.valid ? static_cast<std::int64_t>(region.numbers[0]) : -1;
    if (fault.fits(n, batch))
      output[o] = rules.max_in_bin(region, o % bins, data + (n * channels + c) * rows * columns,
                                   rows, columns);
  }
};

}  // namespace

struct RoiAlignCuda : RoiAlignShapes {
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
                           AlignRegion<T>{regions_of<T>(call), call.output<T>(0).data()});
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto at = regions_of<T>(call);
      const T* const dy = call.output_grad<T>(0).data();
      if (call.write(0) != tenon::Write::none) {
        Wide<T>* const sums =
            call.workspace<Wide<T>>(static_cast<std::size_t>(call.input_type(0).shape.size()));
        tenon::gpu::for_each(call, at.batch * at.channels,
                             PlaneGradient<T>{at, dy, sums, call.input_grad<T>(0).data()});
      }
      if (call.write(1) != tenon::Write::none)
        tenon::gpu::for_each(call, at.count,
                             RegionGradient<T>{at, dy, call.input_grad<T>(1).data()});
    });
  }

 private:
  template <class T>
  Regions<T> regions_of(const tenon::Call& call) const {
    const auto data = call.input_type(0).shape;
    return {rules(),
            call.input<T>(0).data(),
            call.input<T>(1).data(),
            call.input<std::int64_t>(2).data(),
            data[0],
            data[1],
            data[2],
            data[3],
            call.input_type(1).shape[0],
            tenon::gpu::Fault(call)};
  }
};
TENON_KERNEL(roi_align, cuda, RoiAlignCuda)

struct MaxRoiPoolCuda : MaxRoiPoolShapes {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    const auto data = call.input_type(0).shape;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      tenon::gpu::for_each(
          call, call.output_type(0).shape.size(),
          MaxOfRegion<T>{whole_regions(), call.input<T>(0).data(), call.input<T>(1).data(), data[0],
                         data[1], data[2], data[3], call.output<T>(0).data(),
                         tenon::gpu::Fault(call)});
    });
  }
};
TENON_KERNEL(max_roi_pool, cuda, MaxRoiPoolCuda)
