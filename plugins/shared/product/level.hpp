// Which blocks this machine runs.
#pragma once
#include <tenon/vector_level.hpp>

#include "block_plain.hpp"
#if defined(TENON_WIDE_LEVELS)
#include "block_v3.hpp"
#include "block_v4.hpp"
#endif

namespace product {

/// How results are cut into tiles, which are whole panels wide, but for the last one.
struct Cut {
  std::int64_t panel;      ///< columns of a block, and of a panel of a packed right side
  std::int64_t wide;       ///< most columns of a tile
  std::int64_t band;       ///< the rows of a tile are a multiple of this, but for the last one
  std::int64_t tall = 96;  ///< tiles for many threads are made narrower first, while they have as many rows as this
  std::int64_t each = 4;   ///< tiles for each thread, so that all end together
  std::int64_t tallest = most_tall;
};

/// The functions of one level, which a product looks up once.
struct Level {
  std::int64_t (*most_rows)(std::int64_t columns);
  void (*multiply)(std::int64_t rows, const Block& of);
  void (*copy_rows)(const float* from, std::int64_t from_row, std::int64_t count, std::int64_t rows, float* to, std::int64_t to_row);
  /// Null where none is faster than a loop.
  void (*transpose_square)(const float* from, std::int64_t from_row, float* to, std::int64_t to_row);
  std::int64_t depth = most_depth;  ///< rows of a panel that are multiplied before the next ones
  Cut cut{most_columns, most_columns, 24};
};

inline const Level& usable_level() {
  static constexpr Level plain{plain::most_rows, [](std::int64_t rows, const Block& of) { plain::multiply(rows, of); }, plain::copy_rows,
                               nullptr};
#if defined(TENON_WIDE_LEVELS)
  // A panel's rows and six of the left side fit the first-level cache together, so that all rows of a tile pass by a panel that stays.
  static constexpr Level v3{v3::most_rows, v3::multiply, v3::copy_rows, v3::transpose_square, 288, {vector, most_wide, 1}};
  static constexpr Level v4{v4::most_rows, v4::multiply, v4::copy_rows, v4::transpose_square, 112};
  switch (tenon::detail::usable_vector_level()) {
    case tenon::detail::VectorLevel::v4:
      return v4;
    case tenon::detail::VectorLevel::v3:
      return v3;
    default:
      break;
  }
#endif
  return plain;
}

}  // namespace product
