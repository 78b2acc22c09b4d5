// The vector level of this machine, which selects among the versions of a plugin's loops
// (wide.hpp).
#pragma once

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "../error.hpp"
#include "../version.hpp"

#if defined(__x86_64__) && !defined(__CUDACC__) && !defined(TENON_NO_WIDE)
#define TENON_WIDE_LEVELS 1

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The instruction sets of compiled loops. x86-64's levels are those of its psABI.
enum class VectorLevel : unsigned char { unknown, plain, v3, v4 };

/// The level of this plugin, once it is known. Tests set it. Threads that detect it at the same
/// time get the same result.
inline constinit std::atomic<VectorLevel> vector_level{VectorLevel::unknown};

struct CpuidAnswer {
  unsigned a, b, c, d;
};

/// Returns zeros if the CPU does not support the leaf.
inline CpuidAnswer cpuid(unsigned leaf) {
  CpuidAnswer limit, answer;
  asm volatile("cpuid"
               : "=a"(limit.a), "=b"(limit.b), "=c"(limit.c), "=d"(limit.d)
               : "a"(leaf & 0x80000000u), "c"(0));
  if (limit.a < leaf) return {};
  asm volatile("cpuid"
               : "=a"(answer.a), "=b"(answer.b), "=c"(answer.c), "=d"(answer.d)
               : "a"(leaf), "c"(0));
  return answer;
}

/// Returns what the CPU supports and the OS saves for each thread (Intel's manual, volume 1, 13.3
/// and 15.2). Does not use libgcc's constructor, because a plugin may be used before it has run.
[[gnu::cold, gnu::noinline]] inline VectorLevel vector_level_of_processor() {
  constexpr unsigned avx = 1u << 28, osxsave = 1u << 27, f16c = 1u << 29, movbe = 1u << 22,
                     fma = 1u << 12;
  constexpr unsigned avx2 = 1u << 5, bmi = 1u << 3, bmi2 = 1u << 8, lzcnt = 1u << 5;
  constexpr unsigned avx512 =
      1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  // f, dq, cd, bw, vl
  constexpr unsigned first = avx | osxsave | f16c | movbe | fma, seventh = avx2 | bmi | bmi2;
  const unsigned features = cpuid(7).b;
  const bool has_v3 = (cpuid(1).c & first) == first && (features & seventh) == seventh &&
                      (cpuid(0x80000001u).c & lzcnt) != 0;
  if (!has_v3) return VectorLevel::plain;
  unsigned enabled, high;
  asm volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  if ((enabled & 0x06) != 0x06) return VectorLevel::plain;
  return (features & avx512) == avx512 && (enabled & 0xe6) == 0xe6 ? VectorLevel::v4
                                                                   : VectorLevel::v3;
}

[[gnu::cold, gnu::noinline]] inline VectorLevel find_vector_level() {
  VectorLevel level = vector_level_of_processor();
  if (const char* limit = std::getenv("TENON_WIDE"); limit && *limit) {
    const std::string_view name = limit;
    const bool plain = name == "plain", v3 = name == "v3";
    if (!plain && !v3 && name != "v4")
      fail(ErrorKind::failed,
           {"TENON_WIDE is ", limit, "; set it to plain, v3 or v4, or not at all"});
    if (plain) level = VectorLevel::plain;
    if (v3 && level == VectorLevel::v4) level = VectorLevel::v3;
  }
  vector_level.store(level, std::memory_order_relaxed);
  return level;
}

inline VectorLevel usable_vector_level() {
  const VectorLevel level = vector_level.load(std::memory_order_relaxed);
  return level != VectorLevel::unknown ? level : find_vector_level();
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
#endif
