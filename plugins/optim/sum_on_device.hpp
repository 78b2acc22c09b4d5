// Sums in double on a CUDA device: one block per chunk, then the chunks' sums in order. The bits
// depend only on the length.
#pragma once
#include <algorithm>
#include <tenon/gpu/launch.hpp>

/// Maximum number of chunks of a sum. Their sums are in the workspace between the two kernels.
inline constexpr std::int64_t sum_parts = 256;

inline std::int64_t parts_of_sum(std::int64_t n) {
  constexpr std::int64_t worth_a_block = 1 << 13;
  return std::clamp<std::int64_t>(n / worth_a_block, 1, sum_parts);
}

template <class Term>
struct SumPart {
  Term term;
  std::int64_t n, count;
  double* parts;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t part) const {
    const auto length = (n + count - 1) / count, begin = part * length,
               end = begin + length < n ? begin + length : n;
    double mine = 0;
    for (auto i = begin + block.thread(); i < end; i += tenon::gpu::block_threads) mine += term(i);
    const double sum = block.sum(mine);
    if (block.thread() == 0) parts[part] = sum;
  }
};

template <class Put>
struct SumOfParts {
  const double* parts;
  std::int64_t count;
  Put put;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t) const {
    double mine = 0;
    for (std::int64_t part = block.thread(); part < count; part += tenon::gpu::block_threads)
      mine += parts[part];
    const double sum = block.sum(mine);
    if (block.thread() == 0) put(sum);
  }
};

/// Writes sums to parts[0] ... that together are term(0) + ... + term(n - 1). Returns their number.
template <class Term>
std::int64_t sum_by_parts(const tenon::Call& call, std::int64_t n, const Term& term,
                          double* parts) {
  const auto count = parts_of_sum(n);
  tenon::gpu::for_each_block(call, count, SumPart<Term>{term, n, count, parts});
  return count;
}

/// Calls put(parts[0] + ... + parts[count - 1]) once, on the device.
template <class Put>
void put_sum(const tenon::Call& call, const double* parts, std::int64_t count, const Put& put) {
  tenon::gpu::for_each_block(call, 1, SumOfParts<Put>{parts, count, put});
}
