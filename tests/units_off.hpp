// How far a float is from the right result.
#pragma once

#include <algorithm>
#include <cmath>

/// The error of a float in units of the last place of the right result; huge where one is NaN or infinite and the other is not.
inline double units_off(float found, double right) {
  if (std::isnan(right) || std::isnan(found)) return std::isnan(right) && std::isnan(found) ? 0 : 1e9;
  const auto rounded = static_cast<float>(right);
  if (std::isinf(rounded) || std::isinf(found))
    return found == rounded ? 0 : std::fabs(right) > 0x1.fffffep127 && !std::isinf(right) ? 1 : 1e9;
  if (right == 0) return found == 0 && std::signbit(found) == std::signbit(right) ? 0 : 1e9;
  int exponent;
  std::frexp(right, &exponent);
  return std::fabs(found - right) / std::ldexp(1.0, std::max(exponent - 24, -149));
}
