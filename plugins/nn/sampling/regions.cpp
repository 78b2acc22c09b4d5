// roi_align and max_roi_pool: parts of images, brought to one size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/store.hpp"

/// What both share.
struct RegionPool : tenon::Operator {
  std::int64_t height = 1, width = 1;
  double spatial_scale = 1;

  static constexpr void describe_sizes(auto& op) {
    op.output("output", "[regions, channels, height, width]");
    op.param("height", &RegionPool::height, "rows of output").at_least(1).at_most(4096);
    op.param("width", &RegionPool::width, "columns of output").at_least(1).at_most(4096);
    op.param("spatial_scale", &RegionPool::spatial_scale, "elements of data in one step of the regions' numbers").greater_than(0);
  }

  void infer_regions(tenon::Infer& io, std::int64_t numbers) const {
    const auto data = io.input(0).shape, regions = io.input(1).shape;
    io.require(!data.has_rank() || data.rank() == 4, "data is ", data, " but needs batch, channels, height and width");
    io.require(!regions.has_rank() || regions.rank() == 2, "regions is ", regions, " but needs two dimensions");
    io.require(!data.has_rank() || (data[2] != 0 && data[3] != 0), "data is ", data, ": its spatial axes must not be empty");
    io.set_input(1, {tenon::unknown, numbers});
    io.set_output(0, {io.input(1).shape[0], data.has_rank() ? data[1] : tenon::unknown, height, width});
  }

  static std::int64_t sample(std::int64_t index, std::int64_t batch) {
    if (index < 0 || index >= batch) throw tenon::Error("a region is of sample ", index, ", but there are ", batch);
    return index;
  }
};

struct RoiAlign : RegionPool {
  enum class Mode { average, max };
  Mode mode = Mode::average;
  std::int64_t sampling_ratio = 0;
  bool half_pixel = true;

  static constexpr void describe(auto& op) {
    op.doc("regions of data, cut into height x width parts, with the average or the largest of points in each");
    op.input("data", "[batch, channels, height, width]");
    op.input("regions", "[regions, 4]: left, top, right and bottom");
    op.input("samples", "[regions], the sample of each region").types({tenon::i64});
    describe_sizes(op);
    op.param("mode", &RoiAlign::mode, "average of the points, each interpolated; or the largest weighted element of them")
        .one_of({{"average", Mode::average}, {"max", Mode::max}});
    op.param("sampling_ratio", &RoiAlign::sampling_ratio, "points of a part along each axis; 0: one for each element that it covers")
        .at_least(0)
        .at_most(32);
    op.param("half_pixel", &RoiAlign::half_pixel,
             "elements lie at 0, 1 ... of edges at -0.5; otherwise edges do, and regions have at least one element");
    op.example({{"data", {1, 2, 5, 6}},
                {"regions", {2, 4}, tenon::f32, {0.25, 1.125, 3.5, 4.25, 1, 0.25, 4.25, 2}},
                {"samples", {2}, tenon::i64, {0, 0}}},
               {{"height", 2}, {"width", 3}});
    describe_onnx(op.onnx("", "RoiAlign")
                      .since(16)
                      .attribute("coordinate_transformation_mode", "half_pixel", "half_pixel")
                      .value("half_pixel", "half_pixel", true)
                      .value("half_pixel", "output_half_pixel", false));
    describe_onnx(op.onnx("", "RoiAlign").since(10).until(15).constant("half_pixel", false));
  }

  static constexpr void describe_onnx(auto&& form) {
    form.attribute("mode", "mode", "avg")
        .value("mode", "avg", "average")
        .value("mode", "max", "max")
        .attribute("output_height", "height")
        .attribute("output_width", "width")
        .attribute("sampling_ratio", "sampling_ratio")
        .attribute("spatial_scale", "spatial_scale");
  }

