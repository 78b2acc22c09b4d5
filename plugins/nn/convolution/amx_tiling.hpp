// Partition of a two-dimensional convolution into AMX tiles of 16 windows x 16 filters x 32
// elements of a window.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/operator.hpp>

#include "shared/window.hpp"

struct AmxTiling {
  struct Pair {
    std::int64_t rows, columns;
  };

  static constexpr std::int64_t side = 16, chunk = 2 * side;
  static constexpr std::int64_t max_interleaved =
      16;  // maximum kernel height for which rows are interleaved (one channel)

  AmxTiling(const Window& window, const tenon::Shape& data_shape, const tenon::Shape& output_shape)
      : channels(data_shape[1]),
        filters(output_shape[1]),
        data{data_shape[2], data_shape[3]},
        positions{output_shape[2], output_shape[3]},
        kernel{window.kernel[0], window.kernel[1]},
        stride{window.stride[0], window.stride[1]},
        before{window.pad[0], window.pad[1]},
        interleaved(channels == 1 && kernel.rows <= max_interleaved),
        element(interleaved ? kernel.rows : channels),
        runs(interleaved ? 1 : kernel.rows),
        run_chunks(rounded_up(kernel.columns * element, chunk)) {
    const auto after =
        (positions.columns - 1) * stride.columns + kernel.columns - before.columns - data.columns;
    pitch = std::max(positions.columns,
                     rounded_up(data.columns + std::max(before.columns, after), stride.columns));
  }

  static std::int64_t rounded_up(std::int64_t size, std::int64_t divisor) {
    return (size + divisor - 1) / divisor;
  }

  std::int64_t chunks() const { return runs * run_chunks; }
  std::int64_t depth() const { return chunks() * chunk; }
  std::int64_t tiles() const { return rounded_up(filters, side); }
  /// Windows of some rows of output positions, including those between rows.
  std::int64_t windows_of(std::int64_t rows) const {
    return (rows - 1) * pitch + positions.columns;
  }

  /// The fraction of the tiles' multiplications that contribute to the result.
  double use() const {
    const auto needed = static_cast<double>(positions.rows * positions.columns) *
                        static_cast<double>(kernel.rows * kernel.columns * channels * filters);
    const auto windows = rounded_up(windows_of(positions.rows), side) * side;
    return needed / static_cast<double>(windows) / static_cast<double>(depth() * tiles() * side);
  }

  std::int64_t channels, filters;
  Pair data, positions, kernel, stride, before;
  bool interleaved;
  std::int64_t element, runs, run_chunks;  ///< element: size of a column; runs: contiguous segments
                                           ///< of a window, each of whole chunks
  std::int64_t pitch;                      ///< windows between adjacent rows of positions
};
