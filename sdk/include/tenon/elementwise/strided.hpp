// A tensor in the loops over an output: broadcast to the output's shape, with its axes merged as
// far as its strides allow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../abi.h"
#include "../dtype.hpp"
#include "../shape.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// How element i in row-major order is found: at index i, always the same element, in one repeated
/// row, or by walking the axes.
enum class Access : std::uint8_t { flat, constant, repeated, general };

struct Operand {
  unsigned char* data = nullptr;
  std::int64_t size = 0;  ///< bytes per element
  Access access = Access::constant;
  int rank = 0;
  std::int64_t dims[max_rank], strides[max_rank];  ///< innermost first; strides in bytes

  /// Adds an axis outside of the existing ones.
  [[gnu::cold]] void add_axis(std::int64_t dim, std::int64_t stride) {
    if (dim == 1) return;
    if (rank > 0 && stride == strides[rank - 1] * dims[rank - 1]) {
      dims[rank - 1] *= dim;
    } else {
      dims[rank] = dim;
      strides[rank++] = stride;
    }
    const bool constant = rank == 1 && strides[0] == 0, flat = rank == 1 && strides[0] == size;
    const bool repeated = rank == 2 && strides[0] == size && strides[1] == 0;
    access = constant   ? Access::constant
             : flat     ? Access::flat
             : repeated ? Access::repeated
                        : Access::general;
  }
};

inline unsigned char* first_element(const tenon_tensor& tensor) {
  return static_cast<unsigned char*>(tensor.dense.data) + tensor.dense.byte_offset;
}

[[noreturn, gnu::cold]] inline void refuse_broadcast(const tenon_dense& dense,
                                                     const std::int64_t* dims, int rank) {
  fail(ErrorKind::type,
       {Shape(dense.shape, dense.ndim), " does not broadcast to ", Shape(dims, rank)});
}

/// The tensor must be dense. Error: its shape does not broadcast to dims.
[[gnu::cold]] inline Operand broadcast(const tenon_tensor& tensor, const std::int64_t* dims,
                                       int rank) {
  const tenon_dense& dense = tensor.dense;
  Operand operand;
  operand.data = first_element(tensor);
  operand.size = static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.dtype)));
  std::int64_t row_major = operand.size;
  for (int axis = rank - 1, own = dense.ndim - 1; axis >= 0; --axis, --own) {
    const std::int64_t extent = own < 0 ? 1 : dense.shape[own];
    if (extent != dims[axis] && extent != 1) refuse_broadcast(dense, dims, rank);
    const std::int64_t stride =
        own < 0 || !dense.strides ? row_major : dense.strides[own] * operand.size;
    operand.add_axis(dims[axis], extent == 1 ? 0 : stride);
    row_major *= extent;
  }
  if (dense.ndim > rank) refuse_broadcast(dense, dims, rank);
  return operand;
}

/// A position in an operand that advances without divisions.
struct Cursor {
  std::int64_t position = -1,
               offset = 0;  ///< in elements of the row-major order, and in bytes of memory
  std::int64_t index[max_rank];

  [[gnu::noinline]] void seek(const Operand& operand, std::int64_t to) {
    if (to == position) return;
    position = to;
    offset = 0;
    for (int axis = 0; axis < operand.rank; ++axis) {
      index[axis] = axis + 1 < operand.rank ? to % operand.dims[axis] : to;
      offset += index[axis] * operand.strides[axis];
      to /= operand.dims[axis];
    }
  }

  /// Returns the number of elements left on the innermost axis, at most n.
  std::int64_t run(const Operand& operand, std::int64_t n) const {
    return std::min(n, operand.dims[0] - index[0]);
  }

  /// n must not exceed run().
  [[gnu::noinline]] void advance(const Operand& operand, std::int64_t n) {
    position += n;
    index[0] += n;
    offset += n * operand.strides[0];
    for (int axis = 0; axis + 1 < operand.rank && index[axis] == operand.dims[axis]; ++axis) {
      index[axis] = 0;
      ++index[axis + 1];
      offset += operand.strides[axis + 1] - operand.dims[axis] * operand.strides[axis];
    }
  }
};

template <std::size_t size>
void copy_elements(const unsigned char* from, std::int64_t from_stride, unsigned char* to,
                   std::int64_t to_stride, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, size);
}

/// Writes n copies of one element.
template <class Word>
void fill_elements(const unsigned char* from, unsigned char* to, std::int64_t n) {
  Word value, row[16];
  std::memcpy(&value, from, sizeof value);
  for (Word& element : row) element = value;
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof value), row, sizeof row);
  for (; i < n; ++i)
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
}

[[gnu::noinline]] inline void fill_run(std::int64_t size, const unsigned char* from,
                                       unsigned char* to, std::int64_t n) {
  switch (size) {
    case 1:
      return fill_elements<std::uint8_t>(from, to, n);
    case 2:
      return fill_elements<std::uint16_t>(from, to, n);
    case 4:
      return fill_elements<std::uint32_t>(from, to, n);
    default:
      return fill_elements<std::uint64_t>(from, to, n);
  }
}

/// Copies n elements of `size` bytes; strides are in bytes. A source stride of 0 repeats one
/// element.
[[gnu::noinline]] inline void copy_run(std::int64_t size, const unsigned char* from,
                                       std::int64_t from_stride, unsigned char* to,
                                       std::int64_t to_stride, std::int64_t n) {
  if (to_stride == size && from_stride == 0) return fill_run(size, from, to, n);
  if (to_stride == size && from_stride == size) {
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
    return;
  }
  switch (size) {
    case 1:
      return copy_elements<1>(from, from_stride, to, to_stride, n);
    case 2:
      return copy_elements<2>(from, from_stride, to, to_stride, n);
    case 4:
      return copy_elements<4>(from, from_stride, to, to_stride, n);
    default:
      return copy_elements<8>(from, from_stride, to, to_stride, n);
  }
}

/// Gathers n elements in row-major order from `position` on into contiguous memory.
[[gnu::noinline]] inline void gather(const Operand& operand, Cursor& cursor, std::int64_t position,
                                     void* to, std::int64_t n) {
  auto* next = static_cast<unsigned char*>(to);
  cursor.seek(operand, position);
  for (std::int64_t run; n > 0; n -= run, next += run * operand.size) {
    run = cursor.run(operand, n);
    copy_run(operand.size, operand.data + cursor.offset, operand.strides[0], next, operand.size,
             run);
    cursor.advance(operand, run);
  }
}

/// Scatters n contiguous elements: the inverse of gather().
[[gnu::noinline]] inline void scatter(const Operand& operand, Cursor& cursor, std::int64_t position,
                                      const void* from, std::int64_t n) {
  auto* next = static_cast<const unsigned char*>(from);
  cursor.seek(operand, position);
  for (std::int64_t run; n > 0; n -= run, next += run * operand.size) {
    run = cursor.run(operand, n);
    copy_run(operand.size, next, operand.size, operand.data + cursor.offset, operand.strides[0],
             run);
    cursor.advance(operand, run);
  }
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
