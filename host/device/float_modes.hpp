// The modes of the floating-point unit, which code of plugins may leave changed for everything that its thread does afterwards.
#pragma once
#include <cstdint>
#include <string>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tenon {

/// Rounding, subnormal numbers and traps of the calling thread; not the flags of what has happened, which every operation may set.
class FloatModes {
 public:
  static FloatModes now() {
#if defined(__SSE2__)
    std::uint16_t x87 = 0;
    asm volatile("fnstcw %0" : "=m"(x87));
    return FloatModes((_mm_getcsr() & ~mxcsr_flags) | std::uint64_t{x87} << 32);
#elif defined(__aarch64__)
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return FloatModes(fpcr);
#else
    return FloatModes(0);
#endif
  }

  /// For the calling thread.
  void set() const {
#if defined(__SSE2__)
    const auto x87 = static_cast<std::uint16_t>(bits_ >> 32);
    // loading a word looks for pending exceptions, which may be traps by now
    asm volatile("fnclex\n\tfldcw %0" : : "m"(x87));
    _mm_setcsr((_mm_getcsr() & mxcsr_flags) | static_cast<std::uint32_t>(bits_));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(bits_));
#endif
  }

  /// For another process of this machine.
  std::uint64_t bits() const {
    return bits_;
  }
  static FloatModes of(std::uint64_t bits) {
    return FloatModes(bits);
  }

  friend bool operator==(const FloatModes&, const FloatModes&) = default;
  /// `flush-to-zero is on, rounding is upward`: what is otherwise than in `before`.
  std::string difference_from(const FloatModes& before) const;

 private:
  explicit FloatModes(std::uint64_t bits) : bits_(bits) {}
  static constexpr std::uint32_t mxcsr_flags = 0x3f;
  std::uint64_t bits_;
};

}  // namespace tenon
