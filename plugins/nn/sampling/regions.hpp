// roi_align and max_roi_pool for all devices: regions of images, resampled to a fixed size.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <tenon/operator.hpp>

#include "../../shared/order.hpp"
#include "shared/store.hpp"

/// Base of both operators.
struct RegionPool : tenon::Operator {
  std::int64_t height = 1, width = 1;
  double spatial_scale = 1;

  static constexpr void describe_sizes(auto& op) {
    op.output("output", "[regions, channels, `height`, `width`]");
    op.param("height", &RegionPool::height,
             "number of bins of each region in vertical direction, the height of output")
        .at_least(1)
        .at_most(4096);
    op.param("width", &RegionPool::width,
             "number of bins of each region in horizontal direction, the width of output")
        .at_least(1)
        .at_most(4096);
    op.param("spatial_scale", &RegionPool::spatial_scale,
             "factor from the regions' coordinates to elements of data")
        .greater_than(0);
  }

  void infer_regions(tenon::Infer& io, std::int64_t numbers) const {
    const auto data = io.input(0).shape, regions = io.input(1).shape;
    io.require(!data.has_rank() || data.rank() == 4, "data is ", data,
               " but needs four dimensions: batch, channels, height and width");
    io.require(!regions.has_rank() || regions.rank() == 2, "regions is ", regions,
               " but needs two dimensions");
    io.require(!data.has_rank() || (data[2] != 0 && data[3] != 0), "data is ", data,
               ": its spatial axes must not be empty");
    io.set_input(1, {tenon::unknown, numbers});
    io.set_output(
        0, {io.input(1).shape[0], data.has_rank() ? data[1] : tenon::unknown, height, width});
  }

  static std::int64_t sample(std::int64_t index, std::int64_t batch) {
    if (index < 0 || index >= batch)
      throw tenon::Error("regions contains a region of sample ", index, ", but data has ", batch,
                         " samples: needs 0 to ", batch - 1);
    return index;
  }
};

/// How roi_align samples data.
struct RoiRules {
  std::int64_t height, width, sampling_ratio;
  double spatial_scale;
  bool half_pixel, takes_max;

  /// The bins of a region, and the number of sampling points in each.
  template <class W>
  struct Region {
    W edge[2], bin[2];
    std::int64_t points[2];
    bool grows[2];  // whether the size follows the second edge; a region narrower than an element
                    // is as wide as one
    TENON_FN W count() const {
      return points[0] * points[1] > 1 ? static_cast<W>(points[0] * points[1]) : W(1);
    }
    /// Whether the region is finite and not too large.
    TENON_FN bool valid() const { return points[0] >= 0 && points[1] >= 0; }
  };

  template <class W, class T>
  TENON_FN Region<W> region_of(const T* numbers) const {
    Region<W> region;
    for (int axis = 0; axis < 2; ++axis) {
      W edge[2];
      for (int i = 0; i < 2; ++i)
        edge[i] = static_cast<W>(numbers[axis + 2 * i]) * static_cast<W>(spatial_scale) -
                  (half_pixel ? W(0.5) : W(0));
      W size = edge[1] - edge[0];
      region.grows[axis] = half_pixel || !(size < W(1));
      if (!region.grows[axis]) size = 1;
      region.edge[axis] = edge[0];
      region.bin[axis] = size / static_cast<W>(axis == 0 ? width : height);
      region.points[axis] = points(region.bin[axis]);
    }
    return region;
  }

  /// A sampling point along one axis: the elements before and after it, the distance from the first
  /// one, whether both weights change with it, and its relative position in the region, from the
  /// first edge to the second.
  template <class W>
  struct Axis {
    std::int64_t element[2];
    W far, along;
    bool moves;
  };

  template <class W>
  TENON_FN W sampling_point(const Region<W>& region, int axis, std::int64_t bin,
                            std::int64_t number) const {
    return region.edge[axis] + static_cast<W>(bin) * region.bin[axis] +
           (static_cast<W>(number) + W(0.5)) * region.bin[axis] /
               static_cast<W>(region.points[axis]);
  }

  template <class W>
  TENON_FN Axis<W> axis_at(const Region<W>& region, int axis, std::int64_t bin, std::int64_t number,
                           std::int64_t size) const {
    const W position = sampling_point(region, axis, bin, number), end = static_cast<W>(size - 1);
    const W at = position < 0 ? W(0) : end < position ? end : position;
    const auto whole = static_cast<std::int64_t>(at), low = whole < size - 1 ? whole : size - 1;
    const bool last = low == size - 1;
    Axis<W> found{{low, last ? low : low + 1},
                  last ? W(0) : at - static_cast<W>(low),
                  0,
                  !last && position > 0};
    const W within = (static_cast<W>(number) + W(0.5)) / static_cast<W>(region.points[axis]);
    if (region.grows[axis])
      found.along = (static_cast<W>(bin) + within) / static_cast<W>(axis == 0 ? width : height);
    return found;
  }

