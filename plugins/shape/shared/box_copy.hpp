// Strided copy of a box of elements between two buffers, the basis of all operators that only move
// elements. Contiguous runs use memcpy, transpositions small tiles that fit into the cache,
// everything else goes element by element.
#pragma once
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <tenon/operator.hpp>
#include <utility>

using Strides = std::array<std::int64_t, 8>;

/// Row-major strides, in elements.
inline Strides row_major(const tenon::Shape& shape) {
  Strides strides{};
  if (shape.size() == 0) return strides;  // the product of the other sizes may overflow
  std::int64_t stride = 1;
  for (int a = shape.rank() - 1; a >= 0; --a) {
    strides[a] = stride;
    stride *= shape[a];
  }
  return strides;
}

class BoxCopy {
 public:
  /// Strides are in elements; 0 repeats an element of the source, a negative stride reverses.
  BoxCopy(const tenon::Shape& extent, const Strides& from, const Strides& to,
          std::size_t element_size)
      : element_size_(static_cast<std::int64_t>(element_size)) {
    empty_ = extent.size() == 0;
    if (empty_) return;
    for (int a = 0; a < extent.rank(); ++a)
      if (extent[a] != 1)
        axes_[count_++] = {extent[a], from[a] * element_size_, to[a] * element_size_};
    std::stable_sort(axes_, axes_ + count_,
                     [](const Axis& l, const Axis& r) { return std::abs(l.to) > std::abs(r.to); });
    merge_neighbours();
    choose_inner();
  }

  static void clear(const tenon::Call&, std::byte* memory, std::size_t bytes) {
    std::memset(memory, 0, bytes);
  }

  void operator()(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    if (empty_) return;
    switch (element_size_) {
      case 1:
        return run<1>(call, from, to);
      case 2:
        return run<2>(call, from, to);
      case 4:
        return run<4>(call, from, to);
      case 8:
        return run<8>(call, from, to);
      case 16:
        return run<16>(call, from, to);
      default:
        throw tenon::Error("unsupported element size of ", element_size_, " bytes");
    }
  }

 private:
  struct Axis {
    std::int64_t size, from, to;  // strides in bytes
  };
  template <int Size>
  static constexpr std::int64_t tile =
      Size >= 4 ? 32 : 64;  ///< rows and columns of a transposed tile

  void merge_neighbours() {
    int merged = 0;
    for (int a = 0; a < count_; ++a) {
      auto& outer = axes_[std::max(merged - 1, 0)];
      const auto inner = axes_[a];
      if (merged > 0 && outer.from == inner.from * inner.size && outer.to == inner.to * inner.size)
        outer = {outer.size * inner.size, inner.from, inner.to};
      else
        axes_[merged++] = inner;
    }
    count_ = merged;
  }

  /// Removes the innermost axis from axes_ and, for a transposition, also the axis along which the
  /// source is contiguous.
  void choose_inner() {
    if (count_ == 0) return;
    inner_ = axes_[--count_];
    if (inner_.from == element_size_ || inner_.to != element_size_) return;
    const auto contiguous = std::find_if(
        axes_, axes_ + count_, [&](const Axis& axis) { return axis.from == element_size_; });
    if (contiguous == axes_ + count_) return;
    across_ = *contiguous;
    std::copy(contiguous + 1, axes_ + count_, contiguous);
    --count_;
  }

