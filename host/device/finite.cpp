#include "device/finite.hpp"

namespace tenon {
namespace {

constexpr std::int64_t block = 256;

/// Whether one of a block has all bits of the exponent set. GCC 12 makes vector code at -O2 only of loops with a constant count.
template <class Bits>
bool spoilt(const Bits* bits, Bits exponent) {
  Bits found = 0;
  for (std::int64_t i = 0; i < block; ++i) found = static_cast<Bits>(found | ((bits[i] & exponent) == exponent ? 1 : 0));
  return found != 0;
}

template <class Bits>
std::int64_t find(const void* elements, std::int64_t n, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(elements);
  std::int64_t i = 0;
  while (i + block <= n && !spoilt(bits + i, exponent)) i += block;
  while (i < n && (bits[i] & exponent) != exponent) ++i;
  return i < n ? i : -1;
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
