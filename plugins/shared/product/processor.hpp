// CPU and OS features for matrix products. The choice of an algorithm is in product_choice.hpp.
#pragma once
#include <tenon/detail/vector_level.hpp>

#if defined(TENON_WIDE_LEVELS)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#endif

namespace product {

enum class Vectors { scalar, avx2, avx512 };

struct Processor {
  Vectors vectors = Vectors::scalar;
  bool bf16 = false;  ///< AVX512-BF16, in addition to AVX-512
  bool amx = false;   ///< AMX bfloat16 tiles, in addition to AVX-512
  bool vnni = false;  ///< AVX512-VNNI, in addition to AVX-512
  friend bool operator==(const Processor&, const Processor&) = default;
};

#if defined(TENON_WIDE_LEVELS)
namespace detail {

inline bool has_bf16() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 5 & 1) != 0;
  }();
  return has;
}

inline bool has_vnni() {
  static const bool has = (tenon::detail::cpuid(7).c >> 11 & 1) != 0;
  return has;
}

/// Requests permission to use AMX tiles from Linux (arch/x86/xstate.rst). If TENON_WIDE is set, AMX
/// is not used.
inline bool has_amx() {
  static const bool has = [] {
    if (const char* most = std::getenv("TENON_WIDE"); most && *most) return false;
    constexpr unsigned bf16 = 1u << 22, tiles = 1u << 24, tile_state = 3u << 17;
    constexpr long request_permission = 0x1023, tile_data = 18;
    if ((tenon::detail::cpuid(7).d & (bf16 | tiles)) != (bf16 | tiles)) return false;
    unsigned enabled, high;
    asm volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    return (enabled & tile_state) == tile_state &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return has;
}

}  // namespace detail

/// Returns the vector extensions of this CPU, limited by TENON_WIDE.
inline Vectors this_vectors() {
  using tenon::detail::VectorLevel;
  switch (tenon::detail::usable_vector_level()) {
    case VectorLevel::v4:
      return Vectors::avx512;
    case VectorLevel::v3:
      return Vectors::avx2;
    default:
      return Vectors::scalar;
  }
}

inline Processor this_processor() {
  const auto vectors = this_vectors();
  if (vectors != Vectors::avx512) return {vectors};
  return {vectors, detail::has_bf16(), detail::has_amx(), detail::has_vnni()};
}
#else
inline Vectors this_vectors() {
  return Vectors::scalar;
}
inline Processor this_processor() {
  return {};
}
#endif

}  // namespace product
