// A direct convolution with at most 16 filters on AVX2. oneDNN's code accumulates three output
// positions at a time for each eight filters, too few independent sums to hide the latency of an
// addition.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "convolution_choice.hpp"
#include "onednn/layout.hpp"
#include "shared/window_partition.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifdef __clang__
#define SMALL_FILTER_UNROLL _Pragma("unroll")
#else
#define SMALL_FILTER_UNROLL _Pragma("GCC unroll 16")
#endif

/// For channels-last tensors with two spatial axes and one group.
class SmallFilterConvolution {
 public:
  static constexpr std::int64_t max_filters = convolution_choice::max_small_filters;

  struct Axis {
    std::int64_t size, positions, kernel, stride, distance,
        before;  // distance: between taps of the kernel
  };

  SmallFilterConvolution(const WindowChunk& chunk, std::int64_t channels, std::int64_t filters,
                         const Axis& rows, const Axis& columns)
      : samples_(chunk.samples),
        channels_(channels),
        filters_(filters),
        rows_(rows),
        columns_(columns),
        weights_({filters, channels, rows.kernel, columns.kernel}, dnnl::memory::data_type::f32,
                 dnnl::memory::format_tag::Acdb8a) {}

  /// Descriptor of the weights, from the innermost axis: eight filters, then their channels,
  /// columns and rows.
  const onednn::Desc& weights() const { return weights_; }

  /// Ports: data, weight, output and, if there is one, bias.
  void run(std::span<const void* const> ports) const {
    const auto* data = static_cast<const float*>(ports[0]);
    auto* output = const_cast<float*>(static_cast<const float*>(ports[2]));
    std::array<float, max_filters> bias{};
    if (ports.size() > 3) std::copy_n(static_cast<const float*>(ports[3]), filters_, bias.begin());
    const auto width = padded_width();
    float* const padded = width > columns_.size
                              ? reinterpret_cast<float*>(onednn::scratch(
                                    static_cast<std::size_t>(rows_.size * width * channels_) * 4))
                              : nullptr;
    Row row{static_cast<const float*>(ports[1]), bias.data(),
            output + samples_ * rows_.positions * columns_.positions * filters_};
    for (std::int64_t sample = 0; sample < samples_;
         ++sample, data += rows_.size * columns_.size * channels_) {
      row.data = data;
      if (padded) row.data = pad(data, width, padded);
      row.width = width * channels_;
      for (std::int64_t y = 0; y < rows_.positions; ++y, output += columns_.positions * filters_) {
        row.top = y * rows_.stride - rows_.before;
        row.first = row.top < 0 ? (-row.top + rows_.distance - 1) / rows_.distance : 0;
        row.last = std::clamp((rows_.size - row.top + rows_.distance - 1) / rows_.distance,
                              row.first, std::max(row.first, rows_.kernel));
        run_row(row, output);
      }
    }
  }

 private:
  static constexpr std::int64_t lanes = 8;

  struct Row {
    const float *weights, *bias, *end;  // end: of the chunk's output
    const float* data = nullptr;        // rows of the sample, with their padding
    std::int64_t width = 0;             // of one such row, in elements
    std::int64_t top = 0;               // first row of the kernel in data; negative above data
    std::int64_t first = 0, last = 0;   // rows of the kernel inside of data
  };

  std::int64_t padded_width() const {
    const auto reach =
        (columns_.positions - 1) * columns_.stride + (columns_.kernel - 1) * columns_.distance + 1;
    return std::max(reach, columns_.before + columns_.size);
  }

  /// Copies a sample with zeros on both sides of its rows, which is faster than clipping windows.
  const float* pad(const float* data, std::int64_t width, float* padded) const {
    const auto before = columns_.before * channels_, size = columns_.size * channels_;
    for (std::int64_t y = 0; y < rows_.size; ++y) {
      float* const row = padded + y * width * channels_;
      std::fill_n(row, before, 0.f);
      std::copy_n(data + y * size, size, row + before);
      std::fill(row + before + size, row + width * channels_, 0.f);
    }
    return padded;
  }

#if defined(__x86_64__)
  using Block = void (SmallFilterConvolution::*)(const Row&, std::int64_t, float*) const;
  template <int vectors, int... positions>
  static constexpr auto blocks_of(std::integer_sequence<int, positions...>) {
    return std::array<Block, sizeof...(positions)>{
        &SmallFilterConvolution::block<vectors, positions + 1>...};
  }

