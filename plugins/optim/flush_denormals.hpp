// Numbers too small for a normal float count as 0: a processor takes a hundred times as long for them, and moments of what no longer
// changes decay to them.
#pragma once
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/// Holds for this thread while it lives. Elsewhere than on x86 it does nothing.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | flush_results | read_as_zero);
  }
  ~FlushDenormals() {
    _mm_setcsr(before_);
  }
#else
  FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned flush_results = 0x8000, read_as_zero = 0x40;
  unsigned before_;
#endif
};
