// Convolution in bfloat16 on AMX, as an implicit GEMM. A sample's rows are rounded into rows
// separated by zeros, so that the windows of all output positions are equally spaced and a tile
// load covers sixteen of them. If the size of a window's row is not a multiple of 32, the excess
// elements are multiplied by zero: an infinity or NaN there turns neighboring positions into NaN,
// and so do infinite weights at the padding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../../shared/product/windows_amx.hpp"
#include "amx_tiling.hpp"
#include "convolution_steps.hpp"
#include "packed_weights.hpp"

#if defined(TENON_WIDE_LEVELS)
namespace amx = product::bf16::amx;

class AmxConvolution {
 public:
  AmxConvolution(const Window& window, const ConvolutionShape& shape)
      : tiling_(window, shape.data, shape.output),
        samples_(shape.data[0]),
        turns_(tiling_.interleaved ? tiling_.kernel.rows : 1),
        at_once_(tiles_at_once()) {}

  std::size_t packed_bytes() const {
    return static_cast<std::size_t>(panel_begin(panels())) * sizeof(Bits);
  }
  std::string packing() const {
    return tenon::join(tiles(), " times 16 in panels of ", panel_tiles(), ", ", tiling_.runs, " x ",
                       tiling_.run_chunks, " times 16 pairs of bfloat16");
  }

  /// weight: [filters, channels, rows, columns]. each(count, body) calls body(i) for i below count,
  /// on any thread.
  template <class Each = OneByOne>
  void pack(const float* weight, void* to, const Each& each = {}) const {
    const auto indices = weight_indices();
    each(tiles(),
         [&](std::int64_t tile) { pack_tile(weight, indices, tile, static_cast<Bits*>(to)); });
  }

