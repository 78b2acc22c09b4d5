// How resize makes the elements of one axis: each from a few of data's, with weights.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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

/// One axis of data and of output.
struct Sizes {
  std::int64_t in = 1, out = 1;
  double scale = 1;
  float begin = 0, end = 1;  ///< begin and end of the region of data, for tf_crop_and_resize
  bool same(Coordinates coordinates) const {
    return in == out && scale == 1 && (coordinates != Coordinates::tf_crop_and_resize || (begin == 0 && end == 1));
  }
};

class ResizeAxis {
 public:
  ResizeAxis(const Sizes& sizes, const Rules& rules)
      : in_(sizes.in), out_(sizes.out), outside_(static_cast<std::size_t>(sizes.out), false), same_(sizes.same(rules.coordinates)) {
    const auto scale = rules.antialias ? std::min(sizes.scale, 1.0) : 1.0;  // antialias acts where data shrinks
    const auto first = static_cast<std::int64_t>(std::floor((rules.method == Method::cubic ? -2 : -1) / scale)) + 1;
    taps_ = rules.method == Method::nearest ? 1 : 2 - 2 * first;
    index_.resize(static_cast<std::size_t>(out_ * taps_));
    weight_.resize(index_.size());
    for (std::int64_t i = 0; i < out_; ++i) {
      const auto x = place(sizes, rules.coordinates, static_cast<double>(i));
      if (rules.coordinates == Coordinates::tf_crop_and_resize)
        outside_[static_cast<std::size_t>(i)] = x < 0 || x > static_cast<double>(in_ - 1);
      set(i, x, rules, scale, first);
    }
  }

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }
  std::int64_t taps() const { return taps_; }
  /// Whether output has data's elements.
  bool same() const { return same_; }
  bool outside(std::int64_t i) const { return outside_[static_cast<std::size_t>(i)]; }
  const std::int64_t* index(std::int64_t i) const { return &index_[static_cast<std::size_t>(i * taps_)]; }
  const double* weight(std::int64_t i) const { return &weight_[static_cast<std::size_t>(i * taps_)]; }

 private:
  static double place(const Sizes& sizes, Coordinates coordinates, double i) {
    const auto in = static_cast<double>(sizes.in), out = sizes.scale * in;
    switch (coordinates) {
      case Coordinates::align_corners:
        return out == 1 ? 0 : i * (in - 1) / (out - 1);
      case Coordinates::asymmetric:
        return i / sizes.scale;
      case Coordinates::tf_half_pixel_for_nn:
        return (i + 0.5) / sizes.scale;
      case Coordinates::tf_crop_and_resize: {
        const double width = sizes.end - sizes.begin;  // of floats, as they are given
        return (out == 1 ? width * (in - 1) / 2 : i * width * (in - 1) / (out - 1)) +
               static_cast<double>(sizes.begin * static_cast<float>(in - 1));
      }
      case Coordinates::pytorch_half_pixel:
        return out == 1 ? -0.5 : (i + 0.5) / sizes.scale - 0.5;
      case Coordinates::half_pixel_symmetric:
        return in / 2 * (1 - static_cast<double>(sizes.out) / out) + (i + 0.5) / sizes.scale - 0.5;
      case Coordinates::half_pixel:
        break;
    }
    return (i + 0.5) / sizes.scale - 0.5;
  }

  std::int64_t inside(double i) const { return static_cast<std::int64_t>(std::clamp(i, 0.0, static_cast<double>(in_ - 1))); }

  void set(std::int64_t i, double x, const Rules& rules, double scale, std::int64_t first) {
    auto* const index = &index_[static_cast<std::size_t>(i * taps_)];
    auto* const weight = &weight_[static_cast<std::size_t>(i * taps_)];
    const auto floor = std::floor(x);
    const bool whole = x == floor;
    const auto ratio = whole ? 1 : x - floor;  // in (0, 1]: the element on the left is preferred
    if (rules.method == Method::nearest) {
      const bool right = !whole && (rules.rounding == Rounding::ceil || (rules.rounding == Rounding::prefer_floor && ratio > 0.5) ||
                                    (rules.rounding == Rounding::prefer_ceil && ratio >= 0.5));
      index[0] = inside(floor + (right ? 1 : 0));
      weight[0] = 1;
      return;
    }
    const auto start = floor - static_cast<double>(taps_ / 2) + (whole ? 0 : 1);
    double sum = 0;
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      const auto at = start + static_cast<double>(tap);
      index[tap] = inside(at);
      weight[tap] = height(rules, scale * (static_cast<double>(first + tap) - ratio));
      if (rules.exclude_outside && (at < 0 || at > static_cast<double>(in_ - 1))) weight[tap] = 0;
      sum += weight[tap];
    }
    if ((rules.antialias || rules.exclude_outside) && sum != 0)
      for (std::int64_t tap = 0; tap < taps_; ++tap) weight[tap] /= sum;
  }

  /// Of the kernel at a distance from its middle.
  static double height(const Rules& rules, double distance) {
    const auto x = std::abs(distance), a = rules.cubic_coefficient;
    if (rules.method == Method::linear) return std::max(1 - x, 0.0);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  std::int64_t in_, out_, taps_ = 1;
  std::vector<std::int64_t> index_;
  std::vector<double> weight_;
  std::vector<bool> outside_;
  bool same_;
};

}  // namespace resizing
