// grid_sample: data at places that a grid names, over 1 to 3 spatial axes.
#include <algorithm>
#include <array>
#include <cmath>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/fits.hpp"
#include "shared/store.hpp"

struct GridSample : tenon::Operator {
  enum class Mode { linear, nearest, cubic };
  enum class Outside { zeros, border, reflection };
  Mode mode = Mode::linear;
  Outside padding = Outside::zeros;
  bool align_corners = false;

  static constexpr void describe(auto& op) {
    op.doc("data at the places that grid names: -1 is one end of an axis, and 1 the other");
    op.input("data", "[batch, channels, 1 to 3 spatial axes ...]");
    op.input("grid", "[batch, output's spatial axes ..., as many numbers: the place along data's last axis first]");
    op.output("output", "[batch, channels, grid's spatial axes ...]");
    op.param("mode", &GridSample::mode, "a weighted sum of the two or four elements around a place along each axis, or the nearest one")
        .one_of({{"linear", Mode::linear}, {"nearest", Mode::nearest}, {"cubic", Mode::cubic}});
    op.param("padding", &GridSample::padding, "what is outside of data: zeros, the elements at its border, or its mirror image")
        .one_of({{"zeros", Outside::zeros}, {"border", Outside::border}, {"reflection", Outside::reflection}});
    op.param("align_corners", &GridSample::align_corners, "-1 and 1 are the middles of the first and last element, not their edges");
    op.backward_reads("data", "grid");
    op.example({{"data", {1, 2, 4, 5}}, {"grid", {1, 3, 2, 2}}});
    op.example({{"data", {2, 1, 4}}, {"grid", {2, 3, 1}}}, {{"mode", "cubic"}, {"padding", "border"}});
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
    io.require(rank >= 3 && rank <= 5, "data is ", data, " but needs batch, channels and 1 to 3 spatial axes");
    for (int axis = 2; axis < rank; ++axis) io.require(data[axis] != 0, "data is ", data, ": only batch and channels may be empty");
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

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0), grid = call.input<T>(1);
      const auto output = call.output<T>(0);
      const Sizes sizes = sizes_of(data.shape(), grid.shape());
      call.parallel_for(sizes.batch * sizes.points, 1 + 256 / (1 + sizes.channels), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) {
          const auto around = around_of<Wide<T>>(sizes, grid.data() + i * sizes.axes);
          const auto n = i / sizes.points, point = i % sizes.points;
          for (std::int64_t c = 0; c < sizes.channels; ++c) {
            const T* const plane = data.data() + (n * sizes.channels + c) * sizes.elements;
            Wide<T> sum = 0;
            each_tap(sizes, around, -1, [&](std::int64_t at, Wide<T> weight) { sum += weight * static_cast<Wide<T>>(plane[at]); });
            output[(n * sizes.channels + c) * sizes.points + point] = T(sum);
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
      const Sizes sizes = sizes_of(data.shape(), grid.shape());
      T* const dx = call.write(0) != tenon::Write::none ? call.input_grad<T>(0).data() : nullptr;
      T* const dgrid = call.write(1) != tenon::Write::none ? call.input_grad<T>(1).data() : nullptr;
      call.parallel_for(sizes.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<W> sums(static_cast<std::size_t>(sizes.channels * sizes.elements));
        for (auto n = begin; n < end; ++n) {
          std::fill(sums.begin(), sums.end(), W(0));
          for (std::int64_t point = 0; point < sizes.points; ++point) {
            const auto i = n * sizes.points + point;
            const auto around = around_of<W>(sizes, grid.data() + i * sizes.axes);
            W slopes[3] = {};
            for (std::int64_t c = 0; c < sizes.channels; ++c) {
              const W slope = static_cast<W>(dy[(n * sizes.channels + c) * sizes.points + point]);
              W* const plane = sums.data() + c * sizes.elements;
              each_tap(sizes, around, -1, [&](std::int64_t at, W weight) { plane[at] += weight * slope; });
              const T* const from = data.data() + (n * sizes.channels + c) * sizes.elements;
              for (int axis = 0; dgrid && axis < sizes.axes; ++axis)
                each_tap(sizes, around, axis,
                         [&](std::int64_t at, W weight) { slopes[axis] += weight * slope * static_cast<W>(from[at]); });
            }
            for (int axis = 0; dgrid && axis < sizes.axes; ++axis) dgrid[i * sizes.axes + sizes.axes - 1 - axis] = T(slopes[axis]);
          }
          const auto count = sizes.channels * sizes.elements;
          for (std::int64_t k = 0; dx && k < count; ++k) dx[n * count + k] = T(sums[static_cast<std::size_t>(k)]);
        }
      });
    });
  }

 private:
  struct Sizes {
    std::int64_t batch, channels, elements = 1, points = 1;
    int axes;
    std::int64_t size[3];
  };
  static Sizes sizes_of(const tenon::Shape& data, const tenon::Shape& grid) {
    Sizes sizes{data[0], data[1], 1, 1, data.rank() - 2, {}};
    for (int axis = 0; axis < sizes.axes; ++axis) {
      sizes.size[axis] = data[axis + 2];
      sizes.elements *= data[axis + 2];
      sizes.points *= grid[axis + 1];
    }
    return sizes;
  }

  /// The elements around a place along one axis, below 0 where they are outside; their weights, and how these change with the grid.
  template <class W>
  struct Taps {
    int count = 0;
    std::int64_t index[4];
    W weight[4], slope[4];
  };
  template <class W>
  using Around = std::array<Taps<W>, 3>;

  /// Changes the sign of `direction` where the image is mirrored.
  template <class W>
  static W reflected(W x, W least, W most, W& direction) {
    const W range = most - least;
    if (!(range > 0)) return direction = 0, least;
    const bool before = x < least;
    if (!before && !(x > most)) return x;
    const W distance = before ? least - x : x - most, turns = std::trunc(distance / range), rest = distance - turns * range;
    const bool even = std::fmod(turns, W(2)) == 0;
    direction = even ? -direction : direction;
    return before == even ? least + rest : most - rest;
  }

  template <class W>
  std::int64_t inside(W x, std::int64_t size, W least, W most) const {
    const auto last = static_cast<W>(size - 1);
    if (padding == Outside::zeros) return x >= 0 && x <= last ? static_cast<std::int64_t>(x) : -1;
    W unused = 1;
    if (padding == Outside::reflection) x = std::trunc(reflected(x, least, most, unused));
    return static_cast<std::int64_t>(x >= 0 ? std::min(x, last) : W(0));
  }

  template <class T, class W>
  Taps<W> taps_of(T place, std::int64_t size) const {
    const auto length = static_cast<W>(size);
    const W least = align_corners ? W(0) : W(-0.5), most = align_corners ? length - 1 : length - W(0.5);
    W direction = (align_corners ? length - 1 : length) / 2;
    W x = align_corners ? (static_cast<W>(place) + 1) / 2 * (length - 1) : ((static_cast<W>(place) + 1) * length - 1) / 2;
    if (mode == Mode::nearest) x = std::nearbyint(x);
    if (x < least || x > most) {
      if (padding == Outside::border) direction = 0, x = std::clamp(x, W(0), length - 1);
      if (padding == Outside::reflection) x = reflected(x, least, most, direction);
    }
    Taps<W> taps;
    if (!(std::abs(x) < W(1e9))) return taps;  // nothing is there
    const W floor = mode == Mode::nearest ? std::trunc(x) : std::floor(x), t = x - floor;
    taps.count = mode == Mode::nearest ? 1 : mode == Mode::linear ? 2 : 4;
    for (int i = 0; i < taps.count; ++i) taps.index[i] = inside(floor + static_cast<W>(mode == Mode::cubic ? i - 1 : i), size, least, most);
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
        taps.weight[i] = outer ? ((a * d[i] - 5 * a) * d[i] + 8 * a) * d[i] - 4 * a : ((a + 2) * d[i] - (a + 3)) * d[i] * d[i] + 1;
        const W rise = outer ? (3 * a * d[i] - 10 * a) * d[i] + 8 * a : (3 * (a + 2) * d[i] - 2 * (a + 3)) * d[i];
        taps.slope[i] = (i < 2 ? rise : -rise) * direction;
      }
    }
    return taps;
  }

  template <class W, class T>
  Around<W> around_of(const Sizes& sizes, const T* place) const {
    Around<W> around;
    for (int axis = 0; axis < sizes.axes; ++axis)
      around[static_cast<std::size_t>(axis)] = taps_of<T, W>(place[sizes.axes - 1 - axis], sizes.size[axis]);
    return around;
  }

  /// body(element, weight) of all elements around a place. sloped: the axis whose slopes take the place of its weights; -1: none.
  template <class W, class Body>
  static void each_tap(const Sizes& sizes, const Around<W>& around, int sloped, const Body& body, int axis = 0, std::int64_t at = 0,
                       W weight = 1) {
    if (axis == sizes.axes) return body(at, weight);
    const auto& taps = around[static_cast<std::size_t>(axis)];
    for (int i = 0; i < taps.count; ++i)
      if (taps.index[i] >= 0)
        each_tap(sizes, around, sloped, body, axis + 1, at * sizes.size[axis] + taps.index[i],
                 weight * (axis == sloped ? taps.slope[i] : taps.weight[i]));
  }
};
TENON_OPERATOR(grid_sample, GridSample)
