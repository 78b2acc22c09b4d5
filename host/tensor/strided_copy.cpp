#include "tensor/strided_copy.hpp"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

// Strides are in bytes.
struct Axis {
  std::int64_t dim, from, to;
};

struct Axes {
  Axis axes[TENON_MAX_RANK];
  int count = 0;
  Axis& inner() { return axes[count - 1]; }
};

// Drops axes of size 1 and merges adjacent axes that can be traversed as one. Inner axes come last.
Axes simplified(const tenon_dense& tensor, std::int64_t element) {
  Axes result;
  std::int64_t to = element;
  for (int i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] == 1) continue;  // its stride is arbitrary
    const Axis axis{tensor.shape[i], tensor.strides != nullptr ? tensor.strides[i] * element : to,
                    to};
    to *= axis.dim;
    if (result.count > 0 && axis.from == result.inner().from * result.inner().dim) {
      result.inner().dim *= axis.dim;
    } else {
      result.axes[result.count++] = axis;
    }
  }
  std::reverse(result.axes, result.axes + result.count);
  return result;
}

// Calls body(from, to) for every combination of axis indices.
template <class Body>
void for_each(const Axis* axes, int count, const std::byte* from, std::byte* to, const Body& body) {
  if (count == 0) {
    body(from, to);
    return;
  }
  for (std::int64_t i = 0; i < axes->dim; ++i)
    for_each(axes + 1, count - 1, from + i * axes->from, to + i * axes->to, body);
}

template <std::size_t element>
void copy_row(const std::byte* from, std::byte* to, std::int64_t count, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * static_cast<std::int64_t>(element), from + i * stride, element);
}

// `across` is contiguous in the source, `inner` in the target. Copies in tiles, so each cache line
// is fully used while it is cached; the constant tile size lets the compiler unroll the loops.
template <std::size_t element>
void transpose(const std::byte* from, std::byte* to, const Axis& across, const Axis& inner) {
  constexpr std::int64_t side = 16;
  const auto copy_tile = [&](std::int64_t a, std::int64_t i, std::int64_t height,
                             std::int64_t width) {
    const std::byte* const source = from + a * across.from + i * inner.from;
    std::byte* const target = to + a * across.to + i * inner.to;
    for (std::int64_t row = 0; row < height; ++row) {
      for (std::int64_t column = 0; column < width; ++column) {
        std::memcpy(target + row * across.to + column * static_cast<std::int64_t>(element),
                    source + row * static_cast<std::int64_t>(element) + column * inner.from,
                    element);
      }
    }
  };
  for (std::int64_t i = 0; i < inner.dim; i += side) {
    for (std::int64_t a = 0; a < across.dim; a += side) {
      if (i + side <= inner.dim && a + side <= across.dim) {
        copy_tile(a, i, side, side);
      } else {
        copy_tile(a, i, std::min(side, across.dim - a), std::min(side, inner.dim - i));
      }
    }
  }
}

template <std::size_t element>
void copy(Axes axes, const std::byte* from, std::byte* to) {
  constexpr auto unit = static_cast<std::int64_t>(element);
  if (axes.count == 0) {
    std::memcpy(to, from, element);
    return;
  }
  const Axis inner = axes.inner();
  --axes.count;
  if (inner.from == unit) {
    for_each(axes.axes, axes.count, from, to, [&](const std::byte* source, std::byte* target) {
      std::memcpy(target, source, static_cast<std::size_t>(inner.dim) * element);
    });
    return;
  }
  Axis* const across = std::find_if(axes.axes, axes.axes + axes.count,
                                    [](const Axis& axis) { return axis.from == unit; });
  if (across == axes.axes + axes.count) {
    for_each(axes.axes, axes.count, from, to, [&](const std::byte* source, std::byte* target) {
      copy_row<element>(source, target, inner.dim, inner.from);
    });
    return;
  }
  const Axis turned = *across;
  std::copy(across + 1, axes.axes + axes.count, across);
  --axes.count;
  for_each(axes.axes, axes.count, from, to, [&](const std::byte* source, std::byte* target) {
    transpose<element>(source, target, turned, inner);
  });
}

}  // namespace

void copy_to_contiguous(const tenon_dense& from, std::byte* to) {
  if (std::find(from.shape, from.shape + from.ndim, 0) != from.shape + from.ndim) return;
  const std::byte* const data = static_cast<const std::byte*>(from.data) + from.byte_offset;
  const std::int64_t element = (from.type_bits + 7) / 8;  // a byte for 4 and 2 bits, too
  const Axes axes = simplified(from, element);
  switch (element) {
    case 1:
      return copy<1>(axes, data, to);
    case 2:
      return copy<2>(axes, data, to);
    case 4:
      return copy<4>(axes, data, to);
    case 8:
      return copy<8>(axes, data, to);
    default:
      return copy<16>(axes, data, to);
  }
}

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
