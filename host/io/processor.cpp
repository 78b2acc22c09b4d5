#include "io/processor.hpp"

namespace tenon {

std::string describe_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return "a CPU with AVX512-BF16";
  if (__builtin_cpu_supports("avx512f")) return "a CPU with AVX-512 and no AVX512-BF16";
  if (__builtin_cpu_supports("avx2")) return "a CPU with AVX2 and no AVX-512";
  return "an x86-64 CPU without AVX2";
#else
  return "this CPU";
#endif
}

}  // namespace tenon