  /// Uses the fewest blocks of about equal size whose sums stay in registers.
  void run_row(const Row& row, float* output) const {
    static constexpr auto one = blocks_of<1>(std::make_integer_sequence<int, 10>());
    static constexpr auto two = blocks_of<2>(std::make_integer_sequence<int, 5>());
    const bool narrow = filters_ <= lanes;
    const auto positions = columns_.positions,
               max_positions = static_cast<std::int64_t>(narrow ? one.size() : two.size());
    const auto count = (positions + max_positions - 1) / max_positions;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto first = positions * i / count, size = positions * (i + 1) / count - first;
      const auto block = narrow ? one[static_cast<std::size_t>(size - 1)]
                                : two[static_cast<std::size_t>(size - 1)];
      (this->*block)(row, first, output + first * filters_);
    }
  }

  template <int vectors, int positions>
  __attribute__((target("avx2,fma"))) void block(const Row& row, std::int64_t first,
                                                 float* output) const {
    const auto step = columns_.stride * channels_, taps = columns_.kernel,
               next = columns_.distance * channels_;
    const auto second =
        rows_.kernel * taps * channels_ * lanes;  // the weights of the second eight filters
    // a row's elements are contiguous in data, too, unless the kernel is dilated
    const bool dense = columns_.distance == 1;
    const auto runs = dense ? 1 : taps, length = dense ? taps * channels_ : channels_;
    __m256 sums[positions][vectors];
    SMALL_FILTER_UNROLL
    for (int p = 0; p < positions; ++p) {
      SMALL_FILTER_UNROLL
      for (int v = 0; v < vectors; ++v) sums[p][v] = _mm256_loadu_ps(row.bias + v * lanes);
    }
    for (auto y = row.first; y < row.last; ++y) {
      const float* weights = row.weights + y * taps * channels_ * lanes;
      const float* const start =
          row.data + (row.top + y * rows_.distance) * row.width + first * step;
      for (std::int64_t x = 0; x < runs; ++x)
        for (std::int64_t i = 0; i < length; ++i, weights += lanes) {
          __m256 weight[vectors];
          SMALL_FILTER_UNROLL
          for (int v = 0; v < vectors; ++v) weight[v] = _mm256_loadu_ps(weights + v * second);
          SMALL_FILTER_UNROLL
          for (int p = 0; p < positions; ++p) {
            const __m256 factor = _mm256_broadcast_ss(start + x * next + i + p * step);
            SMALL_FILTER_UNROLL
            for (int v = 0; v < vectors; ++v)
              sums[p][v] = _mm256_fmadd_ps(factor, weight[v], sums[p][v]);
          }
        }
    }
    SMALL_FILTER_UNROLL
    for (int p = 0; p < positions; ++p) store<vectors>(sums[p], output + p * filters_, row.end);
  }

  /// SIMD lanes beyond the filters are overwritten by the next positions, if there are any.
  template <int vectors>
  __attribute__((target("avx2,fma"))) void store(const __m256 (&sums)[vectors], float* output,
                                                 const float* end) const {
    const bool last = end - output < vectors * lanes;
    float rest[vectors * lanes];
    float* const to = last ? rest : output;
    for (int v = 0; v < vectors; ++v) _mm256_storeu_ps(to + v * lanes, sums[v]);
    if (last) std::copy_n(rest, filters_, output);
  }
#else
  void run_row(const Row&, float*) const {}  // never instantiated there
#endif

  std::int64_t samples_, channels_, filters_;
  Axis rows_, columns_;
  onednn::Desc weights_;
};

#undef SMALL_FILTER_UNROLL
