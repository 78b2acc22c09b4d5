// Multi-threaded sums whose bits depend only on the length.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/operator.hpp>
#include <vector>

/// Returns the sum of term(0) ... term(n - 1) in double. Each block of 8192 terms is summed in a
/// fixed order, then the blocks are summed in order.
template <class Term>
double block_sum(const tenon::Call& call, std::int64_t n, Term term) {
  constexpr std::int64_t block = 8192,
                         lanes = 8;  // independent accumulators let the CPU overlap the additions
  std::vector<double> blocks(static_cast<std::size_t>((n + block - 1) / block));
  call.parallel_for(static_cast<std::int64_t>(blocks.size()), 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto b = begin; b < end; ++b) {
                        double side_by_side[lanes] = {};
                        for (auto i = b * block; i < std::min(n, (b + 1) * block); ++i)
                          side_by_side[i % lanes] += term(i);
                        for (const double sum : side_by_side)
                          blocks[static_cast<std::size_t>(b)] += sum;
                      }
                    });
  double total = 0;
  for (const double sum : blocks) total += sum;
  return total;
}