  /// Work items are the positions of the outer axes, each split into tiles of the across axis or
  /// chunks of a long run.
  template <int Size>
  void run(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    const bool tiled = across_.size > 1, contiguous = inner_.from == Size && inner_.to == Size;
    constexpr std::int64_t chunk = 1 << 16;
    if (contiguous && count_ > 0 && inner_.size * Size <= short_run)
      return run_rows(call, from, to);
    const auto pieces =
        tiled ? (across_.size + tile<Size> - 1) / tile<Size> : (inner_.size + chunk - 1) / chunk;
    std::int64_t outer = 1;
    for (int a = 0; a < count_; ++a) outer *= axes_[a].size;
    const auto item_size = tiled ? tile<Size> * inner_.size : std::min(inner_.size, chunk);
    call.parallel_for(outer * pieces, std::max<std::int64_t>(1, chunk / item_size),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto item = begin; item < end; ++item) {
                          const auto [from_outer, to_outer] = offsets(item / pieces);
                          const std::byte* source = from + from_outer;
                          std::byte* target = to + to_outer;
                          const auto piece = item % pieces;
                          if (tiled) {
                            transpose<Size>(source, target, piece * tile<Size>,
                                            std::min((piece + 1) * tile<Size>, across_.size));
                          } else {
                            const auto first = piece * chunk,
                                       n = std::min(chunk, inner_.size - first);
                            source += first * inner_.from;
                            target += first * inner_.to;
                            if (contiguous)
                              std::memcpy(target, source, static_cast<std::size_t>(n * Size));
                            else
                              for (std::int64_t i = 0; i < n; ++i)
                                std::memcpy(target + i * inner_.to, source + i * inner_.from, Size);
                          }
                        }
                      });
  }

  static constexpr std::int64_t short_run = 4096;  // bytes

  /// For short contiguous runs: work items are pieces of the axis around them.
  void run_rows(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    const auto& rows = axes_[count_ - 1];
    const auto bytes = inner_.size * element_size_;
    constexpr std::int64_t chunk = 1 << 16;  // bytes
    const auto height = std::max<std::int64_t>(1, chunk / bytes),
               pieces = (rows.size + height - 1) / height;
    std::int64_t outer = 1;
    for (int a = 0; a < count_ - 1; ++a) outer *= axes_[a].size;
    const auto grain = std::max<std::int64_t>(1, chunk / (std::min(height, rows.size) * bytes));
    call.parallel_for(outer * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto item = begin; item < end; ++item) {
        const auto [from_outer, to_outer] = offsets(item / pieces, count_ - 1);
        const auto first = item % pieces * height, last = std::min(first + height, rows.size);
        const std::byte* source = from + from_outer + first * rows.from;
        std::byte* target = to + to_outer + first * rows.to;
        for (auto row = first; row < last; ++row, source += rows.from, target += rows.to)
          std::memcpy(target, source, static_cast<std::size_t>(bytes));
      }
    });
  }

  /// Copies rows `begin` to `end` of the target. Each tile goes through a local buffer, so that
  /// both sides are accessed in whole cache lines, even if their strides are powers of two and
  /// lines would evict each other.
  template <int Size>
  void transpose(const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end) const {
    constexpr auto side = tile<Size>;
    std::byte buffer[side][side * Size];
    for (std::int64_t column = 0; column < inner_.size; column += side) {
      const auto columns = std::min(side, inner_.size - column), rows = end - begin;
      const std::byte* source = from + begin * Size + column * inner_.from;
      for (std::int64_t c = 0; c < columns; ++c)
        std::memcpy(buffer[c], source + c * inner_.from, static_cast<std::size_t>(rows * Size));
      std::byte* target = to + begin * across_.to + column * Size;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c)
          std::memcpy(target + r * across_.to + c * Size, &buffer[c][r * Size], Size);
      }
    }
  }

  std::pair<std::int64_t, std::int64_t> offsets(std::int64_t outer) const {
    return offsets(outer, count_);
  }
  std::pair<std::int64_t, std::int64_t> offsets(std::int64_t outer, int axes) const {
    std::int64_t from = 0, to = 0;
    for (int a = axes - 1; a >= 0; --a) {
      const auto at = a == 0 ? outer : outer % axes_[a].size;
      from += at * axes_[a].from;
      to += at * axes_[a].to;
      if (a > 0) outer /= axes_[a].size;
    }
    return {from, to};
  }

  Axis axes_[8] = {};
  Axis inner_ = {1, 0, 0}, across_ = {1, 0, 0};
  int count_ = 0;
  std::int64_t element_size_;
  bool empty_ = false;
};
