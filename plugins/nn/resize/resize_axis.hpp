// Interpolation along one axis: each output element is a weighted sum of a few elements of data.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tenon/fn.hpp>

namespace resizing {

enum class Method { nearest, linear, cubic };
enum class Coordinates {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil };

struct Rules {
  Method method;
  Coordinates coordinates;
  Rounding rounding;
  bool antialias, exclude_outside;
  double cubic_coefficient;
};

/// The sizes of one axis of data and output.
struct Sizes {
  std::int64_t in = 1, out = 1;
  double scale = 1;
  float begin = 0, end = 1;  ///< region of data, for tf_crop_and_resize
  bool same(Coordinates coordinates) const {
    return in == out && scale == 1 &&
           (coordinates != Coordinates::tf_crop_and_resize || (begin == 0 && end == 1));
  }
};

/// The elements of data that contribute to an output element, and their weights. Thread-safe.
class AxisTaps {
 public:
  AxisTaps() = default;
  AxisTaps(const Sizes& sizes, const Rules& rules) : sizes_(sizes), rules_(rules) {
    scale_ = rules.antialias ? std::min(sizes.scale, 1.0)
                             : 1.0;  // antialias has an effect only if data shrinks
    first_ =
        static_cast<std::int64_t>(std::floor((rules.method == Method::cubic ? -2 : -1) / scale_)) +
        1;
    taps_ = rules.method == Method::nearest ? 1 : 2 - 2 * first_;
  }

  TENON_FN std::int64_t in() const { return sizes_.in; }
  TENON_FN std::int64_t out() const { return sizes_.out; }
  TENON_FN std::int64_t taps() const { return taps_; }
  /// Whether output equals data.
  bool same() const { return sizes_.same(rules_.coordinates); }
  TENON_FN bool outside(std::int64_t i) const {
    if (rules_.coordinates != Coordinates::tf_crop_and_resize) return false;
    const auto x = source_position(static_cast<double>(i));
    return x < 0 || x > static_cast<double>(sizes_.in - 1);
  }

  /// For method nearest: the element of data for output element i.
  TENON_FN std::int64_t nearest(std::int64_t i) const {
    const auto x = source_position(static_cast<double>(i)), floor = std::floor(x);
    const auto ratio = x - floor;
    const bool right = ratio > 0 && (rules_.rounding == Rounding::ceil ||
                                     (rules_.rounding == Rounding::prefer_floor && ratio > 0.5) ||
                                     (rules_.rounding == Rounding::prefer_ceil && ratio >= 0.5));
    return inside(floor + (right ? 1 : 0));
  }

  /// Calls take(index in data, weight) for each tap of output element i.
  template <class Take>
  TENON_FN void each(std::int64_t i, Take take) const {
    if (rules_.method == Method::nearest) return take(nearest(i), 1.0);
    const auto x = source_position(static_cast<double>(i)), floor = std::floor(x);
    const bool whole = x == floor;
    const auto ratio = whole ? 1 : x - floor;  // in (0, 1]: the left element is preferred
    const auto start = floor - static_cast<double>(taps_ / 2) + (whole ? 0 : 1);
    double sum = 0;
    if (rules_.antialias || rules_.exclude_outside)
      for (std::int64_t tap = 0; tap < taps_; ++tap) sum += weight(start, ratio, tap);
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      const auto own = weight(start, ratio, tap);
      take(inside(start + static_cast<double>(tap)), sum != 0 ? own / sum : own);
    }
  }

 private:
  TENON_FN double source_position(double i) const {
    const auto in = static_cast<double>(sizes_.in), out = sizes_.scale * in;
    switch (rules_.coordinates) {
      case Coordinates::align_corners:
        return out == 1 ? 0 : i * (in - 1) / (out - 1);
      case Coordinates::asymmetric:
        return i / sizes_.scale;
      case Coordinates::tf_half_pixel_for_nn:
        return (i + 0.5) / sizes_.scale;
      case Coordinates::tf_crop_and_resize: {
        const double width = sizes_.end - sizes_.begin;  // in float, the type of the region
        return (out == 1 ? width * (in - 1) / 2 : i * width * (in - 1) / (out - 1)) +
               static_cast<double>(sizes_.begin * static_cast<float>(in - 1));
      }
      case Coordinates::pytorch_half_pixel:
        return out == 1 ? -0.5 : (i + 0.5) / sizes_.scale - 0.5;
      case Coordinates::half_pixel_symmetric:
        return in / 2 * (1 - static_cast<double>(sizes_.out) / out) + (i + 0.5) / sizes_.scale -
               0.5;
      case Coordinates::half_pixel:
        break;
    }
    return (i + 0.5) / sizes_.scale - 0.5;
  }

  TENON_FN std::int64_t inside(double i) const {
    const auto last = static_cast<double>(sizes_.in - 1);
    return static_cast<std::int64_t>(i < 0 ? 0.0 : i > last ? last : i);
  }

  TENON_FN double weight(double start, double ratio, std::int64_t tap) const {
    const auto at = start + static_cast<double>(tap);
    if (rules_.exclude_outside && (at < 0 || at > static_cast<double>(sizes_.in - 1))) return 0;
    return height(scale_ * (static_cast<double>(first_ + tap) - ratio));
  }

  /// The value of the kernel at a distance from its center.
  TENON_FN double height(double distance) const {
    const auto x = distance < 0 ? -distance : distance, a = rules_.cubic_coefficient;
    if (rules_.method == Method::linear) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  Sizes sizes_;
  Rules rules_{};
  double scale_ = 1;
  std::int64_t first_ = 0, taps_ = 1;
};

}  // namespace resizing
