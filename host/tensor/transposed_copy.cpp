#include "tensor/transposed_copy.hpp"

#include <algorithm>
#include <complex>
#include <cstring>

namespace tenon {
namespace {

/// One cache line of `from`; `to` is written row by row.
template <class T>
constexpr std::int64_t tile = std::max<std::int64_t>(8, 64 / static_cast<std::int64_t>(sizeof(T)));

template <class T>
void transpose_plainly(const T* from, T* to, std::int64_t rows, std::int64_t columns,
                       std::int64_t first, std::int64_t last, std::int64_t first_row) {
  for (std::int64_t c = first; c < last; ++c)
    for (std::int64_t r = first_row; r < rows; ++r) to[c * rows + r] = from[r * columns + c];
}

using Four [[gnu::vector_size(16)]] = std::uint32_t;

Four load(const std::uint32_t* from) {
  Four four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

void transpose_4x4(const std::uint32_t* from, std::uint32_t* to, std::int64_t rows,
                   std::int64_t columns) {
  const Four a = load(from), b = load(from + columns), c = load(from + 2 * columns),
             d = load(from + 3 * columns);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four made[] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                       __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                       __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                       __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * rows, &made[i], sizeof made[i]);
}

/// Three rows, as in images: transposes four elements of each.
void transpose_3x4(const std::uint32_t* from, std::uint32_t* to, std::int64_t columns) {
  const Four a = load(from), b = load(from + columns), c = load(from + 2 * columns);
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             bc = __builtin_shufflevector(b, c, 1, 5, 2, 6),
             ca = __builtin_shufflevector(c, a, 2, 7, 3, 7);
  const Four made[] = {__builtin_shufflevector(ab, c, 0, 1, 4, 2),
                       __builtin_shufflevector(bc, a, 0, 1, 6, 2),
                       __builtin_shufflevector(ca, b, 0, 1, 7, 2)};
  std::memcpy(to, made, sizeof made);
}

template <class T>
void transpose(const T* from, T* to, std::int64_t rows, std::int64_t columns, std::int64_t first,
               std::int64_t last) {
  if (rows == 1) return void(std::copy(from + first, from + last, to + first));
  if constexpr (sizeof(T) == 4)
    for (; rows == 3 && first + 4 <= last; first += 4)
      transpose_3x4(from + first, to + 3 * first, columns);
  for (std::int64_t begin = first; begin < last; begin += tile<T>) {
    const auto end = std::min(last, begin + tile<T>);
    std::int64_t done = 0;
    if constexpr (sizeof(T) == 4) {
      const auto even = begin + (end - begin) / 4 * 4;
      for (; done + 4 <= rows; done += 4) {
        for (auto c = begin; c < even; c += 4)
          transpose_4x4(from + done * columns + c, to + c * rows + done, rows, columns);
        for (auto c = even; c < end; ++c)
          for (auto r = done; r < done + 4; ++r) to[c * rows + r] = from[r * columns + c];
      }
    } else {
      for (; done + 8 <= rows; done += 8)
        for (auto c = begin; c < end; ++c)
          for (auto r = done; r < done + 8; ++r) to[c * rows + r] = from[r * columns + c];
    }
    transpose_plainly(from, to, rows, columns, begin, end, done);
  }
}

}  // namespace

void copy_transposed(const TransposedCopy& copy, std::int64_t first, std::int64_t last) {
  const auto as = [&]<class T>(T) {
    transpose(reinterpret_cast<const T*>(copy.from), reinterpret_cast<T*>(copy.to), copy.rows,
              copy.columns, first, last);
  };
  switch (copy.element) {
    case 1:
      return as(std::uint8_t());
    case 2:
      return as(std::uint16_t());
    case 4:
      return as(std::uint32_t());
    case 8:
      return as(std::uint64_t());
    default:
      return as(std::complex<double>());
  }
}

}  // namespace tenon