  /// The range of sampling points with neighbors in data; a region may be far larger than data,
  /// with most of its points outside.
  struct Inside {
    std::int64_t first, end;
  };
  template <class W>
  TENON_FN Inside inside(const Region<W>& region, int axis, std::int64_t bin,
                         std::int64_t size) const {
    const auto first_that = [&](std::int64_t begin, const auto& holds) {
      auto end = region.points[axis];
      while (begin < end) {
        const auto middle = begin + (end - begin) / 2;
        if (holds(sampling_point(region, axis, bin, middle)))
          end = middle;
        else
          begin = middle + 1;
      }
      return begin;
    };
    const auto limit = static_cast<W>(size);
    if (region.bin[axis] < 0) {  // the second edge precedes the first one: positions decrease
      const auto first = first_that(0, [&](W position) { return position <= limit; });
      return {first, first_that(first, [](W position) { return position < -1; })};
    }
    const auto first = first_that(0, [](W position) { return position >= -1; });
    return {first, first_that(first, [&](W position) { return position > limit; })};
  }

  /// The four neighbors of a sampling point, their weights, and the derivatives of these by its
  /// column (0) and row (1).
  template <class W>
  struct Point {
    Axis<W> axis[2];
    std::int64_t columns = 0;

    TENON_FN std::int64_t index(int k) const {
      return axis[1].element[k / 2] * columns + axis[0].element[k % 2];
    }
    TENON_FN W factor(int axis_index, bool far) const {
      return far ? axis[axis_index].far : 1 - axis[axis_index].far;
    }
    TENON_FN W weight(int k) const { return factor(1, k / 2 == 1) * factor(0, k % 2 == 1); }
    TENON_FN W slope(int axis_index, int k) const {
      const bool far = (axis_index == 0 ? k % 2 : k / 2) == 1,
                 other_far = (axis_index == 0 ? k / 2 : k % 2) == 1;
      return !axis[axis_index].moves ? W(0)
             : far                   ? factor(1 - axis_index, other_far)
                                     : -factor(1 - axis_index, other_far);
    }
    /// Adds the contribution of an element to the gradients of left, top, right and bottom.
    TENON_FN void add_moves(W (&sums)[4], int k, W element) const {
      for (int axis_index = 0; axis_index < 2; ++axis_index) {  // columns, rows
        const W move = element * slope(axis_index, k);
        sums[axis_index] += move * (1 - axis[axis_index].along);
        sums[axis_index + 2] += move * axis[axis_index].along;
      }
    }
    template <class T>
    TENON_FN W term(const T* plane, int k) const {
      return weight(k) * static_cast<W>(plane[index(k)]);
    }
  };

  /// Calls body(point) for all points of bin `i` with neighbors in data. Returns whether these are
  /// all of its points; the others count as 0.
  template <class W, class Body>
  TENON_FN bool each_point(const Region<W>& region, std::int64_t i, std::int64_t rows,
                           std::int64_t columns, const Body& body) const {
    const auto along_x = inside(region, 0, i % width, columns),
               along_y = inside(region, 1, i / width, rows);
    for (auto row = along_y.first; row < along_y.end && along_x.first < along_x.end; ++row) {
      const auto y = axis_at(region, 1, i / width, row, rows);
      for (auto column = along_x.first; column < along_x.end; ++column)
        body(Point<W>{{axis_at(region, 0, i % width, column, columns), y}, columns});
    }
    return (along_y.end - along_y.first) * (along_x.end - along_x.first) ==
           region.points[0] * region.points[1];
  }

  /// Calls body(point, k, share) for the terms of an output element in one plane.
  template <class W, class T, class Body>
  TENON_FN void each_term(const Region<W>& region, std::int64_t i, const T* plane,
                          std::int64_t rows, std::int64_t columns, const Body& body) const {
    if (!takes_max) {
      each_point(region, i, rows, columns, [&](const Point<W>& point) {
        for (int k = 0; k < 4; ++k) body(point, k, 1 / region.count());
      });
      return;
    }
    Point<W> best{};
    W best_term = 0;
    int best_k = -1;
    const bool all = each_point(region, i, rows, columns, [&](const Point<W>& point) {
      for (int k = 0; k < 4; ++k)
        if (const W term = point.term(plane, k); best_k < 0 || is_larger(term, best_term))
          best = point, best_term = term, best_k = k;
    });
    if (best_k >= 0 && (all || is_larger(best_term, W(0)))) body(best, best_k, W(1));
  }

 private:
  /// Negative if a region is not finite or too large.
  template <class W>
  TENON_FN std::int64_t points(W bin) const {
    if (sampling_ratio > 0) return sampling_ratio;
    if (!(bin <= W(4096))) return -1;
    return bin > 0 ? static_cast<std::int64_t>(std::ceil(bin)) : 0;
  }
};