  void infer(tenon::Infer& io) const {
    infer_regions(io, 4);
    io.set_input("samples", {io.input("regions").shape[0]});
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto data = call.input<T>(0), regions = call.input<T>(1);
      const auto samples = call.input<std::int64_t>(2);
      const auto output = call.output<T>(0);
      const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
      call.parallel_for(regions.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<W> made(static_cast<std::size_t>(channels));
        for (auto r = begin; r < end; ++r) {
          const auto n = sample(samples[r], data.dim(0));
          const auto region = region_of<W>(regions.data() + 4 * r);
          const T* const planes = data.data() + n * channels * rows * columns;
          for (std::int64_t i = 0; i < height * width; ++i) {
            std::fill(made.begin(), made.end(), W(0));
            bool first = true;
            const bool all = each_point(region, i, rows, columns, [&](const Point<W>& point) {
              for (std::int64_t c = 0; c < channels; ++c) {
                W terms[4];
                for (int k = 0; k < 4; ++k) terms[k] = point.term(planes + c * rows * columns, k);
                auto& to = made[static_cast<std::size_t>(c)];
                const W largest = *std::max_element(terms, terms + 4);
                to = mode == Mode::average ? to + (terms[0] + terms[1] + terms[2] + terms[3]) : first ? largest : std::max(to, largest);
              }
              first = false;
            });
            for (auto& one : made)
              if (mode == Mode::max && !all) one = std::max(one, W(0));
            const W count = mode == Mode::average ? region.count() : W(1);
            for (std::int64_t c = 0; c < channels; ++c)
              output[(r * channels + c) * height * width + i] = T(made[static_cast<std::size_t>(c)] / count);
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
  /// Each plane of data takes from the regions in their order.
  template <class T>
  void data_gradient(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto data = call.input<T>(0), regions = call.input<T>(1);
    const auto samples = call.input<std::int64_t>(2);
    const auto dy = call.output_grad<T>(0);
    const auto dx = call.input_grad<T>(0);
    const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
    call.parallel_for(data.dim(0) * channels, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<W> sums(static_cast<std::size_t>(rows * columns));
      std::vector<Best<W>> best(1);
      for (auto at = begin; at < end; ++at) {
        const T* const plane = data.data() + at * rows * columns;
        std::fill(sums.begin(), sums.end(), W(0));
        for (std::int64_t r = 0; r < regions.dim(0); ++r) {
          if (sample(samples[r], data.dim(0)) != at / channels) continue;
          const auto region = region_of<W>(regions.data() + 4 * r);
          for (std::int64_t i = 0; i < height * width; ++i) {
            const W slope = static_cast<W>(dy[(r * channels + at % channels) * height * width + i]);
            each_term(region, i, plane, rows, columns, best, [&](std::int64_t, const Point<W>& point, int k, W share) {
              sums[static_cast<std::size_t>(point.index(k))] += slope * share * point.weight(k);
            });
          }
        }
        for (std::int64_t k = 0; k < rows * columns; ++k) dx[at * rows * columns + k] = T(sums[static_cast<std::size_t>(k)]);
      }
    });
  }

  template <class T>
  void regions_gradient(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto data = call.input<T>(0), regions = call.input<T>(1);
    const auto samples = call.input<std::int64_t>(2);
    const auto dy = call.output_grad<T>(0);
    const auto dregions = call.input_grad<T>(1);
    const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
    call.parallel_for(regions.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Best<W>> best(static_cast<std::size_t>(channels));
      for (auto r = begin; r < end; ++r) {
        const auto n = sample(samples[r], data.dim(0));
        const auto region = region_of<W>(regions.data() + 4 * r);
        W sums[4] = {};
        const T* const planes = data.data() + n * channels * rows * columns;
        for (std::int64_t i = 0; i < height * width; ++i)
          each_term(region, i, planes, rows, columns, best, [&](std::int64_t c, const Point<W>& point, int k, W share) {
            const W slope = static_cast<W>(dy[(r * channels + c) * height * width + i]) * static_cast<W>(spatial_scale);
            const W element = slope * share * static_cast<W>(planes[c * rows * columns + point.index(k)]);
            for (const int axis : {0, 1}) {  // columns, rows: from the first edge to the second
              const W move = element * point.slope(axis, k);
              sums[axis] += move * (1 - point.axis[axis].along);
              sums[axis + 2] += move * point.axis[axis].along;
            }
          });
        for (int i = 0; i < 4; ++i) dregions[4 * r + i] = T(sums[i]);
      }
    });
  }

  /// Where its parts are, and into how many points each is divided.
  template <class W>
  struct Region {
    W edge[2], part[2];
    std::int64_t points[2];
    bool grows[2];  // with its second edge: one that is narrower than an element is as wide as one
    W count() const { return static_cast<W>(std::max<std::int64_t>(points[0] * points[1], 1)); }
  };

  template <class W, class T>
  Region<W> region_of(const T* numbers) const {
    Region<W> region;
    for (const int axis : {0, 1}) {
      W edge[2];
      for (int i = 0; i < 2; ++i)
        edge[i] = static_cast<W>(numbers[axis + 2 * i]) * static_cast<W>(spatial_scale) - (half_pixel ? W(0.5) : W(0));
      W size = edge[1] - edge[0];
      region.grows[axis] = half_pixel || !(size < W(1));
      if (!region.grows[axis]) size = 1;
      region.edge[axis] = edge[0];
      region.part[axis] = size / static_cast<W>(axis == 0 ? width : height);
      region.points[axis] = points(region.part[axis]);
    }
    return region;
  }

  /// A point along one axis: the elements before and behind it, how far it is from the first, whether both change with it, and how far
  /// along the region it lies, from its first edge to its second.
  template <class W>
  struct Axis {
    std::int64_t element[2];
    W far, along;
    bool moves;
  };

  template <class W>
  W place_of(const Region<W>& region, int axis, std::int64_t part, std::int64_t number) const {
    return region.edge[axis] + static_cast<W>(part) * region.part[axis] +
           (static_cast<W>(number) + W(0.5)) * region.part[axis] / static_cast<W>(region.points[axis]);
  }

  template <class W>
  Axis<W> axis_at(const Region<W>& region, int axis, std::int64_t part, std::int64_t number, std::int64_t size) const {
    const W place = place_of(region, axis, part, number), at = std::clamp(place, W(0), static_cast<W>(size - 1));
    const auto low = std::min(static_cast<std::int64_t>(at), size - 1);
    const bool last = low == size - 1;
    Axis<W> found{{low, last ? low : low + 1}, last ? W(0) : at - static_cast<W>(low), 0, !last && place > 0};
    const W within = (static_cast<W>(number) + W(0.5)) / static_cast<W>(region.points[axis]);
    if (region.grows[axis]) found.along = (static_cast<W>(part) + within) / static_cast<W>(axis == 0 ? width : height);
    return found;
  }

  /// The numbers of the points that have elements around them; a region may be far larger than data, and most of its points outside.
  struct Inside {
    std::int64_t first, end;
  };
  template <class W>
  Inside inside(const Region<W>& region, int axis, std::int64_t part, std::int64_t size) const {
    const auto first_that = [&](std::int64_t begin, const auto& holds) {
      auto end = region.points[axis];
      while (begin < end) {
        const auto middle = begin + (end - begin) / 2;
        if (holds(place_of(region, axis, part, middle)))
          end = middle;
        else
          begin = middle + 1;
      }
      return begin;
    };
    const auto most = static_cast<W>(size);
    if (region.part[axis] < 0) {  // its second edge lies before its first: places go backwards
      const auto first = first_that(0, [&](W place) { return place <= most; });
      return {first, first_that(first, [](W place) { return place < -1; })};
    }
    const auto first = first_that(0, [](W place) { return place >= -1; });
    return {first, first_that(first, [&](W place) { return place > most; })};
  }

  /// The four elements around a point; their weights, and how these change with its column (0) and row (1).
  template <class W>
  struct Point {
    Axis<W> axis[2];
    std::int64_t columns = 0;

    std::int64_t index(int k) const { return axis[1].element[k / 2] * columns + axis[0].element[k % 2]; }
    W part(int of, bool far) const { return far ? axis[of].far : 1 - axis[of].far; }
    W weight(int k) const { return part(1, k / 2 == 1) * part(0, k % 2 == 1); }
    W slope(int of, int k) const {
      const bool far = (of == 0 ? k % 2 : k / 2) == 1, other_far = (of == 0 ? k / 2 : k % 2) == 1;
      return !axis[of].moves ? W(0) : far ? part(1 - of, other_far) : -part(1 - of, other_far);
    }
    template <class T>
    W term(const T* plane, int k) const {
      return weight(k) * static_cast<W>(plane[index(k)]);
    }
  };

  /// body(point) of all points of part `i` that have elements around them. Whether these are all: the others count as 0.
  template <class W, class Body>
  bool each_point(const Region<W>& region, std::int64_t i, std::int64_t rows, std::int64_t columns, const Body& body) const {
    const auto along_x = inside(region, 0, i % width, columns), along_y = inside(region, 1, i / width, rows);
    for (auto row = along_y.first; row < along_y.end && along_x.first < along_x.end; ++row) {
      const auto y = axis_at(region, 1, i / width, row, rows);
      for (auto column = along_x.first; column < along_x.end; ++column)
        body(Point<W>{{axis_at(region, 0, i % width, column, columns), y}, columns});
    }
    return (along_y.end - along_y.first) * (along_x.end - along_x.first) == region.points[0] * region.points[1];
  }

  /// The largest term of one channel.
  template <class W>
  struct Best {
    Point<W> point{};
    W term = 0;
    int k = -1;
  };

  /// body(channel, point, k, share): the terms that the part's outputs consist of, one for each channel in `best`.
  template <class T, class W, class Body>
  void each_term(const Region<W>& region, std::int64_t i, const T* planes, std::int64_t rows, std::int64_t columns,
                 std::vector<Best<W>>& best, const Body& body) const {
    const auto channels = static_cast<std::int64_t>(best.size());
    if (mode == Mode::average) {
      each_point(region, i, rows, columns, [&](const Point<W>& point) {
        for (std::int64_t c = 0; c < channels; ++c)
          for (int k = 0; k < 4; ++k) body(c, point, k, 1 / region.count());
      });
      return;
    }
    for (auto& one : best) one.k = -1;
    const bool all = each_point(region, i, rows, columns, [&](const Point<W>& point) {
      for (std::int64_t c = 0; c < channels; ++c)
        for (int k = 0; k < 4; ++k) {
          auto& one = best[static_cast<std::size_t>(c)];
          if (const W term = point.term(planes + c * rows * columns, k); one.k < 0 || term > one.term) one = {point, term, k};
        }
    });
    for (std::int64_t c = 0; c < channels; ++c)
      if (const auto& one = best[static_cast<std::size_t>(c)]; one.k >= 0 && (all || one.term > 0)) body(c, one.point, one.k, W(1));
  }

  template <class W>
  std::int64_t points(W part) const {
    if (sampling_ratio > 0) return sampling_ratio;
    if (!(part <= W(4096))) throw tenon::Error("a region is not finite, or too large");
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(part)), 0);
  }
};
TENON_OPERATOR(roi_align, RoiAlign)

