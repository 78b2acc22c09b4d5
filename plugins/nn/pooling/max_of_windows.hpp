// Max pooling of float32 over 1 to 3 spatial axes in vectorized loops: first along the rows of a
// window, then across its columns. If a window contains NaN, the result is NaN.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tenon/operator.hpp>
#include <tenon/wide.hpp>

#include "../../shared/order.hpp"
#include "onednn/onednn.hpp"
#include "shared/window.hpp"

/// Planes of rows of positions of channels: a plain tensor has a plane for each sample and channel,
/// and one channel per position.
class MaxOfWindows {
 public:
  /// Positions in a plane are 32-bit.
  static bool fits(const Window& window, const tenon::Shape& data) {
    std::int64_t size = 1;
    for (int axis = 0; axis < window.axes; ++axis)
      if (__builtin_mul_overflow(size, data[axis + 2], &size)) return false;
    return size <= INT32_MAX;
  }

  MaxOfWindows(const Window& window, const tenon::Shape& data, const tenon::Shape& output,
               bool channels_last)
      : planes_(channels_last ? data[0] : data[0] * data[1]),
        channels_(channels_last ? data[1] : 1) {
    columns_ = axis_of(window, data, output, window.axes - 1);
    if (window.axes >= 2) rows_ = axis_of(window, data, output, window.axes - 2);
    if (window.axes == 3) slices_ = axis_of(window, data, output, 0);
  }

  /// A maximum does not depend on the order, so threads may split the work arbitrarily.
  void run(const tenon::Call& call, const float* data, float* output) const {
    const auto row = columns_.size * channels_, work = row * rows_.kernel * slices_.kernel;
    call.parallel_for(planes_ * rows_in_plane(), std::max<std::int64_t>(1, 16384 / work),
                      [&](std::int64_t begin, std::int64_t end) {
                        float* const maximum = reinterpret_cast<float*>(
                            onednn::scratch(static_cast<std::size_t>(row + lanes) * sizeof(float)));
                        std::fill_n(maximum + row, lanes, least);
                        tenon::wide([this_ = *this, begin, end, data, output, maximum] {
                          auto at = this_.position(begin);
                          for (auto i = begin; i < end; ++i, this_.advance(at))
                            this_.row_of_output(i, at, data, maximum, output);
                        });
                      });
  }

  /// Each window's gradient goes to its first NaN, or to the first of its maxima, which is searched
  /// again. For plain tensors.
  void run_back(const tenon::Call& call, const float* data, const float* output_grad,
                float* data_grad) const {
    const auto size = slices_.size * rows_.size * columns_.size, rows = rows_in_plane(),
               count = columns_.positions;
    const auto work = rows * count * slices_.kernel * rows_.kernel * columns_.kernel;
    call.parallel_for(planes_, std::max<std::int64_t>(1, 16384 / work),
                      [&](std::int64_t begin, std::int64_t end) {
                        auto* const at = reinterpret_cast<std::int32_t*>(
                            onednn::scratch(static_cast<std::size_t>(count) * 4));
                        std::fill(data_grad + begin * size, data_grad + end * size, 0.f);
                        tenon::wide([this_ = *this, begin, end, size, rows, count, data,
                                     output_grad, data_grad, at] {
                          Position row{begin, 0, 0};
                          for (auto i = begin * rows; i < end * rows; ++i, this_.advance(row)) {
                            const auto plane = row.plane * size;
                            this_.find_maxima(this_.below(row), data + plane, at);
                            for (std::int64_t position = 0; position < count; ++position)
                              data_grad[plane + at[position]] += output_grad[i * count + position];
                          }
                        });
                      });
  }

 private:
  static constexpr std::int64_t lanes = 8;

  struct Axis {
    std::int64_t size = 1, positions = 1, kernel = 1, stride = 1, pad = 0;
    std::int64_t first(std::int64_t position) const {
      return std::max<std::int64_t>(position * stride - pad, 0);
    }
    std::int64_t last(std::int64_t position) const {
      return std::min(position * stride - pad + kernel, size);
    }
    /// The range of positions whose windows contain no padding: the first one, and the one after
    /// the last.
    std::int64_t first_inside() const { return std::min((pad + stride - 1) / stride, positions); }
    std::int64_t end_inside() const {
      return size + pad < kernel
                 ? first_inside()
                 : std::clamp((size + pad - kernel) / stride + 1, first_inside(), positions);
    }
  };

