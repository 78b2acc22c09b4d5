// roi_align and max_roi_pool: parts of images, brought to one size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tenon/operator.hpp>

#include "shared/store.hpp"

/// What both share.
struct RegionPool : tenon::Operator {
  std::int64_t height = 1, width = 1;
  double spatial_scale = 1;

  static constexpr void describe_sizes(auto& op) {
    op.output("output", "[regions, channels, height, width]");
    op.param("height", &RegionPool::height, "rows of output").at_least(1).at_most(65535);
    op.param("width", &RegionPool::width, "columns of output").at_least(1).at_most(65535);
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
    op.doc("regions of data, cut into height x width parts, with the average or the largest of points in each; it has no gradient");
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
    op.example({{"data", {1, 2, 5, 6}}, {"regions", {2, 4}, tenon::f32, {0, 1, 3, 4, 1, 0, 4, 2}}, {"samples", {2}, tenon::i64, {0, 0}}},
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
        for (auto r = begin; r < end; ++r) {
          const auto n = sample(samples[r], data.dim(0));
          W edge[4];
          for (int i = 0; i < 4; ++i)
            edge[i] = static_cast<W>(regions[4 * r + i]) * static_cast<W>(spatial_scale) - (half_pixel ? W(0.5) : W(0));
          W w = edge[2] - edge[0], h = edge[3] - edge[1];
          if (!half_pixel) w = std::max(w, W(1)), h = std::max(h, W(1));
          const W part_h = h / static_cast<W>(height), part_w = w / static_cast<W>(width);
          const auto points_h = points(part_h), points_w = points(part_w);
          for (std::int64_t c = 0; c < channels; ++c) {
            const T* const plane = data.data() + (n * channels + c) * rows * columns;
            for (std::int64_t i = 0; i < height * width; ++i) {
              W sum = 0, most = 0;
              bool any = false;
              for (std::int64_t p = 0; p < points_h * points_w; ++p) {
                const W y = edge[1] + static_cast<W>(i / width) * part_h +
                            (static_cast<W>(p / points_w) + W(0.5)) * part_h / static_cast<W>(points_h);
                const W x = edge[0] + static_cast<W>(i % width) * part_w +
                            (static_cast<W>(p % points_w) + W(0.5)) * part_w / static_cast<W>(points_w);
                const auto [all, largest] = point(plane, rows, columns, y, x);
                sum += all;
                most = any ? std::max(most, largest) : largest;
                any = true;
              }
              const auto count = static_cast<W>(std::max<std::int64_t>(points_h * points_w, 1));
              output[(r * channels + c) * height * width + i] = T(mode == Mode::average ? sum / count : most);
            }
          }
        }
      });
    });
  }

 private:
  template <class W>
  std::int64_t points(W part) const {
    if (sampling_ratio > 0) return sampling_ratio;
    if (!(part <= W(4096))) throw tenon::Error("a region is not finite, or too large");
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(part)), 0);
  }

  template <class W>
  struct Point {
    W sum, largest;
  };
  /// The four weighted elements around a point.
  template <class T, class W>
  static Point<W> point(const T* plane, std::int64_t rows, std::int64_t columns, W y, W x) {
    if (!(y >= -1 && y <= static_cast<W>(rows) && x >= -1 && x <= static_cast<W>(columns))) return {0, 0};
    const auto split = [](W at, std::int64_t size, std::int64_t& low, std::int64_t& high) {
      at = std::max(at, W(0));
      low = static_cast<std::int64_t>(at);
      if (low >= size - 1) return low = high = size - 1, W(0);
      high = low + 1;
      return at - static_cast<W>(low);
    };
    std::int64_t top = 0, bottom = 0, left = 0, right = 0;
    const W ly = split(y, rows, top, bottom), lx = split(x, columns, left, right);
    const W terms[] = {
        (1 - ly) * (1 - lx) * static_cast<W>(plane[top * columns + left]), (1 - ly) * lx * static_cast<W>(plane[top * columns + right]),
        ly * (1 - lx) * static_cast<W>(plane[bottom * columns + left]), ly * lx * static_cast<W>(plane[bottom * columns + right])};
    return {terms[0] + terms[1] + terms[2] + terms[3], *std::max_element(terms, terms + 4)};
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
