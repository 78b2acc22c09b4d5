// Conversion between any two dtypes, for operators with inputs of their own dtypes. Works in two
// steps, through the widest type of the same kind: one or two loops per dtype instead of one per
// pair.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../version.hpp"
#include "../visit.hpp"
#include "convert.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class Wide>
void convert_from(DType to, const Wide* in, void* out, std::int64_t n) {
  visit<any_real + Types{boolean}>(to, [&]<class To>() { convert_block<Wide, To>(in, out, n); });
}

/// Integers are converted through int64, other numbers through double, without loss.
inline void convert_any(DType from, DType to, const void* in, void* out, std::int64_t n) {
  union {
    double real[block];
    std::int64_t whole[block];
  } wide;
  for (std::int64_t done = 0; done < n; done += block) {
    const std::int64_t count = std::min(block, n - done);
    const auto* source =
        static_cast<const unsigned char*>(in) + done * static_cast<std::int64_t>(size_of(from));
    auto* target = static_cast<unsigned char*>(out) + done * static_cast<std::int64_t>(size_of(to));
    if (from == u64 && floating.has(to)) {  // may exceed int64
      visit<floating>(to,
                      [&]<class To>() { convert_block<std::uint64_t, To>(source, target, count); });
      continue;
    }
    visit<any_real + Types{boolean}>(from, [&]<class From>() {
      if constexpr (std::is_integral_v<From>) {
        convert_block<From, std::int64_t>(source, wide.whole, count);
        convert_from(to, wide.whole, target, count);
      } else {
        convert_block<From, double>(source, wide.real, count);
        convert_from(to, wide.real, target, count);
      }
    });
  }
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