  static Axis axis_of(const Window& window, const tenon::Shape& data, const tenon::Shape& output,
                      int axis) {
    const auto at = static_cast<std::size_t>(axis);
    return {data[axis + 2], output[axis + 2], window.kernel[at], window.stride[at], window.pad[at]};
  }

  std::int64_t rows_in_plane() const { return slices_.positions * rows_.positions; }

  /// The position of an output row. Advancing it avoids a division, which would take as long as a
  /// short row.
  struct Position {
    std::int64_t plane, slice, row;
  };
  Position position(std::int64_t i) const {
    return {i / rows_in_plane(), i % rows_in_plane() / rows_.positions, i % rows_.positions};
  }
  void advance(Position& at) const {
    if (++at.row < rows_.positions) return;
    at.row = 0;
    if (++at.slice < slices_.positions) return;
    at.slice = 0;
    ++at.plane;
  }

  /// The rows of data covered by the windows of one output row: from `first` to `last` in each
  /// slice from `front` to `back`.
  struct Below {
    std::int64_t front, back, first, last;
  };
  Below below(const Position& at) const {
    return {slices_.first(at.slice), slices_.last(at.slice), rows_.first(at.row),
            rows_.last(at.row)};
  }

  /// The processor's maximum is y if either operand is NaN: a NaN in y is retained, one in x must
  /// be restored.
  static float larger(float x, float y) {
    const float of_numbers = x > y ? x : y;
    return x != x ? x : of_numbers;
  }
  static constexpr float least = -std::numeric_limits<float>::infinity();

  void row_of_output(std::int64_t i, const Position& at, const float* data, float* maximum,
                     float* output) const {
    const auto width = columns_.size * channels_;
    const auto [front, back, first, last] = below(at);
    const float* const plane = data + at.plane * slices_.size * rows_.size * width;
    const float* const rows = plane + front * rows_.size * width;
    const float *const one = rows + first * width, *const two =
                                                       rows + std::min(first + 1, last - 1) * width;
    for (std::int64_t x = 0; x < width; ++x) maximum[x] = larger(two[x], one[x]);
    for (auto z = front; z < back; ++z)
      for (auto y = z == front ? first + 2 : first; y < last; ++y)
        for (std::int64_t x = 0; x < width; ++x)
          maximum[x] = larger(plane[(z * rows_.size + y) * width + x], maximum[x]);
    float* const to = output + i * columns_.positions * channels_;
    if (channels_ > 1)
      across_positions(maximum, to);
    else
      across_columns(maximum, to);
  }

  /// Calls body(position of the row's first element in the plane) for these rows, in order.
  template <class Body>
  [[gnu::always_inline]] void each_row(const Below& below, const Body& body) const {
    for (auto z = below.front; z < below.back; ++z)
      for (auto y = below.first; y < below.last; ++y) body((z * rows_.size + y) * columns_.size);
  }
  std::int64_t first_row(const Below& below) const {
    return (below.front * rows_.size + below.first) * columns_.size;
  }

  /// Finds the first NaN of each window of one output row, or the first of its maxima.
  void find_maxima(const Below& below, const float* plane, std::int32_t* at) const {
    const auto begin = columns_.first_inside(), end = columns_.end_inside();
    const bool many = end - begin >= lanes;
    for (std::int64_t position = 0; position < (many ? begin : columns_.positions); ++position)
      at[position] = find_in_one(below, position, plane);
    if (!many) return;
    for (auto position = end; position < columns_.positions; ++position)
      at[position] = find_in_one(below, position, plane);
    for (auto position = begin; position < end; position += lanes) {
      const auto first = std::min(position, end - lanes);
      if (columns_.stride == 2)
        find_in_many<2>(below, first, plane, at + first);
      else
        find_in_many<0>(below, first, plane, at + first);
    }
  }

  std::int32_t find_in_one(const Below& below, std::int64_t position, const float* plane) const {
    float maximum = least;
    auto at = first_row(below) + columns_.first(position);
    each_row(below, [&](std::int64_t start) {
      for (auto x = columns_.first(position); x < columns_.last(position); ++x) {
        const float value = plane[start + x];
        if (is_larger(value, maximum)) maximum = value, at = start + x;
      }
    });
    return static_cast<std::int32_t>(at);
  }

  typedef float Floats __attribute__((vector_size(lanes * 4)));
  typedef std::int32_t Indices __attribute__((vector_size(lanes * 4)));

