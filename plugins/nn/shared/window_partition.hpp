// Partition of the work of a convolution or pooling into chunks that run in parallel. It depends
// only on sizes, never on threads, so that results are independent of them.
#pragma once
#include <algorithm>
#include <bit>
#include <vector>

#include "window.hpp"

/// Samples, filters, and rows (of the first spatial axis) of output, with the rows of data that
/// these need.
struct WindowChunk {
  std::int64_t sample, samples;
  std::int64_t row, rows;
  std::int64_t data_row, data_rows;
  std::int64_t before, after;  ///< padding of the first spatial axis inside the chunk
  std::int64_t filter, filters;

  /// Whether both are the same work at different offsets.
  bool like(const WindowChunk& other) const {
    return samples == other.samples && rows == other.rows && data_rows == other.data_rows &&
           before == other.before && after == other.after && filters == other.filters;
  }
};

class WindowPartition {
 public:
  WindowPartition(const Window& window, const tenon::Shape& data, const tenon::Shape& output)
      : reach_(window.reach(0)),
        stride_(window.stride[0]),
        pad_(window.pad[0]),
        data_rows_(data[2]),
        rows_(output[2]),
        batch_(data[0]),
        filters_(output[1]) {}

  /// Whole samples: at most `max_chunks` chunks of equal size, and a smaller last one if needed.
  std::vector<WindowChunk> of_samples(std::int64_t max_chunks) const {
    std::vector<WindowChunk> chunks;
    const auto size = std::max<std::int64_t>((batch_ + max_chunks - 1) / max_chunks, 1);
    for (std::int64_t first = 0; first < batch_; first += size)
      chunks.push_back(chunk(first, std::min(size, batch_ - first), 0, rows_));
    return chunks;
  }

  /// Like of_samples(), but splits each sample into rows if there are fewer samples than
  /// `max_chunks`.
  std::vector<WindowChunk> of_rows(std::int64_t max_chunks) const {
    const auto cuts = batch_ > 0 ? even(std::min({max_chunks / batch_, rows_, max_cuts})) : 1;
    if (cuts <= 1) return of_samples(max_chunks);
    std::vector<WindowChunk> chunks;
    for (std::int64_t sample = 0; sample < batch_; ++sample)
      for (std::int64_t i = 0; i < cuts; ++i) {
        const auto first = rows_ * i / cuts;
        chunks.push_back(chunk(sample, 1, first, rows_ * (i + 1) / cuts - first));
        if (chunks.back().data_rows < 1) return of_samples(max_chunks);  // rows with padding only
      }
    return chunks;
  }

  /// All samples, split into chunks of `size` filters, with a smaller last one if needed.
  std::vector<WindowChunk> of_filters(std::int64_t size) const {
    std::vector<WindowChunk> chunks;
    for (std::int64_t first = 0; first < filters_; first += size) {
      chunks.push_back(chunk(0, batch_, 0, rows_));
      chunks.back().filter = first;
      chunks.back().filters = std::min(size, filters_ - first);
    }
    return chunks;
  }

  /// Number of chunks that is worth the overhead: each does at least 2.5 million operations, and
  /// eight for each byte of the weights, which every chunk reads.
  static std::int64_t worthwhile(double operations, std::size_t weight_bytes) {
    const double least = std::max(2.5e6, 8 * static_cast<double>(weight_bytes));
    return even(static_cast<std::int64_t>(std::clamp(operations / least, 1.0, 16.0)));
  }

 private:
  static constexpr std::int64_t max_cuts = 8;  // per sample; smaller chunks cost several percent

  /// The largest power of two up to n, so that two and four threads get equal shares.
  static std::int64_t even(std::int64_t n) {
    return n < 1 ? 1 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  }

  WindowChunk chunk(std::int64_t sample, std::int64_t samples, std::int64_t row,
                    std::int64_t rows) const {
    const auto from = row * stride_ - pad_, to = (row + rows - 1) * stride_ - pad_ + reach_;
    const bool whole = rows == rows_;  // then rows that the stride leaves over belong to it, too
    const auto first = whole ? 0 : std::max<std::int64_t>(from, 0),
               last = whole ? data_rows_ : std::min(to, data_rows_);
    return {sample,
            samples,
            row,
            rows,
            first,
            last - first,
            std::max<std::int64_t>(-from, 0),
            std::max<std::int64_t>(to - data_rows_, 0),
            0,
            filters_};
  }

  std::int64_t reach_, stride_, pad_, data_rows_, rows_, batch_, filters_;
};
