// The transpose of a csr matrix times a dense matrix, on the host's threads. Strips of the matrix
// are transposed, each by one thread and a few strips at a time, so that they are read again from
// the cache; then blocks of the result add the values that all of these strips store for them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tenon/operator.hpp>
#include <utility>
#include <vector>

#include "row_sums.hpp"

namespace sparse {

/// Partition of a csr matrix's rows into strips with about the same number of values, processed a
/// few at a time.
template <class T>
class Strips {
 public:
  /// Each thread gets the same number of strips, at most four of them per round. No strip is much
  /// smaller than its list of columns.
  Strips(const tenon::Csr<const T>& matrix, std::int64_t threads) : matrix_(matrix) {
    constexpr std::int64_t cached_values = 32 << 10, smallest = 4 << 10;
    const auto for_each_thread =
        matrix.nnz / (std::max(cached_values, matrix.columns) * threads) + 1;
    count_ = std::min(for_each_thread * threads,
                      std::max<std::int64_t>(matrix.nnz / std::max(smallest, matrix.columns), 1));
    in_a_round_ = std::min(4 * threads, count_);
    for (std::int64_t strip = 0; strip < count_; ++strip)
      first_rows_.push_back(std::lower_bound(matrix.row_starts, matrix.row_starts + matrix.rows,
                                             matrix.nnz / count_ * strip) -
                            matrix.row_starts);
    first_rows_.push_back(matrix.rows);
  }

  std::int64_t count() const { return count_; }
  std::int64_t in_a_round() const { return in_a_round_; }
  std::int64_t first_row(std::int64_t strip) const {
    return first_rows_[static_cast<std::size_t>(std::min(strip, count_))];
  }
  std::int64_t first_value(std::int64_t strip) const {
    return matrix_.row_starts[first_row(strip)];
  }
  std::int64_t max_values_in_a_round() const {
    std::int64_t longest = 0;
    for (std::int64_t strip = 0; strip < count_; strip += in_a_round_)
      longest = std::max(longest, first_value(strip + in_a_round_) - first_value(strip));
    return longest;
  }

 private:
  const tenon::Csr<const T>& matrix_;
  std::int64_t count_, in_a_round_;
  std::vector<std::int64_t> first_rows_;
};

/// A value of a strip in one column, with its row. One struct, so that transposition writes to a
/// single location.
template <class T>
struct StripTerm {
  std::int32_t row;
  T value;
};

/// A transposed strip: column c stores terms[e] for e in [starts[c], starts[c + 1]), in the order
/// of the rows.
template <class T>
struct TransposedStrip {
  std::int32_t* starts;
  StripTerm<T>* terms;

  std::int64_t row(std::int64_t e) const { return terms[e].row; }
  T value(std::int64_t e) const { return terms[e].value; }

  void take(const tenon::Csr<const T>& matrix, std::int64_t first, std::int64_t last) const {
    std::fill_n(starts, matrix.columns + 1, 0);
    auto* const next = starts + 1;  // counts first, then the start of each column, and finally its
                                    // end, which is the start of the next one
    for (auto e = matrix.row_starts[first]; e < matrix.row_starts[last]; e += line) {
      fetch(matrix, e + 32 * line);
      for (auto i = e; i < std::min(e + line, matrix.row_starts[last]); ++i)
        ++next[matrix.columns_of[i]];
    }
    std::int32_t offset = 0;
    for (std::int64_t column = 0; column < matrix.columns; ++column)
      offset += std::exchange(next[column], offset);
    for (auto row = first; row < last; ++row)
      for (auto e = matrix.row_starts[row]; e < matrix.row_starts[row + 1]; ++e)
        terms[next[matrix.columns_of[e]]++] = {static_cast<std::int32_t>(row), matrix.values[e]};
  }

 private:
  static constexpr std::int64_t line = 16;  // values per prefetch

  /// Prefetches matrix data, because several threads together are limited by memory latency.
  static void fetch(const tenon::Csr<const T>& matrix, std::int64_t e) {
    const auto last = matrix.nnz - 1;
    __builtin_prefetch(matrix.columns_of + std::min(e, last));
    __builtin_prefetch(matrix.columns_of + std::min(e + line / 2, last));
    __builtin_prefetch(matrix.values + std::min(e, last));
  }
};

/// Memory for one round of transposed strips. The transposing threads touch it first.
template <class T>
class StripMemory {
 public:
  StripMemory(const Strips<T>& strips, std::int64_t columns)
      : strips_(strips),
        starts_of_one_(columns + 1),
        starts_(std::make_unique_for_overwrite<std::int32_t[]>(
            static_cast<std::size_t>(strips.in_a_round() * starts_of_one_))),
        terms_(std::make_unique_for_overwrite<StripTerm<T>[]>(
            static_cast<std::size_t>(strips.max_values_in_a_round()))) {}

  /// The memory of strip `strip` in the round that begins with strip `first`.
  TransposedStrip<T> at(std::int64_t first, std::int64_t strip) const {
    return {starts_.get() + (strip - first) * starts_of_one_,
            terms_.get() + strips_.first_value(strip) - strips_.first_value(first)};
  }

 private:
  const Strips<T>& strips_;
  const std::int64_t starts_of_one_;
  const std::unique_ptr<std::int32_t[]> starts_;
  const std::unique_ptr<StripTerm<T>[]> terms_;
};

/// Whether the numbers of rows and of values per strip fit the index types above.
template <class T>
bool fits_strips(const tenon::Csr<const T>& matrix) {
  constexpr std::int64_t limit = 1 << 30;
  return matrix.rows <= limit && matrix.columns <= limit;
}

/// out = matrix^T * right, where rows of right are right_row elements apart. Column i of the matrix
/// becomes row `row_map[i]` of out, or row i if row_map is null; out has out_rows rows. Each
/// element is summed in the order of the matrix's rows, for any strips and blocks.
template <class T>
void multiply_transposed(const tenon::Call& call, const tenon::Csr<const T>& matrix, const T* right,
                         std::int64_t right_row, std::int64_t columns, T* out,
                         std::int64_t out_rows, const std::int64_t* row_map) {
  if (row_map) std::fill_n(out, out_rows * columns, T(0));
  const Strips<T> strips(matrix, call.threads());
  const StripMemory<T> memory(strips, matrix.columns);
  const auto sum = best_sum_rows<T, TransposedStrip<T>>();
  const auto cached =
      (256 << 10) / (std::max<std::int64_t>(columns, 1) * static_cast<std::int64_t>(sizeof(T)));
  const auto block =
      std::max<std::int64_t>(std::min(cached, matrix.columns / (4 * call.threads())), 16);
  for (std::int64_t first = 0; first < strips.count(); first += strips.in_a_round()) {
    const auto last = std::min(first + strips.in_a_round(), strips.count());
    call.parallel_for(last - first, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto strip = first + begin; strip < first + end; ++strip)
        memory.at(first, strip).take(matrix, strips.first_row(strip), strips.first_row(strip + 1));
    });
    call.parallel_for(matrix.columns, block, [&](std::int64_t begin, std::int64_t end) {
      for (auto strip = first; strip < last; ++strip)
        sum({memory.at(first, strip), right, right_row, columns, out, columns, row_map,
             row_map || strip > 0},
            begin, end);
    });
  }
}

}  // namespace sparse
