// The windows of a convolution of 8-bit integers as rows of a matrix: im2col of channels-last data.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "../../shared/product/multiply_int8.hpp"
#include "shared/window.hpp"

/// One number for each of three spatial axes; missing axes come first and have size 1.
struct WindowGeometry {
  using Numbers = Window::Numbers;
  static constexpr Numbers ones{1, 1, 1};
  Numbers size = ones, positions = ones;  ///< elements of data, and output positions
  Numbers kernel = ones, stride = ones, pad{0, 0, 0}, dilate = ones;

  WindowGeometry(const Window& window, const tenon::Shape& data, const tenon::Shape& output) {
    for (int i = 0; i < window.axes; ++i) {
      const auto from = static_cast<std::size_t>(i),
                 to = static_cast<std::size_t>(3 - window.axes + i);
      size[to] = data[i + 2];
      positions[to] = output[i + 2];
      kernel[to] = window.kernel[from];
      stride[to] = window.stride[from];
      pad[to] = window.pad[from];
      dilate[to] = window.dilate[from];
    }
  }
  static std::int64_t count(const Numbers& box) { return box[0] * box[1] * box[2]; }
  Numbers position(std::int64_t i) const {
    const auto row = i / positions[2];
    return {row / positions[1], row % positions[1], i % positions[2]};
  }
};

/// Windows over one sample. A row has the taps in order, each with all channels.
class QuantizedWindows {
 public:
  /// `data`: [elements, channels]. `zero`: the bits of its zero point, which padding has.
  QuantizedWindows(const WindowGeometry& geometry, const std::uint8_t* data, std::int64_t channels,
                   std::uint8_t zero)
      : geometry_(geometry), data_(data), channels_(channels), zero_(zero) {}

  std::int64_t depth() const { return WindowGeometry::count(geometry_.kernel) * channels_; }

  /// Packs `rows` windows, `step` words apart. `row_sums`: null, or for the sums of the rows.
  void pack(const product::int8::Format& format, tenon::DType dtype, std::int64_t first,
            std::int64_t rows, std::int64_t step, product::int8::Word* to,
            product::int8::Word* row_sums) const {
    const auto size = depth();
    const int shift = format.left_shift(dtype);
    std::vector<std::uint8_t> taken(format.steps == 4 ? 0 : static_cast<std::size_t>(size));
    auto position = geometry_.position(first);
    for (std::int64_t i = 0; i < rows; ++i, to += step) {
      auto* const bytes = format.steps == 4 ? reinterpret_cast<std::uint8_t*>(to) : taken.data();
      copy(position, bytes);
      advance(position);
      if (format.steps == 4)
        product::int8::finish_row(bytes, size, shift, row_sums ? row_sums + i : nullptr);
      else
        pack_pairs(bytes, dtype, to, row_sums ? row_sums + i : nullptr);
    }
  }

 private:
  void pack_pairs(const std::uint8_t* bytes, tenon::DType dtype, product::int8::Word* to,
                  product::int8::Word* row_sum) const {
    if (dtype == tenon::u8)
      product::int8::pack_row<2>(bytes, depth(), 0, to, row_sum);
    else
      product::int8::pack_row<2>(reinterpret_cast<const std::int8_t*>(bytes), depth(), 0, to,
                                 row_sum);
  }

  void advance(WindowGeometry::Numbers& position) const {
    for (std::size_t left = 3; left > 0; --left) {
      if (++position[left - 1] < geometry_.positions[left - 1]) return;
      position[left - 1] = 0;
    }
  }

  void copy(const WindowGeometry::Numbers& position, std::uint8_t* to) const {
    const auto& s = geometry_;
    const auto row_bytes = s.kernel[2] * channels_;
    WindowGeometry::Numbers begin{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      begin[axis] = position[axis] * s.stride[axis] - s.pad[axis];
    for (std::int64_t z = 0; z < s.kernel[0]; ++z)
      for (std::int64_t y = 0; y < s.kernel[1]; ++y, to += row_bytes) {
        const auto depth = begin[0] + z * s.dilate[0], row = begin[1] + y * s.dilate[1];
        if (depth < 0 || depth >= s.size[0] || row < 0 || row >= s.size[1])
          std::memset(to, zero_, static_cast<std::size_t>(row_bytes));
        else
          copy_row(data_ + (depth * s.size[1] + row) * s.size[2] * channels_, begin[2], to);
      }
  }

  /// The taps of one row of the kernel, from column `begin` of a row of data.
  void copy_row(const std::uint8_t* row, std::int64_t begin, std::uint8_t* to) const {
    const auto taps = geometry_.kernel[2], dilate = geometry_.dilate[2],
               columns = geometry_.size[2];
    if (dilate == 1) {
      const auto before = std::clamp<std::int64_t>(-begin, 0, taps),
                 end = std::clamp<std::int64_t>(columns - begin, before, taps);
      fill(to, before);
      std::memcpy(to + before * channels_, row + (begin + before) * channels_,
                  static_cast<std::size_t>((end - before) * channels_));
      fill(to + end * channels_, taps - end);
      return;
    }
    for (std::int64_t x = 0; x < taps; ++x, to += channels_) {
      const auto column = begin + x * dilate;
      if (column < 0 || column >= columns)
        fill(to, 1);
      else
        std::memcpy(to, row + column * channels_, static_cast<std::size_t>(channels_));
    }
  }
  void fill(std::uint8_t* to, std::int64_t taps) const {
    if (taps > 0) std::memset(to, zero_, static_cast<std::size_t>(taps * channels_));
  }

  WindowGeometry geometry_;
  const std::uint8_t* data_;
  std::int64_t channels_;
  std::uint8_t zero_;
};

/// to[column * rows + row] = from[row * columns + column].
template <class T>
void transpose_elements(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  constexpr std::int64_t side = 16;
  for (std::int64_t i = 0; i < rows; i += side)
    for (std::int64_t j = 0; j < columns; j += side)
      for (auto row = i; row < std::min(i + side, rows); ++row)
        for (auto column = j; column < std::min(j + side, columns); ++column)
          to[column * rows + row] = from[row * columns + column];
}
