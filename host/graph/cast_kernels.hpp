// Between dense tensors and sparse ones, on the host's threads and into the memory of the output.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/operator.hpp>
#include <type_traits>
#include <vector>

namespace tenon::casts {

// A bool that came from a file need not be one of the two that C++ may read.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
auto* stored(T* values) {
  using Plain = Stored<std::remove_const_t<T>>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Plain, Plain>*>(values);
}

template <class T>
bool is_zero(T value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
    return static_cast<float>(value) == 0.0F;
  else
    return value == T{};
}

/// Rows of `size` elements that are worth a thread's while.
inline std::int64_t grain(std::int64_t size) {
  return 1 + (1 << 16) / (size + 1);
}

template <class T>
void dense_from_csr(const Call& call) {
  const auto from = call.csr<T>(0);
  const auto* const values = stored(from.values);
  auto* const to = stored(call.output<T>(0).data());
  call.parallel_for(from.rows, grain(from.columns), [&](std::int64_t begin, std::int64_t end) {
    std::fill(to + begin * from.columns, to + end * from.columns, Stored<T>{});
    for (auto row = begin; row < end; ++row)
      for (auto e = from.row_starts[row]; e < from.row_starts[row + 1]; ++e) to[row * from.columns + from.columns_of[e]] = values[e];
  });
}

template <class T>
void dense_from_rows(const Call& call) {
  const auto from = call.row_sparse<T>(0);
  const auto size = from.row_size;
  const auto* const values = stored(from.values);
  auto* const to = stored(call.output<T>(0).data());
  call.parallel_for(from.total_rows, grain(size),
                    [&](std::int64_t begin, std::int64_t end) { std::fill(to + begin * size, to + end * size, Stored<T>{}); });
  call.parallel_for(from.rows, grain(size), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) std::copy_n(values + i * size, size, to + from.row_ids[i] * size);
  });
}

template <class T>
void csr_from_dense(const Call& call) {
  const auto view = call.input<T>(0);
  const auto rows = view.dim(0), columns = view.dim(1);
  const auto* const from = stored(view.data());
  std::vector<std::int64_t> starts(static_cast<std::size_t>(rows) + 1);
  call.parallel_for(rows, grain(columns), [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row)
      starts[static_cast<std::size_t>(row) + 1] =
          columns - std::count_if(from + row * columns, from + (row + 1) * columns, is_zero<Stored<T>>);
  });
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) starts[row + 1] += starts[row];
  const auto out = call.allocate_csr<T>(0, starts.back());
  std::copy(starts.begin(), starts.end(), out.row_starts);
  call.parallel_for(rows, grain(columns), [&](std::int64_t begin, std::int64_t end) {
    auto place = starts[static_cast<std::size_t>(begin)];
    for (auto row = begin; row < end; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        const auto element = from[row * columns + column];
        if (is_zero(element)) continue;
        out.columns_of[place] = column;
        stored(out.values)[place++] = element;
      }
  });
}

template <class T>
void rows_from_dense(const Call& call) {
  const auto view = call.input<T>(0);
  const auto rows = view.dim(0), size = rows == 0 ? 0 : view.size() / rows;
  const auto* const from = stored(view.data());
  std::vector<std::uint8_t> is_kept(static_cast<std::size_t>(rows));
  call.parallel_for(rows, grain(size), [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row)
      is_kept[static_cast<std::size_t>(row)] = !std::all_of(from + row * size, from + (row + 1) * size, is_zero<Stored<T>>);
  });
  const auto count = std::count(is_kept.begin(), is_kept.end(), std::uint8_t{1});
  const auto out = call.allocate_row_sparse<T>(0, count);
  auto* id = out.row_ids;
  for (std::int64_t row = 0; row < rows; ++row)
    if (is_kept[static_cast<std::size_t>(row)] != 0) *id++ = row;
  call.parallel_for(count, grain(size), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) std::copy_n(from + out.row_ids[i] * size, size, stored(out.values) + i * size);
  });
}

}  // namespace tenon::casts
