// grid_sample for all devices: samples data at the positions of a grid, over 1 to 3 spatial axes.
#pragma once
#include <cmath>
#include <tenon/operator.hpp>

#include "shared/fits.hpp"
#include "shared/store.hpp"

/// Maps a grid's positions to data, including its padding.
struct GridSampler {
  enum class Mode { linear, nearest, cubic };
  enum class Outside { zeros, border, reflection };
  Mode mode;
  Outside padding;
  bool align_corners;
  int axes;
  std::int64_t batch, channels, elements = 1,
                                points = 1;  ///< elements of a plane, and points of a sample's grid
  std::int64_t size[3] = {1, 1, 1};

  /// The neighbors of a position along one axis, negative if outside of data; their weights, and
  /// the derivatives of these by the grid coordinate.
  template <class W>
  struct Taps {
    int count = 0;
    std::int64_t index[4];
    W weight[4], slope[4];
  };
  template <class W>
  struct Around {
    Taps<W> axis[3];
  };

  template <class W, class T>
  TENON_FN Around<W> around(const T* coordinates) const {
    Around<W> found;
    for (int i = 0; i < 3; ++i) {
      auto& taps = found.axis[i];
      if (i < axes)
        taps = taps_of<T, W>(coordinates[axes - 1 - i], size[i]);
      else
        taps.count = 1, taps.index[0] = 0, taps.weight[0] = 1, taps.slope[0] = 0;
    }
    return found;
  }

  /// Calls body(index, weight) for all neighbors of a position. sloped: the axis whose derivatives
  /// replace its weights; -1: none.
  template <class W, class Body>
  TENON_FN void each_tap(const Around<W>& around, int sloped, const Body& body) const {
    const auto &first = around.axis[0], &second = around.axis[1], &third = around.axis[2];
    for (int i = 0; i < first.count; ++i) {
      const W of_first = sloped == 0 ? first.slope[i] : first.weight[i];
      for (int j = 0; first.index[i] >= 0 && j < second.count; ++j) {
        const W of_second = of_first * (sloped == 1 ? second.slope[j] : second.weight[j]);
        for (int k = 0; second.index[j] >= 0 && k < third.count; ++k)
          if (third.index[k] >= 0)
            body((first.index[i] * size[1] + second.index[j]) * size[2] + third.index[k],
                 of_second * (sloped == 2 ? third.slope[k] : third.weight[k]));
      }
    }
  }

 private:
  /// Flips the sign of `direction` where data is reflected.
  template <class W>
  TENON_FN static W reflected(W x, W lower, W upper, W& direction) {
    const W range = upper - lower;
    if (!(range > 0)) return direction = 0, lower;
    const bool below = x < lower;
    if (!below && !(x > upper)) return x;
    const W distance = below ? lower - x : x - upper, turns = std::trunc(distance / range),
            rest = distance - turns * range;
    const bool even = std::fmod(turns, W(2)) == 0;
    direction = even ? -direction : direction;
    return below == even ? lower + rest : upper - rest;
  }

  template <class W>
  TENON_FN std::int64_t inside(W x, std::int64_t length, W lower, W upper) const {
    const auto last = static_cast<W>(length - 1);
    if (padding == Outside::zeros) return x >= 0 && x <= last ? static_cast<std::int64_t>(x) : -1;
    W unused = 1;
    if (padding == Outside::reflection) x = std::trunc(reflected(x, lower, upper, unused));
    return static_cast<std::int64_t>(!(x >= 0) ? W(0) : last < x ? last : x);
  }

  template <class T, class W>
  TENON_FN Taps<W> taps_of(T coordinate, std::int64_t along) const {
    const auto length = static_cast<W>(along);
    const W lower = align_corners ? W(0) : W(-0.5),
            upper = align_corners ? length - 1 : length - W(0.5);
    W direction = (align_corners ? length - 1 : length) / 2;
    W x = align_corners ? (static_cast<W>(coordinate) + 1) / 2 * (length - 1)
                        : ((static_cast<W>(coordinate) + 1) * length - 1) / 2;
    if (mode == Mode::nearest) x = std::nearbyint(x);
    if (x < lower || x > upper) {
      if (padding == Outside::border)
        direction = 0, x = x < 0 ? W(0) : x > length - 1 ? length - 1 : x;
      if (padding == Outside::reflection) x = reflected(x, lower, upper, direction);
    }
    Taps<W> taps;
    if (!(std::abs(x) < W(1e9))) return taps;  // far outside, without neighbors
    const W floor = mode == Mode::nearest ? std::trunc(x) : std::floor(x), t = x - floor;
    taps.count = mode == Mode::nearest ? 1 : mode == Mode::linear ? 2 : 4;
    for (int i = 0; i < taps.count; ++i)
      taps.index[i] =
          inside(floor + static_cast<W>(mode == Mode::cubic ? i - 1 : i), along, lower, upper);
    if (mode == Mode::nearest) {
      taps.weight[0] = 1, taps.slope[0] = 0;
    } else if (mode == Mode::linear) {
      taps.weight[0] = 1 - t, taps.weight[1] = t;
      taps.slope[0] = -direction, taps.slope[1] = direction;
    } else {
      constexpr W a = W(-0.75);
      const W d[] = {t + 1, t, 1 - t, 2 - t};
      for (int i = 0; i < 4; ++i) {
        const bool outer = i == 0 || i == 3;
        taps.weight[i] = outer ? ((a * d[i] - 5 * a) * d[i] + 8 * a) * d[i] - 4 * a
                               : ((a + 2) * d[i] - (a + 3)) * d[i] * d[i] + 1;
        const W rise = outer ? (3 * a * d[i] - 10 * a) * d[i] + 8 * a
                             : (3 * (a + 2) * d[i] - 2 * (a + 3)) * d[i];
        taps.slope[i] = (i < 2 ? rise : -rise) * direction;
      }
    }
    return taps;
  }
};

