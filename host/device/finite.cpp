#include "device/finite.hpp"

#include <algorithm>

namespace tenon {
namespace {

// All bits of the exponent set: NaN or infinite. Looking at whole blocks first leaves a loop that compilers make vector code of.
template <class Bits>
std::int64_t find(const void* elements, std::int64_t n, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(elements);
  constexpr std::int64_t block = 1024;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const auto end = std::min(begin + block, n);
    Bits found = 0;
    for (auto i = begin; i < end; ++i) found = static_cast<Bits>(found | Bits((bits[i] & exponent) == exponent));
    if (found == 0) continue;
    for (auto i = begin; i < end; ++i)
      if ((bits[i] & exponent) == exponent) return i;
  }
  return -1;
}

}  // namespace

std::int64_t first_non_finite(DType dtype, const void* elements, std::int64_t n) {
  switch (dtype) {
    case DType::f16:
      return find<std::uint16_t>(elements, n, 0x7c00);
    case DType::bf16:
      return find<std::uint16_t>(elements, n, 0x7f80);
    case DType::f32:
      return find<std::uint32_t>(elements, n, 0x7f800000);
    case DType::f64:
      return find<std::uint64_t>(elements, n, 0x7ff0000000000000);
    default:
      return -1;
  }
}

}  // namespace tenon