  /// packed: the weights as pack() leaves them, or null. after(first, count) or after(first, count,
  /// rows, step) is called for all computed elements of output.
  template <class After>
  void forward(const tenon::Call& call, const float* data, const float* weight, const void* packed,
               const float* bias, float* output, After&& after) const {
    const PackedWeights made(call, *this, weight, packed, 1);
    const auto* const weights = static_cast<const Bits*>(made.data());
    const auto cut = cut_for(call);
    call.parallel_for(
        samples_ * cut.down * cut.across, 1, [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) {
            const auto sample = i / cut.across / cut.down, first = sample * tiling_.positions.rows *
                                                                   tiling_.positions.columns *
                                                                   tiling_.filters;
            const auto rows =
                           chunk_range(tiling_.positions.rows, i / cut.across % cut.down, cut.down),
                       across = chunk_range(panels(), i % cut.across, cut.across);
            run_chunk({data + sample * tiling_.data.rows * tiling_.data.columns * tiling_.channels,
                       weights, bias, output + first},
                      rows, across);
            const auto filter = across.begin * panel_tiles() * amx::side;
            const auto count =
                std::min(tiling_.filters, across.end * panel_tiles() * amx::side) - filter;
            const auto positions = rows.size() * tiling_.positions.columns,
                       written = first + rows.begin * tiling_.positions.columns * tiling_.filters +
                                 filter;
            cut.across == 1 ? after(written, positions * tiling_.filters)
                            : after(written, count, positions, tiling_.filters);
          }
        });
  }

 private:
  using Bits = product::bf16::Bits;
  struct Range {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
  };
  /// Number of chunks of a sample's rows and of its filter panels. Results do not depend on it.
  struct Cut {
    std::int64_t down, across;
  };
  struct Operands {
    const float* data;
    const Bits* weights;
    const float* bias;
    float* output;
  };

  static constexpr std::int64_t cached = std::int64_t{1}
                                         << 19;  // bytes that a chunk reads and writes

  static std::int64_t rounded_up(std::int64_t size, std::int64_t divisor) {
    return AmxTiling::rounded_up(size, divisor);
  }
  static Range chunk_range(std::int64_t size, std::int64_t i, std::int64_t count) {
    return {size * i / count, size * (i + 1) / count};
  }

  std::int64_t chunks() const { return tiling_.chunks(); }
  std::int64_t depth() const { return tiling_.depth(); }
  std::int64_t tiles() const { return tiling_.tiles(); }
  std::int64_t panel_tiles() const { return at_once_.columns; }
  /// Windows that do not start at a cache line take six times as long to load; the tiles then
  /// multiply each one by as many filters as possible.
  amx::WindowTiles tiles_at_once() const {
    if (tiles() == 1) return {4, 1};
    return tiling_.channels % amx::chunk == 0 || tiles() == 2 ? amx::WindowTiles{2, 2}
                                                              : amx::WindowTiles{1, 4};
  }
  std::int64_t panels() const { return rounded_up(tiles(), panel_tiles()); }
  std::int64_t panel_begin(std::int64_t panel) const {
    return std::min(panel * panel_tiles(), tiles()) * chunks() * amx::side * amx::chunk;
  }

  std::int64_t count_of(std::int64_t rows) const { return tiling_.windows_of(rows); }
  std::int64_t row_size() const { return tiling_.pitch * tiling_.stride.columns * tiling_.element; }
  /// Number of groups of rows. Rows whose indices differ by multiples of `stride` are stored
  /// together, so that vertically adjacent positions have a constant distance.
  std::int64_t groups() const {
    return tiling_.interleaved ? 1 : std::min(tiling_.stride.rows, tiling_.kernel.rows);
  }
  std::int64_t rows_of_group(std::int64_t rows) const {
    return tiling_.interleaved ? rows : rows + (tiling_.kernel.rows - 1) / tiling_.stride.rows;
  }
  /// Elements of a group, including the zeros that windows of the last row read past its end.
  std::int64_t group_size(std::int64_t rows) const {
    const auto overread =
        (tiling_.before.columns + tiling_.kernel.columns + amx::chunk) * tiling_.element +
        amx::chunk;
    return rounded_up(rows_of_group(rows) * row_size() + overread, amx::chunk) * amx::chunk;
  }

  Cut cut_for(const tenon::Call& call) const {
    const auto threads = std::int64_t{call.threads()},
               target = threads == 1 ? 1 : rounded_up(2 * threads, samples_);
    const auto read =
        tiling_.data.rows * tiling_.data.columns * tiling_.channels * std::int64_t{sizeof(float)};
    const auto written = tiling_.positions.rows * tiling_.positions.columns * tiling_.filters *
                         std::int64_t{sizeof(float)};
    if (static_cast<std::int64_t>(packed_bytes()) > read + written)
      return {1, std::min(panels(), rounded_up(threads, samples_))};
    const auto max_chunks =
        std::max<std::int64_t>(count_of(tiling_.positions.rows) / (4 * amx::max_rows), 1);
    return {std::min({tiling_.positions.rows, max_chunks,
                      std::max(rounded_up(read + written, cached), target)}),
            1};
  }

  /// For each element of a window's chunks, the index of its weight in a filter, or -1.
  std::vector<std::int64_t> weight_indices() const {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(depth()), -1);
    for (std::int64_t run = 0; run < tiling_.runs; ++run)
      for (std::int64_t i = 0; i < tiling_.kernel.columns * tiling_.element; ++i) {
        const auto row = tiling_.interleaved ? i % tiling_.element : run,
                   channel = tiling_.interleaved ? 0 : i % tiling_.element;
        indices[static_cast<std::size_t>(run * tiling_.run_chunks * amx::chunk + i)] =
            (channel * tiling_.kernel.rows + row) * tiling_.kernel.columns + i / tiling_.element;
      }
    return indices;
  }

  void pack_tile(const float* weight, const std::vector<std::int64_t>& indices, std::int64_t tile,
                 Bits* to) const {
    const auto size = tiling_.channels * tiling_.kernel.rows * tiling_.kernel.columns,
               panel = tile / panel_tiles(), step = depth() + amx::chunk;
    const auto of_panel = std::min(panel_tiles(), tiles() - panel * panel_tiles());
    std::vector<float> numbers(indices.size());
    std::vector<Bits> rows(static_cast<std::size_t>(amx::side * step));
    for (std::int64_t i = 0; i < std::min(amx::side, tiling_.filters - tile * amx::side); ++i) {
      const float* const from = weight + (tile * amx::side + i) * size;
      for (std::size_t k = 0; k < indices.size(); ++k)
        numbers[k] = indices[k] < 0 ? 0 : from[indices[k]];
      product::bf16::round_row(numbers.data(), depth(), rows.data() + i * step);
    }
    to += panel_begin(panel) + tile % panel_tiles() * amx::side * amx::chunk;
    for (std::int64_t k = 0; k < chunks();
         ++k, to += of_panel * amx::side * amx::chunk)  // a pair is moved like one float
      product::avx512::transpose_square(
          reinterpret_cast<const float*>(rows.data() + k * amx::chunk), step / 2,
          reinterpret_cast<float*>(to), amx::side);
  }

  void run_chunk(const Operands& operands, const Range& rows, const Range& across) const {
    const auto step = tiling_.stride.columns * tiling_.element,
               windows = at_once_.windows * amx::side,
               sums_size = windows * panel_tiles() * amx::side;
    const auto size = groups() * group_size(rows.size()) +
                      windows * step;  // the last windows may be past the end
    const auto taken = tiling_.interleaved ? rows_of_window(rows) * turned_row() : 0;
    const auto placed_bytes =
        onednn::aligned(static_cast<std::size_t>(size + taken) * sizeof(Bits));
    std::byte* const scratch =
        onednn::scratch(placed_bytes + static_cast<std::size_t>(sums_size) * sizeof(float));
    auto* const placed = reinterpret_cast<Bits*>(scratch);
    auto* const sums = reinterpret_cast<float*>(scratch + placed_bytes);
    if (tiling_.interleaved)
      pack_interleaved(operands.data, rows, placed + size, placed);
    else
      pack_rows(operands.data, rows, placed);
    const auto offsets = offsets_for(rows.size());
    const auto count = count_of(rows.size()), blocks = rounded_up(count, windows);
    amx::begin(amx::max_rows);
    for (auto panel = across.begin; panel < across.end; ++panel) {
      const auto columns = std::min(panel_tiles(), tiles() - panel * panel_tiles());
      const Bits* const weights = operands.weights + panel_begin(panel);
      // Prefetches the next panel while this one is multiplied.
      const Bits* const next = operands.weights + panel_begin(panel + 1);
      const auto lines = panel + 1 < panels() ? rounded_up(columns * amx::side, blocks) : 0;
      for (std::int64_t i = 0; i < blocks; ++i) {
        const auto first = i * windows;
        amx::sum({at_once_.windows, columns}, {placed + first * step,
                                               step,
                                               offsets.data(),
                                               chunks(),
                                               weights,
                                               sums,
                                               {next + i * chunks() * lines * amx::chunk, lines}});
        write(operands, rows.begin, {first, std::min(first + windows, count)}, sums,
              columns * amx::side, panel * panel_tiles() * amx::side);
      }
    }
    amx::end();
  }

  std::vector<std::int64_t> offsets_for(std::int64_t rows) const {
    std::vector<std::int64_t> offsets;
    for (std::int64_t run = 0; run < tiling_.runs; ++run)
      for (std::int64_t k = 0; k < tiling_.run_chunks; ++k)
        offsets.push_back(run % groups() * group_size(rows) +
                          run / tiling_.stride.rows * row_size() + k * amx::chunk);
    return offsets;
  }

  /// Rounds the rows of data that `rows` of the output need, and surrounds them with zeros.
  void pack_rows(const float* data, const Range& rows, Bits* to) const {
    const auto left = tiling_.before.columns * tiling_.element,
               size = tiling_.data.columns * tiling_.element;
    for (std::int64_t group = 0; group < groups(); ++group) {
      Bits* row = to + group * group_size(rows.size());
      Bits* const end = row + group_size(rows.size());
      for (std::int64_t i = 0; i < rows_of_group(rows.size()); ++i, row += row_size()) {
        const auto y = (rows.begin + i) * tiling_.stride.rows + group - tiling_.before.rows;
        const auto there = y < 0 || y >= tiling_.data.rows ? 0 : size;
        if (there > 0) {
          std::fill_n(row, left, Bits{0});
          product::bf16::round_row(data + y * size, size, row + left);
          std::fill(row + left + size, row + row_size(), Bits{0});
        } else {
          std::fill_n(row, row_size(), Bits{0});
        }
      }
      std::fill(row, end, Bits{0});
    }
  }

  std::int64_t turned_row() const {
    return rounded_up(tiling_.data.columns, amx::chunk) * amx::chunk;
  }
  std::int64_t rows_of_window(const Range& rows) const {
    return (rows.size() - 1) * tiling_.stride.rows + tiling_.kernel.rows;
  }

  /// Variant for one channel: for each row of the output, the rows of data that its windows cover,
  /// interleaved.
  void pack_interleaved(const float* data, const Range& rows, Bits* taken, Bits* to) const {
    const auto left = tiling_.before.columns * tiling_.element,
               size = tiling_.data.columns * tiling_.element,
               top = rows.begin * tiling_.stride.rows - tiling_.before.rows;
    for (std::int64_t i = 0; i < rows_of_window(rows); ++i) {
      const bool there = top + i >= 0 && top + i < tiling_.data.rows;
      Bits* const row = taken + i * turned_row();
      if (there)
        product::bf16::round_row(data + (top + i) * tiling_.data.columns, tiling_.data.columns,
                                 row);
      std::fill(row + (there ? tiling_.data.columns : 0), row + turned_row(), Bits{0});
    }
    Bits* const end = to + group_size(rows.size());
    for (std::int64_t i = 0; i < rows.size(); ++i, to += row_size()) {
      std::fill_n(to, left, Bits{0});
      turns_(taken + i * tiling_.stride.rows * turned_row(), turned_row(), tiling_.data.columns,
             to + left);
      std::fill(to + left + size, to + row_size(), Bits{0});
    }
    std::fill(to, end, Bits{0});
  }

  /// Writes the sums of the windows `range`, skipping those between rows, which are not output
  /// positions.
  void write(const Operands& operands, std::int64_t top, const Range& range, const float* sums,
             std::int64_t sums_row, std::int64_t filter) const {
    const auto columns = std::min(sums_row, tiling_.filters - filter);
    for (auto i = range.begin; i < range.end;) {
      const auto row = i / tiling_.pitch, column = i % tiling_.pitch,
                 end = std::min(range.end, (row + 1) * tiling_.pitch);
      const auto count = std::min(end - i, tiling_.positions.columns - column);
      if (count > 0)
        amx::add_bias(sums + (i - range.begin) * sums_row, sums_row, count, columns,
                      operands.bias ? operands.bias + filter : nullptr,
                      operands.output +
                          ((top + row) * tiling_.positions.columns + column) * tiling_.filters +
                          filter,
                      tiling_.filters);
      i = end;
    }
  }

  static_assert(AmxTiling::side == amx::side && AmxTiling::chunk == amx::chunk &&
                AmxTiling::max_interleaved == amx::InTurns::max_rows);

  AmxTiling tiling_;
  std::int64_t samples_;
  amx::InTurns turns_;
  amx::WindowTiles at_once_;
};
#else
class AmxConvolution {  // never instantiated there
 public:
  AmxConvolution(const Window&, const ConvolutionShape&) {}
  std::size_t packed_bytes() const { return 0; }
  std::string packing() const { return {}; }
  void pack(const float*, void*) const {}
  template <class After>
  void forward(const tenon::Call&, const float*, const float*, const void*, const float*, float*,
               After&&) const {}
};
#endif
