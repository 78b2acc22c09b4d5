// Floating-point modes, which plugin code may leave changed and thereby affect everything that the
// thread does later.
#pragma once
#include <cstdint>
#include <string>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tenon {

/// Rounding, subnormal handling and traps of the calling thread; not the exception flags, which any
/// operation may set.
class FloatModes {
 public:
  /// Returns the current modes, and clears the x87 stack like after_call().
  static FloatModes now() {
    auto modes = after_call();
    modes.bits_ &= ~x87_stack;
    return modes;
  }
  /// Returns the modes after a plugin function. They differ from the modes before if the function
  /// left values on the x87 stack, where they would turn later long doubles into NaN. The stack is
  /// cleared, so only the first call reports it.
  static FloatModes after_call() {
#if defined(__SSE2__)
    std::uint16_t x87 = 0;
    asm volatile("fnstcw %0" : "=m"(x87));
    // with traps enabled, looking would raise one
    const bool left = (x87 & x87_masks) == x87_masks && empty_x87_stack();
    return FloatModes((_mm_getcsr() & ~mxcsr_flags) | std::uint64_t{x87} << 32 |
                      (left ? x87_stack : 0));
#elif defined(__aarch64__)
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return FloatModes(fpcr);
#else
    return FloatModes(0);
#endif
  }

  /// Applies the modes to the calling thread.
  void set() const {
#if defined(__SSE2__)
    const auto x87 = static_cast<std::uint16_t>(bits_ >> 32);
    // fldcw checks for pending exceptions, which the code that ran may have unmasked.
    asm volatile("fnclex\n\tfldcw %0\n\temms" : : "m"(x87));
    _mm_setcsr((_mm_getcsr() & mxcsr_flags) | static_cast<std::uint32_t>(bits_));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(bits_));
#endif
  }

  /// For transfer to another process on this machine.
  std::uint64_t bits() const {
    return bits_;
  }
  static FloatModes of(std::uint64_t bits) {
    return FloatModes(bits);
  }

  friend bool operator==(const FloatModes&, const FloatModes&) = default;
  /// `flush-to-zero is on, rounding is upward`: the modes that differ from `before`.
  std::string difference_from(const FloatModes& before) const;

 private:
  explicit FloatModes(std::uint64_t bits) : bits_(bits) {}

#if defined(__SSE2__)
  /// Returns whether the stack was not empty. It has eight registers, so the last of eight pushed
  /// numbers becomes NaN if any was in use.
  static bool empty_x87_stack() {
    constexpr std::uint32_t one = 0x3f800000;
    std::uint32_t last = 0;
    asm volatile(
        "fld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfstps %0\n\t"
        "fstp %%st(0)\n\tfstp %%st(0)\n\tfstp %%st(0)\n\tfstp %%st(0)\n\tfstp %%st(0)\n\tfstp "
        "%%st(0)\n\tfstp %%st(0)"
        : "=m"(last)
        :
        : "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)");
    return last != one;
  }
  static constexpr std::uint16_t x87_masks = 0x3f;
#endif
  static constexpr std::uint32_t mxcsr_flags = 0x3f;
  static constexpr std::uint64_t x87_stack = std::uint64_t{1} << 48;
  std::uint64_t bits_;
};

}  // namespace tenon