struct GridSampleShapes : tenon::Operator {
  using Mode = GridSampler::Mode;
  using Outside = GridSampler::Outside;
  Mode mode = Mode::linear;
  Outside padding = Outside::zeros;
  bool align_corners = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "data interpolated at the normalized coordinates in grid, from -1 to 1 along each axis "
        "(torch.nn.functional.grid_sample)");
    op.input("data", "[batch, channels, sizes ...], 1 to 3 spatial axes");
    op.input("grid",
             "[batch, output sizes ..., number of spatial axes]; normalized coordinates, first "
             "that of data's last axis: (x, y) for two axes");
    op.output("output", "[batch, channels, output sizes ...]");
    op.param("mode", &GridSampleShapes::mode,
             "interpolation: linear (two elements per axis), nearest, or cubic (four elements per "
             "axis)")
        .one_of({{"linear", Mode::linear}, {"nearest", Mode::nearest}, {"cubic", Mode::cubic}});
    op.param("padding", &GridSampleShapes::padding,
             "values outside of data: zeros; border: the nearest element; reflection: data "
             "mirrored at its ends")
        .one_of({{"zeros", Outside::zeros},
                 {"border", Outside::border},
                 {"reflection", Outside::reflection}});
    op.param("align_corners", &GridSampleShapes::align_corners,
             "coordinates -1 and 1 are the centers of the first and last element; false: their "
             "outer edges");
    op.backward_reads("data", "grid");
    op.example({{"data", {1, 2, 4, 5}}, {"grid", {1, 3, 2, 2}}});
    op.example({{"data", {2, 1, 4}}, {"grid", {2, 3, 1}}},
               {{"mode", "cubic"}, {"padding", "border"}});
    op.onnx("", "GridSample")
        .since(20)
        .attribute("mode", "mode")
        .attribute("padding_mode", "padding")
        .attribute("align_corners", "align_corners");
    op.onnx("", "GridSample")
        .since(16)
        .until(19)
        .attribute("mode", "mode", "bilinear")
        .value("mode", "bilinear", "linear")
        .value("mode", "nearest", "nearest")
        .value("mode", "bicubic", "cubic")
        .attribute("padding_mode", "padding")
        .attribute("align_corners", "align_corners");
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    auto grid = io.input("grid").shape;
    if (!data.has_rank()) return;
    const int rank = data.rank();
    io.require(rank >= 3 && rank <= 5, "data is ", data,
               " but needs batch, channels and 1 to 3 spatial axes");
    for (int axis = 2; axis < rank; ++axis)
      io.require(data[axis] != 0, "data is ", data, ": only batch and channels may be empty");
    auto needed = tenon::Shape::of_rank(rank);
    needed.set(0, data[0]);
    needed.set(rank - 1, rank - 2);
    io.require(fits(grid, needed), "grid is ", grid, " but data ", data, " needs ", needed);
    io.set_input("grid", needed);
    grid = io.input("grid").shape;
    auto output = tenon::Shape::of_rank(rank);
    output.set(0, data[0]);
    output.set(1, data[1]);
    for (int axis = 2; axis < rank; ++axis) output.set(axis, grid[axis - 1]);
    io.set_output(0, output);
  }

 protected:
  GridSampler sampler_for(const tenon::Shape& data, const tenon::Shape& grid) const {
    GridSampler sampler{mode, padding, align_corners, data.rank() - 2, data[0], data[1]};
    for (int axis = 0; axis < sampler.axes; ++axis) {
      sampler.size[axis] = data[axis + 2];
      sampler.elements *= data[axis + 2];
      sampler.points *= grid[axis + 1];
    }
    return sampler;
  }
};