struct MaxRoiPool : RegionPool {
  static constexpr void describe(auto& op) {
    op.doc("regions of data, cut into height x width parts of whole elements, with the largest of each; it has no gradient");
    op.input("data", "[batch, channels, height, width]");
    op.input("regions", "[regions, 5]: sample, left, top, right and bottom; the last elements belong to the region");
    describe_sizes(op);
    op.example({{"data", {1, 2, 5, 6}}, {"regions", {2, 5}, tenon::f32, {0, 0, 1, 3, 4, 0, 1, 0, 4, 2}}}, {{"height", 2}, {"width", 3}});
  }

  void infer(tenon::Infer& io) const { infer_regions(io, 5); }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0), regions = call.input<T>(1);
      const auto output = call.output<T>(0);
      const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3);
      call.parallel_for(regions.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto r = begin; r < end; ++r) {
          double numbers[5];
          for (int i = 0; i < 5; ++i) {
            numbers[i] = static_cast<double>(regions[5 * r + i]);
            if (!(std::abs(numbers[i]) < 1e9)) throw tenon::Error("a region is not finite, or too large");
            if (i > 0) numbers[i] = std::round(numbers[i] * spatial_scale);
          }
          const auto n = sample(static_cast<std::int64_t>(numbers[0]), data.dim(0));
          const double part_h = std::max(numbers[4] - numbers[2] + 1, 1.0) / static_cast<double>(height);
          const double part_w = std::max(numbers[3] - numbers[1] + 1, 1.0) / static_cast<double>(width);
          const auto bound = [](double begin_at, std::int64_t i, double part, bool upper, std::int64_t size) {
            const double at = static_cast<double>(i) * part;
            return std::clamp<std::int64_t>(static_cast<std::int64_t>((upper ? std::ceil(at) : std::floor(at)) + begin_at), 0, size);
          };
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t i = 0; i < height * width; ++i) {
              const auto top = bound(numbers[2], i / width, part_h, false, rows),
                         bottom = bound(numbers[2], i / width + 1, part_h, true, rows);
              const auto left = bound(numbers[1], i % width, part_w, false, columns);
              const auto right = bound(numbers[1], i % width + 1, part_w, true, columns);
              T found = T(bottom <= top || right <= left ? 0.f : -std::numeric_limits<float>::infinity());
              for (auto y = top; y < bottom; ++y)
                for (auto x = left; x < right; ++x) {
                  const T value = data[((n * channels + c) * rows + y) * columns + x];
                  if (value > found) found = value;
                }
              output[(r * channels + c) * height * width + i] = found;
            }
        }
      });
    });
  }
};
TENON_OPERATOR(max_roi_pool, MaxRoiPool)
