// Parameters that are tensors, in the columns of a file's attributes.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <tenon/host/operator_info.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/visit.hpp>
#include <vector>

namespace tenon {

/// Converts to double. A NaN keeps its payload bits, which a conversion by the CPU would change.
inline double widened_bits(float value) {
  if (!std::isnan(value)) return static_cast<double>(value);
  const auto bits = std::uint64_t{std::bit_cast<std::uint32_t>(value)};
  return std::bit_cast<double>((bits & 0x80000000U) << 32 | std::uint64_t{0x7ff} << 52 |
                               (bits & 0x7fffffU) << 29);
}

/// Inverse of widened_bits() for every double that it returns; for other values the result is
/// lossy.
inline float narrowed_bits(double value) {
  if (!std::isnan(value)) return static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto mantissa = static_cast<std::uint32_t>(bits >> 29 & 0x7fffffU);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32 & 0x80000000U) | 0x7f800000U |
                              (mantissa == 0 ? 1U : mantissa));
}

/// Appends dtype, rank, dimensions and elements.
inline void append_table(const Tensor& table, std::vector<std::int64_t>& integers,
                         std::vector<double>& reals) {
  const auto shape = table.shape();
  integers.insert(integers.end(), {static_cast<std::int64_t>(table.dtype()), shape.rank()});
  integers.insert(integers.end(), shape.begin(), shape.end());
  visit<table_types>(table.dtype(), [&]<class T>() {
    for (const T element : table.values<T>()) {
      if constexpr (std::is_integral_v<T>)
        integers.push_back(element);
      else if constexpr (std::is_same_v<T, float>)
        reals.push_back(widened_bits(element));
      else
        reals.push_back(element);
    }
  });
}

}  // namespace tenon
