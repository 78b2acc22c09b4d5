// roi_align and max_roi_pool on the CPU.
#include "regions.hpp"

#include <vector>

struct RoiAlign : RoiAlignShapes {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const RoiRules roi_rules = rules();
      const auto data = call.input<T>(0), regions = call.input<T>(1);
      const auto samples = call.input<std::int64_t>(2);
      const auto output = call.output<T>(0);
      const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
      call.parallel_for(regions.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<W> made(static_cast<std::size_t>(channels));
        for (auto r = begin; r < end; ++r) {
          const auto n = sample(samples[r], data.dim(0));
          const auto region = checked(roi_rules.region_of<W>(regions.data() + 4 * r));
          const T* const planes = data.data() + n * channels * rows * columns;
          for (std::int64_t i = 0; i < height * width; ++i) {
            std::fill(made.begin(), made.end(), W(0));
            bool first = true;
            const bool all = roi_rules.each_point(
                region, i, rows, columns, [&](const RoiRules::Point<W>& point) {
                  for (std::int64_t c = 0; c < channels; ++c) {
                    W terms[4];
                    for (int k = 0; k < 4; ++k)
                      terms[k] = point.term(planes + c * rows * columns, k);
                    auto& to = made[static_cast<std::size_t>(c)];
                    if (mode == Mode::average) {
                      to += terms[0] + terms[1] + terms[2] + terms[3];
                      continue;
                    }
                    if (first) to = terms[0];
                    for (const W term : terms)
                      if (is_larger(term, to)) to = term;
                  }
                  first = false;
                });
            for (auto& one : made)
              if (mode == Mode::max && !all && one < 0) one = 0;
            const W count = mode == Mode::average ? region.count() : W(1);
            for (std::int64_t c = 0; c < channels; ++c)
              output[(r * channels + c) * height * width + i] =
                  T(made[static_cast<std::size_t>(c)] / count);
          }
        }
      });
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      if (call.write(0) != tenon::Write::none) data_gradient<T>(call);
      if (call.write(1) != tenon::Write::none) regions_gradient<T>(call);
    });
  }

 private:
  /// Each plane of data accumulates the gradients of the regions in order.
  template <class T>
  void data_gradient(const tenon::Call& call) const {
    using W = Wide<T>;
    const RoiRules roi_rules = rules();
    const auto data = call.input<T>(0), regions = call.input<T>(1);
    const auto samples = call.input<std::int64_t>(2);
    const auto dy = call.output_grad<T>(0);
    const auto dx = call.input_grad<T>(0);
    const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
    call.parallel_for(data.dim(0) * channels, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<W> sums(static_cast<std::size_t>(rows * columns));
      for (auto at = begin; at < end; ++at) {
        const T* const plane = data.data() + at * rows * columns;
        std::fill(sums.begin(), sums.end(), W(0));
        for (std::int64_t r = 0; r < regions.dim(0); ++r) {
          if (sample(samples[r], data.dim(0)) != at / channels) continue;
          const auto region = checked(roi_rules.region_of<W>(regions.data() + 4 * r));
          for (std::int64_t i = 0; i < height * width; ++i) {
            const W slope = static_cast<W>(dy[(r * channels + at % channels) * height * width + i]);
            roi_rules.each_term(region, i, plane, rows, columns,
                                [&](const RoiRules::Point<W>& point, int k, W share) {
                                  sums[static_cast<std::size_t>(point.index(k))] +=
                                      slope * share * point.weight(k);
                                });
          }
        }
        for (std::int64_t k = 0; k < rows * columns; ++k)
          dx[at * rows * columns + k] = T(sums[static_cast<std::size_t>(k)]);
      }
    });
  }

  template <class T>
  void regions_gradient(const tenon::Call& call) const {
    using W = Wide<T>;
    const RoiRules roi_rules = rules();
    const auto data = call.input<T>(0), regions = call.input<T>(1);
    const auto samples = call.input<std::int64_t>(2);
    const auto dy = call.output_grad<T>(0);
    const auto dregions = call.input_grad<T>(1);
    const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
    call.parallel_for(regions.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto r = begin; r < end; ++r) {
        const auto n = sample(samples[r], data.dim(0));
        const auto region = checked(roi_rules.region_of<W>(regions.data() + 4 * r));
        W sums[4] = {};
        const T* const planes = data.data() + n * channels * rows * columns;
        for (std::int64_t i = 0; i < height * width; ++i)
          for (std::int64_t c = 0; c < channels; ++c) {
            const T* const plane = planes + c * rows * columns;
            const W slope = static_cast<W>(dy[(r * channels + c) * height * width + i]) *
                            static_cast<W>(spatial_scale);
            roi_rules.each_term(
                region, i, plane, rows, columns,
                [&](const RoiRules::Point<W>& point, int k, W share) {
                  point.add_moves(sums, k, slope * share * static_cast<W>(plane[point.index(k)]));
                });
          }
        for (int i = 0; i < 4; ++i) dregions[4 * r + i] = T(sums[i]);
      }
    });
  }

  template <class Region>
  static Region checked(const Region& region) {
    if (!region.valid())
      throw tenon::Error(
          "regions contains a region with coordinates that are not finite or too large");
    return region;
  }
};
TENON_OPERATOR(roi_align, RoiAlign)

struct MaxRoiPool : MaxRoiPoolShapes {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0), regions = call.input<T>(1);
      const auto output = call.output<T>(0);
      const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
      const WholeRegions pooled = whole_regions();
      call.parallel_for(regions.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto r = begin; r < end; ++r) {
          const auto region = pooled.region_of(regions.data() + 5 * r);
          if (!region.valid)
            throw tenon::Error(
                "regions contains a region with coordinates that are not finite or too large");
          const auto n = sample(static_cast<std::int64_t>(region.numbers[0]), data.dim(0));
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t i = 0; i < height * width; ++i)
              output[(r * channels + c) * height * width + i] = pooled.max_in_bin(
                  region, i, data.data() + (n * channels + c) * rows * columns, rows, columns);
        }
      });
    });
  }
};
TENON_OPERATOR(max_roi_pool, MaxRoiPool)
