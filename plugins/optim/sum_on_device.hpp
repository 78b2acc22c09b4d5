// Sums in double on a CUDA device: parts of one size by a block each, then the parts in order. The bits depend on the length alone.
#pragma once
#include <tenon/gpu/launch.hpp>

/// Parts of one sum, whose results lie in the workspace between the two steps.
inline constexpr std::int64_t sum_parts = 256;

template <class Term>
struct SumPart {
  Term term;
  std::int64_t n;
  double* parts;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t part) const {
    const auto length = (n + sum_parts - 1) / sum_parts, begin = part * length, end = begin + length < n ? begin + length : n;
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
    for (std::int64_t part = block.thread(); part < count; part += tenon::gpu::block_threads) mine += parts[part];
    const double sum = block.sum(mine);
    if (block.thread() == 0) put(sum);
  }
};

/// parts[0] ... parts[sum_parts - 1] become sums that together are term(0) + ... + term(n - 1).
template <class Term>
void sum_by_parts(const tenon::Call& call, std::int64_t n, const Term& term, double* parts) {
  tenon::gpu::for_each_block(call, sum_parts, SumPart<Term>{term, n, parts});
}

/// put(sum of parts[0] ... parts[count - 1]), once.
template <class Put>
void put_sum(const tenon::Call& call, const double* parts, std::int64_t count, const Put& put) {
  tenon::gpu::for_each_block(call, 1, SumOfParts<Put>{parts, count, put});
}