struct RoiAlignShapes : RegionPool {
  enum class Mode { average, max };
  Mode mode = Mode::average;
  std::int64_t sampling_ratio = 0;
  bool half_pixel = true;

  static constexpr void describe(auto& op) {
    op.doc(
        "RoIAlign: average or maximum of bilinearly interpolated sampling points in each of "
        "`height` x `width` bins of a region of interest (torchvision.ops.roi_align)");
    op.input("data", "[batch, channels, rows, columns]");
    op.input("regions",
             "[regions, 4]; left, top, right and bottom in units of 1 / spatial_scale elements");
    op.input("samples", "[regions]; index of each region's sample in the batch")
        .types({tenon::i64});
    describe_sizes(op);
    op.param("mode", &RoiAlignShapes::mode,
             "average: mean of the interpolated sampling points; max: largest product of a "
             "neighboring element and its interpolation weight, or NaN if one is NaN")
        .one_of({{"average", Mode::average}, {"max", Mode::max}});
    op.param("sampling_ratio", &RoiAlignShapes::sampling_ratio,
             "number of sampling points of a bin along each axis; 0: size of the bin in elements, "
             "rounded up")
        .at_least(0)
        .at_most(32);
    op.param(
        "half_pixel", &RoiAlignShapes::half_pixel,
        "shift scaled coordinates by -0.5, so that element centers are at integers (torchvision's "
        "aligned); false: no shift, and each region is at least one element high and wide");
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

 protected:
  RoiRules rules() const {
    return {height, width, sampling_ratio, spatial_scale, half_pixel, mode == Mode::max};
  }
};

/// How max_roi_pool reads data: bins of whole elements.
struct WholeRegions {
  std::int64_t height, width;
  double spatial_scale;

  /// The sample, and left, top, right and bottom; all finite.
  struct Region {
    double numbers[5];
    bool valid;
  };
  template <class T>
  TENON_FN Region region_of(const T* from) const {
    Region region{{}, true};
    for (int i = 0; i < 5; ++i) {
      const auto number = static_cast<double>(from[i]);
      region.valid = region.valid && number < 1e9 && number > -1e9;
      region.numbers[i] = i > 0 && region.valid ? std::round(number * spatial_scale) : number;
    }
    return region;
  }

  /// The maximum of bin i.
  template <class T>
  TENON_FN T max_in_bin(const Region& region, std::int64_t i, const T* plane, std::int64_t rows,
                        std::int64_t columns) const {
    const auto* const at = region.numbers;
    const double bin_height = length(at[4] - at[2] + 1) / static_cast<double>(height);
    const double bin_width = length(at[3] - at[1] + 1) / static_cast<double>(width);
    const auto top = bound(at[2], i / width, bin_height, false, rows),
               bottom = bound(at[2], i / width + 1, bin_height, true, rows);
    const auto left = bound(at[1], i % width, bin_width, false, columns),
               right = bound(at[1], i % width + 1, bin_width, true, columns);
    T found = T(bottom <= top || right <= left ? 0.f : below_all);
    for (auto y = top; y < bottom; ++y)
      for (auto x = left; x < right; ++x)
        if (is_larger(plane[y * columns + x], found)) found = plane[y * columns + x];
    return found;
  }

 private:
  static constexpr float below_all = -std::numeric_limits<float>::infinity();

  TENON_FN static double length(double elements) { return elements > 1 ? elements : 1.0; }
  TENON_FN static std::int64_t bound(double begin, std::int64_t i, double bin, bool upper,
                                     std::int64_t size) {
    const double at = static_cast<double>(i) * bin,
                 position = (upper ? std::ceil(at) : std::floor(at)) + begin;
    return position < 0                           ? 0
           : position > static_cast<double>(size) ? size
                                                  : static_cast<std::int64_t>(position);
  }
};

struct MaxRoiPoolShapes : RegionPool {
  static constexpr void describe(auto& op) {
    op.doc(
        "RoI max pooling: maximum of each of `height` x `width` bins of a region of interest, with "
        "boundaries rounded to whole elements; NaN if an element of the bin is NaN; not "
        "differentiable (torchvision.ops.roi_pool)");
    op.input("data", "[batch, channels, rows, columns]");
    op.input("regions",
             "[regions, 5]; index of the sample in the batch, then left, top, right and bottom "
             "(inclusive) in units of 1 / spatial_scale elements");
    describe_sizes(op);
    op.example(
        {{"data", {1, 2, 5, 6}}, {"regions", {2, 5}, tenon::f32, {0, 0, 1, 3, 4, 0, 1, 0, 4, 2}}},
        {{"height", 2}, {"width", 3}});
  }

  void infer(tenon::Infer& io) const { infer_regions(io, 5); }

 protected:
  WholeRegions whole_regions() const { return {height, width, spatial_scale}; }
};