  /// from[lane * stride]. stride: 0 if it is not a compile-time constant.
  template <std::int64_t constant>
  [[gnu::always_inline]] static void load(const float* from, std::int64_t stride, Floats& to) {
    if constexpr (constant == 2) {
      Floats first, last;
      std::memcpy(&first, from, sizeof first);
      std::memcpy(&last, from + lanes - 1, sizeof last);
      to = __builtin_shufflevector(first, last, 0, 2, 4, 6, 9, 11, 13, 15);
    } else {
      for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = from[lane * stride];
    }
  }

  /// For `lanes` positions whose windows have no padding at their sides.
  template <std::int64_t constant>
  void find_in_many(const Below& below, std::int64_t position, const float* plane,
                    std::int32_t* at) const {
    const auto left = position * columns_.stride - columns_.pad;
    Indices steps;
    for (std::int32_t lane = 0; lane < lanes; ++lane)
      steps[lane] = lane * static_cast<std::int32_t>(columns_.stride);
    Floats maximum = Floats{} + least;
    Indices found = steps + static_cast<std::int32_t>(first_row(below) + left);
    each_row(below, [&](std::int64_t start) {
      for (auto from = start + left; from < start + left + columns_.kernel; ++from) {
        Floats values;
        load<constant>(plane + from, columns_.stride, values);
        const Indices more =
            ~(values <= maximum) & (maximum == maximum);  // larger, or NaN, and no NaN found yet
        found = more ? steps + static_cast<std::int32_t>(from) : found;
        maximum = more ? values : maximum;
      }
    });
    std::memcpy(at, &found, sizeof found);
  }

  /// SIMD lanes beyond the channels are overwritten by the next positions, which do not exist for
  /// the last ones of a row.
  void across_positions(const float* from, float* to) const {
    const auto channels = channels_, padded = (channels + lanes - 1) / lanes * lanes;
    const auto whole =
        std::max<std::int64_t>(columns_.positions - (padded + channels - 1) / channels + 1, 0);
    for (std::int64_t position = 0; position < whole; ++position)
      for (std::int64_t channel = 0; channel < channels; channel += lanes)
        across_position(from + channel, position, to + position * channels + channel);
    float end[lanes];
    for (auto position = whole; position < columns_.positions; ++position)
      for (std::int64_t channel = 0; channel < channels; channel += lanes) {
        across_position(from + channel, position, end);
        std::copy_n(end, std::min(lanes, channels - channel), to + position * channels + channel);
      }
  }

  void across_position(const float* from, std::int64_t position, float* __restrict to) const {
    const auto first = columns_.first(position), last = columns_.last(position),
               channels = channels_;
    const float *const one = from + first * channels, *const two =
                                                          from +
                                                          std::min(first + 1, last - 1) * channels;
    const float* const three = from + std::min(first + 2, last - 1) * channels;
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      to[lane] = larger(three[lane], larger(two[lane], one[lane]));
    for (auto x = first + 3; x < last; ++x)
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        to[lane] = larger(from[x * channels + lane], to[lane]);
  }

  void across_columns(const float* from, float* to) const {
    const auto begin = columns_.first_inside(), end = columns_.end_inside();
    for (std::int64_t position = 0; position < begin; ++position)
      to[position] = across_edge(from, position);
    for (auto position = end; position < columns_.positions; ++position)
      to[position] = across_edge(from, position);
    if (begin == end) return;
    const float* const start = from + begin * columns_.stride - columns_.pad;
    if (columns_.stride == 1)
      across_inside<1>(start, to + begin, end - begin);
    else if (columns_.stride == 2)
      across_inside<2>(start, to + begin, end - begin);
    else
      across_inside<0>(start, to + begin, end - begin);
  }

  float across_edge(const float* from, std::int64_t position) const {
    float found = least;
    for (auto x = columns_.first(position); x < columns_.last(position); ++x)
      found = larger(from[x], found);
    return found;
  }

  /// stride: 0 if it is not a compile-time constant.
  template <std::int64_t constant>
  void across_inside(const float* from, float* __restrict to, std::int64_t count) const {
    const auto stride = constant > 0 ? constant : columns_.stride;
    const float* const two = from + std::min<std::int64_t>(1, columns_.kernel - 1);
    for (std::int64_t position = 0; position < count; ++position)
      to[position] = larger(two[position * stride], from[position * stride]);
    for (std::int64_t x = 2; x < columns_.kernel; ++x)
      for (std::int64_t position = 0; position < count; ++position)
        to[position] = larger(from[position * stride + x], to[position]);
  }

  std::int64_t planes_, channels_;
  Axis slices_, rows_, columns_;
};
