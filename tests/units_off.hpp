// The distance of a float from the correct result.
#pragma once

#include <algorithm>
#include <cmath>

/// The error of a float in ULPs of the correct result; huge if only one of the two is NaN or
/// infinite.
inline double units_off(float found, double right) {
  if (std::isnan(right) || std::isnan(found))
    return std::isnan(right) && std::isnan(found) ? 0 : 1e9;
  const auto rounded = static_cast<float>(right);
  if (std::isinf(rounded) || std::isinf(found))
    return found == rounded ? 0 : std::fabs(right) > 0x1.fffffep127 && !std::isinf(right) ? 1 : 1e9;
  if (right == 0) return found == 0 && std::signbit(found) == std::signbit(right) ? 0 : 1e9;
  int exponent;
  std::frexp(right, &exponent);
  return std::fabs(found - right) / std::ldexp(1.0, std::max(exponent - 24, -149));
}
