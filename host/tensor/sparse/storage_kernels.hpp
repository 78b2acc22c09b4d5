// Conversions between dense and sparse storage, for tensors and for the operator cast_storage.
// `parallel_for(count, grain, work)` calls work(begin, end) for chunks of [0, count); `allocate(n)`
// returns memory for n stored elements or rows.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/half.hpp>
#include <tenon/sparse.hpp>
#include <type_traits>
#include <vector>

namespace tenon::casts {

// A bool from a file may have a value other than 0 and 1, which would be undefined behavior to
// read.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
auto* stored(T* values) {
  using Plain = Stored<std::remove_const_t<T>>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Plain, Plain>*>(values);
}

template <class T>
bool is_zero(T value) {
  if constexpr (is_half<T>)
    return static_cast<float>(value) == 0.0F;
  else
    return value == T{};
}

/// Number of rows of `size` elements that are worth a task.
inline std::int64_t grain(std::int64_t size) {
  return 1 + (1 << 16) / std::max<std::int64_t>(size, 1);
}

template <class T, class Parallel>
void dense_from_csr(const Csr<const T>& from, T* dense, Parallel&& parallel_for) {
  const auto* const values = stored(from.values);
  auto* const to = stored(dense);
  parallel_for(from.rows, grain(from.columns), [&](std::int64_t begin, std::int64_t end) {
    std::fill(to + begin * from.columns, to + end * from.columns, Stored<T>{});
    for (auto row = begin; row < end; ++row)
      for (auto e = from.row_starts[row]; e < from.row_starts[row + 1]; ++e)
        to[row * from.columns + from.columns_of[e]] = values[e];
  });
}

template <class T, class Parallel>
void dense_from_rows(const RowSparse<const T>& from, T* dense, Parallel&& parallel_for) {
  const auto size = from.row_size;
  const auto* const values = stored(from.values);
  auto* const to = stored(dense);
  parallel_for(from.total_rows, grain(size), [&](std::int64_t begin, std::int64_t end) {
    std::fill(to + begin * size, to + end * size, Stored<T>{});
  });
  parallel_for(from.rows, grain(size), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      std::copy_n(values + i * size, size, to + from.row_ids[i] * size);
  });
}

template <class T, class Parallel, class Allocate>
void csr_from_dense(const T* dense, std::int64_t rows, std::int64_t columns,
                    Parallel&& parallel_for, Allocate&& allocate) {
  const auto* const from = stored(dense);
  std::vector<std::int64_t> starts(static_cast<std::size_t>(rows) + 1);
  parallel_for(rows, grain(columns), [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row)
      starts[static_cast<std::size_t>(row) + 1] =
          columns -
          std::count_if(from + row * columns, from + (row + 1) * columns, is_zero<Stored<T>>);
  });
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) starts[row + 1] += starts[row];
  const CsrOut<T> out = allocate(starts.back());
  std::copy(starts.begin(), starts.end(), out.row_starts);
  parallel_for(rows, grain(columns), [&](std::int64_t begin, std::int64_t end) {
    auto next = starts[static_cast<std::size_t>(begin)];
    for (auto row = begin; row < end; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        const auto element = from[row * columns + column];
        if (is_zero(element)) continue;
        out.columns_of[next] = column;
        stored(out.values)[next++] = element;
      }
  });
}

template <class T, class Parallel, class Allocate>
void rows_from_dense(const T* dense, std::int64_t rows, std::int64_t size, Parallel&& parallel_for,
                     Allocate&& allocate) {
  const auto* const from = stored(dense);
  if (size == 0) rows = 0;  // rows without elements store nothing
  std::vector<std::uint8_t> is_stored(static_cast<std::size_t>(rows));
  parallel_for(rows, grain(size), [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row)
      is_stored[static_cast<std::size_t>(row)] =
          !std::all_of(from + row * size, from + (row + 1) * size, is_zero<Stored<T>>);
  });
  const auto count = std::count(is_stored.begin(), is_stored.end(), std::uint8_t{1});
  const RowSparseOut<T> out = allocate(count);
  auto* id = out.row_ids;
  for (std::int64_t row = 0; row < rows; ++row)
    if (is_stored[static_cast<std::size_t>(row)] != 0) *id++ = row;
  parallel_for(count, grain(size), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      std::copy_n(from + out.row_ids[i] * size, size, stored(out.values) + i * size);
  });
}

}  // namespace tenon::casts
