// Numbers too small for a normal float count as 0: a processor takes a hundred times as long for them, and moments of what no longer
// changes decay to them.
#pragma once
#if defined(__SSE2__) && !defined(__CUDACC__)
#include <immintrin.h>

/// Holds for this thread while it lives, if it is wanted.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool wanted) : before_(_mm_getcsr()) {
    if (wanted) _mm_setcsr(before_ | flush_results | read_as_zero);
  }
  ~FlushDenormals() { _mm_setcsr(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned flush_results = 0x8000, read_as_zero = 0x40;
  unsigned before_;
};
#else
/// Elsewhere than on x86 it does nothing.
struct FlushDenormals {
  explicit FlushDenormals(bool) {}
};
#endif
