// Pooling with any windows and dtypes in loops: with dilation, beyond the padding, and with the
// indices of maxima.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tenon/operator.hpp>
#include <vector>

#include "../../shared/order.hpp"
#include "pool.hpp"
#include "shared/store.hpp"

class PoolingLoops {
 public:
  PoolingLoops(const Window& window, const tenon::Shape& data, const tenon::Shape& output,
               bool channels_last)
      : planes_(data[0] * data[1]), channels_(data[1]), last_(channels_last) {
    for (int i = 0; i < window.axes; ++i) {
      const auto from = static_cast<std::size_t>(i),
                 to = static_cast<std::size_t>(3 - window.axes + i);
      axes_[to] = {data[i + 2],         output[i + 2],    window.kernel[from], window.stride[from],
                   window.dilate[from], window.pad[from], window.pad_end[from]};
    }
  }

  template <class T>
  void max_pool(const tenon::Call& call, const T* data, T* output, std::int64_t* indices,
                bool column_major) const {
    each_window(call, [&](std::int64_t plane, std::int64_t position, const Taps& taps) {
      T found = least<T>();
      const auto at = argmax(
          taps, [&](std::int64_t i) { return data[in(plane, i)]; }, found);
      if (output) output[out(plane, position)] = found;
      if (indices)
        indices[plane * positions() + position] =
            plane * size() + (column_major ? transposed(at) : at);
    });
  }

  template <class T>
  void average(const tenon::Call& call, const T* data, T* output, bool inside) const {
    each_window(call, [&](std::int64_t plane, std::int64_t position, const Taps& taps) {
      Wide<T> sum = 0;
      std::int64_t count = 0;
      each_tap(taps,
               [&](std::int64_t i) { sum += static_cast<Wide<T>>(data[in(plane, i)]), ++count; });
      const auto divisor = inside ? count : taps.counted;
      output[out(plane, position)] =
          T(divisor > 0 ? sum / static_cast<Wide<T>>(divisor) : Wide<T>(0));
    });
  }

  /// For plain tensors: each window's gradient goes to its first NaN or first maximum, or evenly to
  /// all elements.
  template <class T>
  void max_pool_back(const tenon::Call& call, const T* data, const T* dy, T* dx) const {
    each_plane_back(call, dx,
                    [&](std::int64_t plane, std::int64_t position, const Taps& taps, auto* sums) {
                      T found = least<T>();
                      if (taps.empty()) return;
                      sums[argmax(
                          taps, [&](std::int64_t i) { return data[in(plane, i)]; }, found)] +=
                          static_cast<Wide<T>>(dy[out(plane, position)]);
                    });
  }
  template <class T>
  void average_back(const tenon::Call& call, const T* dy, T* dx, bool inside) const {
    each_plane_back(
        call, dx, [&](std::int64_t plane, std::int64_t position, const Taps& taps, auto* sums) {
          const auto divisor = inside ? taps.count() : taps.counted;
          if (divisor == 0) return;
          const auto share =
              static_cast<Wide<T>>(dy[out(plane, position)]) / static_cast<Wide<T>>(divisor);
          each_tap(taps, [&](std::int64_t i) { sums[i] += share; });
        });
  }

 private:
  struct Axis {
    std::int64_t size = 1, positions = 1, kernel = 1, stride = 1, dilate = 1, pad = 0, pad_end = 0;
  };
  /// Elements of data covered by a window along each axis: first, first + dilate, ... before end.
  struct Taps {
    std::array<std::int64_t, 3> first, end, step;
    std::int64_t counted;  ///< number of elements inside data and its padding
    std::int64_t count() const {
      std::int64_t all = 1;
      for (std::size_t axis = 0; axis < 3; ++axis)
        all *= std::max<std::int64_t>((end[axis] - first[axis] + step[axis] - 1) / step[axis], 0);
      return all;
    }
    bool empty() const { return count() == 0; }
  };

  template <class T>
  static constexpr T least() {
    if constexpr (std::is_integral_v<T>)
      return std::numeric_limits<T>::min();
    else
      return T(-std::numeric_limits<float>::infinity());
  }

  std::int64_t size() const { return axes_[0].size * axes_[1].size * axes_[2].size; }
  std::int64_t positions() const {
    return axes_[0].positions * axes_[1].positions * axes_[2].positions;
  }
  std::int64_t in(std::int64_t plane, std::int64_t i) const { return index(plane, i, size()); }
  std::int64_t out(std::int64_t plane, std::int64_t i) const {
    return index(plane, i, positions());
  }
  std::int64_t index(std::int64_t plane, std::int64_t i, std::int64_t count) const {
    return last_ ? (plane / channels_ * count + i) * channels_ + plane % channels_
                 : plane * count + i;
  }
  std::int64_t transposed(std::int64_t i) const {
    const auto &a = axes_[0], &b = axes_[1], &c = axes_[2];
    return i / c.size / b.size + (i / c.size % b.size + i % c.size * b.size) * a.size;
  }

  Taps taps_of(std::int64_t position) const {
    Taps taps{};
    taps.counted = 1;
    for (std::size_t i = 3; i-- > 0;) {
      const auto& axis = axes_[i];
      const auto begin = position % axis.positions * axis.stride - axis.pad,
                 end = begin + (axis.kernel - 1) * axis.dilate + 1;
      position /= axis.positions;
      taps.step[i] = axis.dilate;
      taps.first[i] =
          begin < 0 ? begin + (-begin + axis.dilate - 1) / axis.dilate * axis.dilate : begin;
      taps.end[i] = std::min(end, axis.size);
      taps.counted *=
          (std::min(end, axis.size + axis.pad_end) - begin + axis.dilate - 1) / axis.dilate;
    }
    return taps;
  }

  template <class Body>
  void each_tap(const Taps& taps, const Body& body) const {
    for (auto a = taps.first[0]; a < taps.end[0]; a += taps.step[0])
      for (auto b = taps.first[1]; b < taps.end[1]; b += taps.step[1])
        for (auto c = taps.first[2]; c < taps.end[2]; c += taps.step[2])
          body((a * axes_[1].size + b) * axes_[2].size + c);
  }

  /// The position of the first NaN, or of the first maximum.
  template <class T, class Element>
  std::int64_t argmax(const Taps& taps, const Element& element, T& found) const {
    std::int64_t at = -1;
    each_tap(taps, [&](std::int64_t i) {
      const T value = element(i);
      const bool more = is_larger(value, found);
      at = more || at < 0 ? i : at;
      found = more ? value : found;
    });
    return at;
  }

  template <class Body>
  void each_window(const tenon::Call& call, const Body& body) const {
    const auto count = positions(), taps = axes_[0].kernel * axes_[1].kernel * axes_[2].kernel;
    call.parallel_for(planes_ * count, 1 + 8192 / taps, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) body(i / count, i % count, taps_of(i % count));
    });
  }

  template <class T, class Body>
  void each_plane_back(const tenon::Call& call, T* dx, const Body& body) const {
    call.parallel_for(planes_, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Wide<T>> sums(static_cast<std::size_t>(size()));
      for (auto plane = begin; plane < end; ++plane) {
        std::fill(sums.begin(), sums.end(), Wide<T>(0));
        for (std::int64_t position = 0; position < positions(); ++position)
          body(plane, position, taps_of(position), sums.data());
        for (std::int64_t i = 0; i < size(); ++i)
          dx[plane * size() + i] = T(sums[static_cast<std::size_t>(i)]);
      }
    });
  }

  std::int64_t planes_, channels_;
  bool last_;
  std::array<Axis, 3> axes_;
};
