// How a reduction traverses x. Neighbouring axes of one kind (kept or reduced) are merged, so that
// few long axes remain. Results are computed in tiles: one result, or up to `max_tile` adjacent
// results if the innermost axis is kept. A tile reads x in chunks: adjacent elements for its
// result, or one element for each of its results.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

class ReductionTiling {
 public:
  static constexpr std::int64_t max_tile = 256;    ///< results of a tile
  static constexpr std::int64_t max_chunk = 1024;  ///< elements of a chunk, for one result

  struct Tile {
    std::int64_t x, y, width;  ///< offsets of its first element and result; number of results
  };
  struct Chunk {
    std::int64_t x, length;  ///< offset relative to the tile; number of elements, 1 per result if
                             ///< the innermost axis is kept
  };

  /// x must not be empty.
  ReductionTiling(const tenon::Shape& x, unsigned reduced) {
    struct Group {
      Axis axis;
      bool reduced;
    };
    Group groups[8];  // innermost first
    int count = 0;
    std::int64_t stride = 1;
    for (int a = x.rank() - 1; a >= 0; --a) {
      if (x[a] == 1) continue;
      const bool is_reduced = reduced >> a & 1;
      if (count > 0 && groups[count - 1].reduced == is_reduced)
        groups[count - 1].axis.size *= x[a];
      else
        groups[count++] = {{x[a], stride}, is_reduced};
      stride *= x[a];
    }
    if (count > 0) {
      inner_ = groups[0].axis.size;
      inner_reduced_ = groups[0].reduced;
    }
    for (int g = 1; g < count; ++g) (groups[g].reduced ? reduced_ : retained_).push(groups[g].axis);
  }

  bool inner_reduced() const { return inner_reduced_; }
  std::int64_t tiles() const { return retained_.count() * inner_tiles(); }
  /// Returns the maximum number of results of a tile.
  std::int64_t max_width() const { return inner_reduced_ ? 1 : std::min(max_tile, inner_); }
  /// Returns the number of chunks of each tile.
  std::int64_t chunks() const { return reduced_.count() * inner_chunks(); }
  std::int64_t reduced_count() const { return reduced_.count() * (inner_reduced_ ? inner_ : 1); }

  Tile tile(std::int64_t i) const {
    const auto row = i / inner_tiles(), from = i % inner_tiles() * max_tile;
    if (inner_reduced_) return {retained_.offset(row), row, 1};
    return {retained_.offset(row) + from, row * inner_ + from, std::min(max_tile, inner_ - from)};
  }

  Chunk chunk(std::int64_t i) const {
    if (!inner_reduced_) return {reduced_.offset(i), 1};
    const auto from = i % inner_chunks() * max_chunk;
    return {reduced_.offset(i / inner_chunks()) + from, std::min(max_chunk, inner_ - from)};
  }

 private:
  struct Axis {
    std::int64_t size, stride;
  };
  /// The outer axes of one kind, innermost first.
  class Axes {
   public:
    void push(Axis axis) { axes_[rank_++] = axis; }
    std::int64_t count() const {
      std::int64_t product = 1;
      for (int a = 0; a < rank_; ++a) product *= axes_[a].size;
      return product;
    }
    std::int64_t offset(std::int64_t index) const {
      std::int64_t sum = 0;
      for (int a = 0; a < rank_; ++a) {
        const bool outermost = a + 1 == rank_;
        sum += (outermost ? index : index % axes_[a].size) * axes_[a].stride;
        if (!outermost) index /= axes_[a].size;
      }
      return sum;
    }

   private:
    Axis axes_[8] = {};
    int rank_ = 0;
  };

  std::int64_t inner_tiles() const {
    return inner_reduced_ ? 1 : (inner_ + max_tile - 1) / max_tile;
  }
  std::int64_t inner_chunks() const {
    return inner_reduced_ ? (inner_ + max_chunk - 1) / max_chunk : 1;
  }

  Axes retained_, reduced_;
  std::int64_t inner_ = 1;
  bool inner_reduced_ = false;
};
