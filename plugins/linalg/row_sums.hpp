// Weighted sums of rows of a dense matrix, with the widest vectors of the processor. The terms of
// each element are added in order.
#pragma once
#include <cstdint>
#include <utility>

#include "../shared/product/processor.hpp"

namespace sparse {

/// Sum i adds value(e) times row row(e) of the dense matrix, for e in [starts[i], starts[i + 1]).
/// These are the terms of a csr matrix.
template <class T>
struct CsrTerms {
  const std::int64_t *starts, *columns_of;
  const T* values;

  std::int64_t row(std::int64_t e) const { return columns_of[e]; }
  T value(std::int64_t e) const { return values[e]; }
};

/// out[i, 0 ... columns) = (with `add`: +=) sum i for each row i. Rows of out and
/// dense are `row` and `dense_row` elements apart; sum i goes to row row_map[i] of out, or to row i
/// if row_map is null. With `add`, rows without terms are not touched.
template <class T, class Terms = CsrTerms<T>>
struct RowSums {
  Terms terms;
  const T* dense;
  std::int64_t dense_row, columns;
  T* out;
  std::int64_t row;
  const std::int64_t* row_map;
  bool add = false;

  T* target(std::int64_t i) const { return out + (row_map ? row_map[i] : i) * row; }
  bool nothing_to_add(std::int64_t i) const {
    return add && terms.starts[i] == terms.starts[i + 1];
  }
};

/// Computes sizeof...(I) vectors of `bytes` bytes from column `first` on; the sums stay in
/// registers.
template <int bytes, class T, class Terms, std::size_t... I>
[[gnu::always_inline]] inline void sum_tile(const RowSums<T, Terms>& row_sums, std::int64_t begin,
                                            std::int64_t end, std::int64_t first,
                                            std::index_sequence<I...>) {
  typedef T Vector __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
  constexpr std::int64_t width = bytes / sizeof(T);
  for (auto i = begin; i < end; ++i) {
    if (row_sums.nothing_to_add(i)) continue;
    Vector sum[sizeof...(I)] = {};
    T* const to = row_sums.target(i) + first;
    if (row_sums.add)
      ((sum[I] = *reinterpret_cast<const Vector*>(to + static_cast<std::int64_t>(I) * width)), ...);
    for (auto e = row_sums.terms.starts[i]; e < row_sums.terms.starts[i + 1]; ++e) {
      const T value = row_sums.terms.value(e);
      const T* const from = row_sums.dense + row_sums.terms.row(e) * row_sums.dense_row + first;
      ((sum[I] +=
        value * *reinterpret_cast<const Vector*>(from + static_cast<std::int64_t>(I) * width)),
       ...);
    }
    ((*reinterpret_cast<Vector*>(to + static_cast<std::int64_t>(I) * width) = sum[I]), ...);
  }
}

template <class T, class Terms>
[[gnu::always_inline]] inline void sum_column(const RowSums<T, Terms>& row_sums, std::int64_t begin,
                                              std::int64_t end, std::int64_t column) {
  for (auto i = begin; i < end; ++i) {
    if (row_sums.nothing_to_add(i)) continue;
    T sum = row_sums.add ? row_sums.target(i)[column] : T(0);
    for (auto e = row_sums.terms.starts[i]; e < row_sums.terms.starts[i + 1]; ++e)
      sum += row_sums.terms.value(e) *
             row_sums.dense[row_sums.terms.row(e) * row_sums.dense_row + column];
    row_sums.target(i)[column] = sum;
  }
}

/// The widest tiles first. Each tile processes all rows before the next one, so that its columns of
/// dense stay in the cache.
template <int bytes, class T, class Terms>
[[gnu::always_inline]] inline void sum_rows(const RowSums<T, Terms>& row_sums, std::int64_t begin,
                                            std::int64_t end) {
  constexpr std::int64_t width = bytes / sizeof(T), narrow = 16 / sizeof(T);
  std::int64_t column = 0;
  for (; column + 8 * width <= row_sums.columns; column += 8 * width)
    sum_tile<bytes>(row_sums, begin, end, column, std::make_index_sequence<8>());
  for (; column + 2 * width <= row_sums.columns; column += 2 * width)
    sum_tile<bytes>(row_sums, begin, end, column, std::make_index_sequence<2>());
  for (; column + narrow <= row_sums.columns; column += narrow)
    sum_tile<16>(row_sums, begin, end, column, std::make_index_sequence<1>());
  for (; column < row_sums.columns; ++column) sum_column(row_sums, begin, end, column);
}

template <class T, class Terms = CsrTerms<T>>
using SumRows = void (*)(const RowSums<T, Terms>&, std::int64_t begin, std::int64_t end);

template <class T, class Terms>
void sum_rows_plain(const RowSums<T, Terms>& row_sums, std::int64_t begin, std::int64_t end) {
  sum_rows<16>(row_sums, begin, end);
}

#if defined(TENON_WIDE_LEVELS)
template <class T, class Terms>
[[gnu::target("avx2,fma")]] void sum_rows_avx2(const RowSums<T, Terms>& row_sums,
                                               std::int64_t begin, std::int64_t end) {
  sum_rows<32>(row_sums, begin, end);
}
template <class T, class Terms>
[[gnu::target("avx512f")]] void sum_rows_avx512(const RowSums<T, Terms>& row_sums,
                                                std::int64_t begin, std::int64_t end) {
  sum_rows<64>(row_sums, begin, end);
}
#endif

/// Limited by TENON_WIDE.
template <class T, class Terms = CsrTerms<T>>
SumRows<T, Terms> best_sum_rows() {
  [[maybe_unused]] const auto vectors = product::this_vectors();
#if defined(TENON_WIDE_LEVELS)
  if (vectors == product::Vectors::avx512) return sum_rows_avx512<T, Terms>;
  if (vectors == product::Vectors::avx2) return sum_rows_avx2<T, Terms>;
#endif
  return sum_rows_plain<T, Terms>;
}

}  // namespace sparse
