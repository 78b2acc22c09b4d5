// Shared by gather and scatter operators: blocks of a tensor's elements at indexed positions.
#pragma once
#include <cstring>
#include <tenon/operator.hpp>
#include <vector>

#include "../../shared/bytes.hpp"
#include "shared/box_copy.hpp"

/// The offset of each block, in elements. The same offsets apply to each of several slabs of the
/// tensor.
struct BlockOffsets {
  std::vector<std::int64_t> first;
  std::int64_t block = 1;  ///< elements of a block
  std::int64_t outer = 1, outer_stride = 0;

  std::int64_t count() const { return outer * static_cast<std::int64_t>(first.size()); }

  /// Calls body(i, offset of block i) for blocks [begin, end).
  template <class Body>
  void each(std::int64_t begin, std::int64_t end, Body body) const {
    if (begin >= end) return;
    const auto size = static_cast<std::int64_t>(first.size());
    for (auto i = begin, at = begin % size, start = begin / size * outer_stride; i < end; ++i) {
      body(i, start + first[static_cast<std::size_t>(at)]);
      if (++at == size) at = 0, start += outer_stride;
    }
  }
};

/// An integer input, converted to int64.
inline std::vector<std::int64_t> integers_of(const tenon::Call& call, int input) {
  std::vector<std::int64_t> numbers;
  tenon::visit<tenon::integral>(call.input_type(input).dtype, [&]<class T>() {
    const auto view = call.input<T>(input);
    numbers.assign(view.begin(), view.end());
  });
  return numbers;
}

/// Element i of a list of indices into an axis, as 0 to size - 1. Error: it is out of range.
inline std::int64_t index_within(const std::vector<std::int64_t>& indices, std::int64_t i,
                                 std::int64_t size) {
  const auto index = indices[static_cast<std::size_t>(i)];
  if (index < -size || index >= size)
    throw tenon::Error("element ", i, " of indices is ", index, ", but the axis has size ", size,
                       ": needs ", -size, " to ", size - 1);
  return index < 0 ? index + size : index;
}

inline std::int64_t product(const tenon::Shape& shape, int begin, int end) {
  std::int64_t product = 1;
  for (int a = begin; a < end; ++a) product *= shape[a];
  return product;
}

/// Blocks along one axis, for each position before it: output[a, i, b] = data[a, indices[i], b].
inline BlockOffsets offsets_along(const tenon::Shape& data,
                                  const std::vector<std::int64_t>& indices, int axis) {
  const auto block = product(data, axis + 1, data.rank());
  BlockOffsets offsets{{}, block, product(data, 0, axis), data[axis] * block};
  offsets.first.reserve(indices.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(indices.size()); ++i)
    offsets.first.push_back(index_within(indices, i, data[axis]) * block);
  return offsets;
}

/// One element for each index: output[a, i, b] = data[a, indices[a, i, b], b]. Indices may be
/// smaller than data along the other axes.
inline BlockOffsets offsets_of_each(const tenon::Shape& data, const tenon::Shape& shape,
                                    const std::vector<std::int64_t>& indices, int axis) {
  BlockOffsets offsets;
  offsets.first.reserve(indices.size());
  const auto strides = row_major(data);
  Strides at{};
  std::int64_t offset = 0;  // along all axes but the indexed one
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(indices.size()); ++i) {
    offsets.first.push_back(offset + index_within(indices, i, data[axis]) *
                                         strides[static_cast<std::size_t>(axis)]);
    for (int a = shape.rank() - 1; a >= 0; --a) {
      const auto stride = a == axis ? 0 : strides[static_cast<std::size_t>(a)];
      auto& index = at[static_cast<std::size_t>(a)];
      offset += stride;
      if (++index < shape[a]) break;
      offset -= shape[a] * stride;
      index = 0;
    }
  }
  return offsets;
}

/// Each row of indices, [..., depth], selects a block of data by its first axes after `batch`
/// shared axes.
inline BlockOffsets offsets_of_rows(const tenon::Shape& data, const tenon::Shape& shape,
                                    const std::vector<std::int64_t>& indices, int batch) {
  const int depth = static_cast<int>(shape[-1]);
  BlockOffsets offsets{{}, product(data, batch + depth, data.rank()), 1, 0};
  const auto batches = product(data, 0, batch), rows = product(shape, batch, shape.rank() - 1);
  offsets.first.reserve(static_cast<std::size_t>(batches * rows));
  for (std::int64_t i = 0; i < batches * rows; ++i) {
    auto block_offset = i / rows;
    for (int d = 0; d < depth; ++d)
      block_offset =
          block_offset * data[batch + d] + index_within(indices, i * depth + d, data[batch + d]);
    offsets.first.push_back(block_offset * offsets.block);
  }
  return offsets;
}

/// to = the blocks of `from`, contiguous.
inline void take_blocks(const tenon::Call& call, const BlockOffsets& offsets,
                        std::size_t element_size, const std::byte* from, std::byte* to) {
  const auto size = static_cast<std::int64_t>(element_size), bytes = offsets.block * size;
  if (bytes == 0) return;
  call.parallel_for(offsets.count(), 1 + (1 << 15) / bytes,
                    [&](std::int64_t begin, std::int64_t end) {
                      const auto copy = [&](auto constant) {
                        offsets.each(begin, end, [&](std::int64_t i, std::int64_t block_offset) {
                          std::memcpy(to + i * bytes, from + block_offset * size,
                                      constant > 0 ? constant : static_cast<std::size_t>(bytes));
                        });
                      };
                      if (bytes == 4) return copy(std::integral_constant<std::size_t, 4>());
                      if (bytes == 8) return copy(std::integral_constant<std::size_t, 8>());
                      copy(std::integral_constant<std::size_t, 0>());
                    });
}

/// The gradient: dx = 0, then each block of dy is added at its offset, in order.
inline void add_blocks(const tenon::Call& call, const BlockOffsets& offsets) {
  tenon::visit<tenon::floating + tenon::any_complex>(call.input_type(0).dtype, [&]<class T>() {
    using Sum = std::conditional_t<tenon::is_half<T>, float, T>;
    const auto dx = call.input_grad<T>(0);
    const T* const dy = call.output_grad<T>(0).data();
    std::vector<Sum> wide(sizeof(Sum) == sizeof(T) ? 0 : static_cast<std::size_t>(dx.size()),
                          Sum(0));
    const auto add = [&](auto* sums) {
      offsets.each(0, offsets.count(), [&](std::int64_t i, std::int64_t block_offset) {
        for (std::int64_t j = 0; j < offsets.block; ++j)
          sums[block_offset + j] += static_cast<Sum>(dy[i * offsets.block + j]);
      });
    };
    if constexpr (sizeof(Sum) == sizeof(T)) {
      std::fill_n(dx.data(), dx.size(), T(0));
      add(dx.data());
    } else {
      add(wide.data());
      for (std::int64_t i = 0; i < dx.size(); ++i)
        dx.data()[i] = static_cast<T>(wide[static_cast<std::size_t>(i)]);
    }
  });
}
