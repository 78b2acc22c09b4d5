// Sums whose bits depend on their length alone, never on threads or on the compiler's choice of vectors.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <tenon/operator.hpp>
#include <vector>

/// Sum of term(0) ... term(n - 1) in double. Eight sums side by side let the processor overlap the additions.
template <class Term>
double sum(std::int64_t n, Term&& term) {
  std::array<double, 8> lanes{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::int64_t lane = 0; lane < 8; ++lane) lanes[static_cast<std::size_t>(lane)] += static_cast<double>(term(i + lane));
  for (; i < n; ++i) lanes[0] += static_cast<double>(term(i));
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// The same for a long sum, on the host's threads: blocks of fixed size are summed apart, then in their order.
template <class Term>
double parallel_sum(const tenon::Call& call, std::int64_t n, Term&& term) {
  constexpr std::int64_t block = 8192;
  std::vector<double> parts(static_cast<std::size_t>((n + block - 1) / block));
  call.parallel_for(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto part = begin; part < end; ++part) {
      const auto first = part * block;
      parts[static_cast<std::size_t>(part)] = sum(std::min(block, n - first), [&](std::int64_t i) { return term(first + i); });
    }
  });
  return sum(static_cast<std::int64_t>(parts.size()), [&](std::int64_t i) { return parts[static_cast<std::size_t>(i)]; });
}

/// For each column the sum of term(row, column) over the rows, in row order, handed to put(column, sum).
template <class Term, class Put>
void sum_columns(const tenon::Call& call, std::int64_t rows, std::int64_t columns, Term&& term, Put&& put) {
  constexpr std::int64_t block = 64;  // columns summed at once, so that rows are read in whole cache lines
  call.parallel_for((columns + block - 1) / block, 1 + 16384 / (rows * block + 1), [&](std::int64_t begin, std::int64_t end) {
    for (auto first = begin * block; first < std::min(end * block, columns); first += block) {
      const auto width = std::min(block, columns - first);
      std::array<double, block> sums{};
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < width; ++i) sums[static_cast<std::size_t>(i)] += static_cast<double>(term(row, first + i));
      for (std::int64_t i = 0; i < width; ++i) put(first + i, sums[static_cast<std::size_t>(i)]);
    }
  });
}
