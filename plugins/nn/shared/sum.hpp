// Sums whose results depend only on their length, never on threads or vector widths. Terms are
// functions of an index that capture their operands by value, since they are inlined into
// vectorized loops.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <tenon/elementwise/for_each.hpp>
#include <tenon/operator.hpp>
#include <tenon/wide.hpp>
#include <vector>

#include "../../shared/lanes.hpp"

/// Sum of term(0) ... term(n - 1) in double. Vectorized inside of tenon::wide.
template <class Term>
[[gnu::always_inline]] inline double sum(std::int64_t n, const Term& term) {
  return sum_of<double>(n, term);
}

/// Variant for long sums, on the host's threads: sums blocks of fixed size separately, then adds
/// them in order.
template <class Term>
double parallel_sum(const tenon::Call& call, std::int64_t n, const Term& term) {
  constexpr std::int64_t block = 8192;
  std::vector<double> partial_sums(static_cast<std::size_t>((n + block - 1) / block));
  call.parallel_for(
      static_cast<std::int64_t>(partial_sums.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        tenon::wide([=, partial_sums = partial_sums.data()] {
          for (auto block_index = begin; block_index < end; ++block_index) {
            const auto first = block_index * block;
            partial_sums[block_index] =
                sum(std::min(block, n - first), [=](std::int64_t i) { return term(first + i); });
          }
        });
      });
  return sum(static_cast<std::int64_t>(partial_sums.size()),
             [partial_sums = partial_sums.data()](std::int64_t i) { return partial_sums[i]; });
}

/// Calls put(column, sum) for each column with the sum of term(row, column) over the rows, in row
/// order.
template <class Term, class Put>
void sum_columns(const tenon::Call& call, std::int64_t rows, std::int64_t columns, const Term& term,
                 const Put& put) {
  // As many columns at once as have sums that fit into the L1 cache; rows are read contiguously,
  // which the hardware prefetches.
  constexpr std::int64_t min_block = 64, max_block = 1024;
  const auto up = [](std::int64_t size, std::int64_t divisor) {
    return (size + divisor - 1) / divisor;
  };
  const auto block =
      std::clamp(up(up(columns, call.threads()), min_block) * min_block, min_block, max_block);
  call.parallel_for((columns + block - 1) / block, 1 + 16384 / (rows * block + 1),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto first = begin * block; first < std::min(end * block, columns);
                           first += block) {
                        const auto width = std::min(block, columns - first);
                        std::array<double, max_block> sums;
                        std::fill_n(sums.data(), width, 0.0);
                        tenon::wide([=, sums = sums.data()] {
                          for (std::int64_t row = 0; row < rows; ++row) {
                            TENON_INDEPENDENT
                            for (std::int64_t i = 0; i < width; ++i)
                              sums[i] += static_cast<double>(term(row, first + i));
                          }
                        });
                        for (std::int64_t i = 0; i < width; ++i)
                          put(first + i, sums[static_cast<std::size_t>(i)]);
                      }
                    });
}
