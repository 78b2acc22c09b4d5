// Sums in double on a CUDA device: one block per chunk, then the chunks' sums in order. The bits
// depend only on the length.
#pragma once
#include <algorithm>
#include <tenon/gpu/launch.hpp>

/// Maximum number of chunks of a sum. Their sums are in the workspace between the two kernels.
inline constexpr std::int64_t max_partial_sums = 256;

inline std::int64_t partial_sum_count(std::int64_t n) {
  constexpr std::int64_t worth_a_block = 1 << 13;
  return std::clamp<std::int64_t>(n / worth_a_block, 1, max_partial_sums);
}

template <class Term>
struct SumChunk {
  Term term;
  std::int64_t n, count;
  double* partial_sums;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t chunk) const {
    const auto length = (n + count - 1) / count, begin = chunk * length,
               end = begin + length < n ? begin + length : n;
    double value = 0;
    for (auto i = begin + block.thread(); i < end; i += tenon::gpu::block_threads) value += term(i);
    const double sum = block.sum(value);
    if (block.thread() == 0) partial_sums[chunk] = sum;
  }
};

template <class Put>
struct SumOfChunks {
  const double* partial_sums;
  std::int64_t count;
  Put put;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t) const {
    double value = 0;
    for (std::int64_t chunk = block.thread(); chunk < count; chunk += tenon::gpu::block_threads)
      value += partial_sums[chunk];
    const double sum = block.sum(value);
    if (block.thread() == 0) put(sum);
  }
};

/// Writes sums to partial_sums[0] ... that together are term(0) + ... + term(n - 1). Returns their
/// number.
template <class Term>
std::int64_t partial_sums_of(const tenon::Call& call, std::int64_t n, const Term& term,
                             double* partial_sums) {
  const auto count = partial_sum_count(n);
  tenon::gpu::for_each_block(call, count, SumChunk<Term>{term, n, count, partial_sums});
  return count;
}

/// Calls put(partial_sums[0] + ... + partial_sums[count - 1]) once, on the device.
template <class Put>
void put_sum(const tenon::Call& call, const double* partial_sums, std::int64_t count,
             const Put& put) {
  tenon::gpu::for_each_block(call, 1, SumOfChunks<Put>{partial_sums, count, put});
}
