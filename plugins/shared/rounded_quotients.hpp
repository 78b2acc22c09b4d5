// Quantization of float32: round(x / scale) + zero point, saturated. Multiplies by 1 / scale where
// that gives the same integers.
#pragma once
#include <cstdint>
#include <cstring>
#include <tenon/elementwise.hpp>
#include <tenon/elementwise/for_each.hpp>

namespace quantization {

/// Converts a quotient to Y. Zero points are integers, and so is the sum if it is in Y's range.
template <class Y>
TENON_FN Y placed(float x, float zero) {
  constexpr auto low = static_cast<float>(tenon::elementwise::min_value<Y>),
                 high = static_cast<float>(tenon::elementwise::max_value<Y>);
  const float sum = tenon::elementwise::rint(x) + zero;
  const float limited = tenon::select(sum > low, tenon::select(sum < high, sum, high), low);
  return static_cast<Y>(static_cast<std::int32_t>(tenon::select(sum == sum, limited, 0.0f)));
}

/// A single scale and zero point, for 8-bit integers.
///
/// x * (1 / scale) differs from x / scale by less than 2^-12 for quotients up to 1024, and larger
/// ones saturate in any case: zero points are at most 255. So both round to the same integer unless
/// the product is that close to the middle between two integers; such elements are divided.
struct Quotients {
  float scale, zero, inverse;
  float margin;  ///< divide if the distance to the nearest integer is larger

  Quotients(float scale_of, float zero_of) : scale(scale_of), zero(zero_of), inverse(1 / scale_of) {
    const bool normal = inverse >= 0x1p-120F && inverse <= 0x1p120F;
    margin = normal ? 0.4995F : -1;
  }

  static constexpr std::int64_t step = 16;

  /// Quantizes `count` elements.
  template <class Y>
  void quantize(const float* x, std::int64_t count, Y* y) const {
    const auto whole = count / step * step;
    tenon::wide([=, quotients = *this] {
      for (std::int64_t i = 0; i < whole; i += step) quotients.quantize_step(x + i, y + i);
    });
    if (whole == count) return;
    float last[step] = {};
    Y rounded[step];
    const auto rest = static_cast<std::size_t>(count - whole);
    std::memcpy(last, x + whole, rest * sizeof(float));
    tenon::wide([=, quotients = *this, from = &last[0], to = &rounded[0]] {
      quotients.quantize_step(from, to);
    });
    std::memcpy(y + whole, rounded, rest * sizeof(Y));
  }

  /// Quantizes `step` elements, inside of tenon::wide.
  template <class Y>
  [[gnu::always_inline]] inline void quantize_step(const float* x, Y* y) const {
    std::int32_t close = 0;
    for (std::int64_t k = 0; k < step; ++k) {
      const float quotient = x[k] * inverse;
      const float distance = quotient - tenon::elementwise::rint(quotient);
      // the distance is NaN if x or the inverse is infinite
      close |= !(distance <= margin) | !(distance >= -margin);
      y[k] = placed<Y>(quotient, zero);
    }
    if (close != 0)
      for (std::int64_t k = 0; k < step; ++k) y[k] = placed<Y>(x[k] / scale, zero);
  }
};

}  // namespace quantization
