// Flushes denormals to zero: the CPU takes a hundred times as long for them, and the moments of
// weights that no longer change decay to them.
#pragma once
#if defined(__SSE2__) && !defined(__CUDACC__)
#include <immintrin.h>

/// While it lives, flushes denormals on this thread if `enabled`.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool enabled) : saved_(_mm_getcsr()) {
    if (enabled) _mm_setcsr(saved_ | flush_results | read_as_zero);
  }
  ~FlushDenormals() { _mm_setcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned flush_results = 0x8000, read_as_zero = 0x40;
  unsigned saved_;
};
#else
/// Does nothing on architectures other than x86.
struct FlushDenormals {
  explicit FlushDenormals(bool) {}
};
#endif
