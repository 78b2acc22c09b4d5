// Convolution in float64 on the CPU, with plain loops: for models in float64, which are rare.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <tenon/operator.hpp>

#include "shared/window.hpp"

/// The three products of a convolution. data is [batch, channels, elements], output [batch,
/// filters, positions], weight [filters, channels / groups, taps], all contiguous.
class DoubleConvolution {
 public:
  static constexpr const char* name = "plain loops in float64";

  DoubleConvolution(const Window& window, const tenon::Shape& data, const tenon::Shape& output,
                    std::int64_t groups)
      : batch_(data[0]),
        channels_(data[1]),
        filters_(output[1]),
        depth_(data[1] / groups),
        group_filters_(output[1] / groups) {
    for (int i = 0; i < window.axes; ++i) {
      const auto from = static_cast<std::size_t>(i),
                 to = static_cast<std::size_t>(3 - window.axes + i);
      axes_[to] = {data[i + 2],         output[i + 2],    window.kernel[from],
                   window.stride[from], window.pad[from], window.dilate[from]};
    }
  }

  /// bias: may be null. `last`: data and output are channels-last.
  void output(const tenon::Call& call, const double* data, const double* weight, const double* bias,
              double* to, bool last = false) const {
    const auto positions = count(&Axis::positions), elements = count(&Axis::size);
    const auto data_step = last ? channels_ : 1, step = last ? filters_ : 1;
    call.parallel_for(batch_ * filters_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto plane = begin; plane < end; ++plane) {
        const auto filter = plane % filters_, sample = plane / filters_;
        double* const sums =
            to + (last ? sample * filters_ * positions + filter : plane * positions);
        for (std::int64_t i = 0; i < positions; ++i) sums[i * step] = bias ? bias[filter] : 0.0;
        for (std::int64_t c = 0; c < depth_; ++c) {
          const auto channel = filter / group_filters_ * depth_ + c;
          const auto* const from =
              data + sample * channels_ * elements + (last ? channel : channel * elements);
          const auto* const taken = weight + (filter * depth_ + c) * taps();
          each_tap([&](std::int64_t tap, std::int64_t position, std::int64_t element) {
            sums[position * step] += from[element * data_step] * taken[tap];
          });
        }
      }
    });
  }

  void data_gradient(const tenon::Call& call, const double* dy, const double* weight,
                     double* dx) const {
    const auto positions = count(&Axis::positions), elements = count(&Axis::size);
    call.parallel_for(batch_ * channels_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto plane = begin; plane < end; ++plane) {
        const auto channel = plane % channels_, first = channel / depth_ * group_filters_;
        double* const sums = dx + plane * elements;
        std::fill_n(sums, elements, 0.0);
        for (auto filter = first; filter < first + group_filters_; ++filter) {
          const auto* const from = dy + (plane / channels_ * filters_ + filter) * positions;
          const auto* const taken = weight + (filter * depth_ + channel % depth_) * taps();
          each_tap([&](std::int64_t tap, std::int64_t position, std::int64_t element) {
            sums[element] += from[position] * taken[tap];
          });
        }
      }
    });
  }

  void weight_gradient(const tenon::Call& call, const double* data, const double* dy,
                       double* dw) const {
    const auto positions = count(&Axis::positions), elements = count(&Axis::size);
    call.parallel_for(filters_ * depth_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) {
        const auto filter = row / depth_;
        double* const sums = dw + row * taps();
        std::fill_n(sums, taps(), 0.0);
        for (std::int64_t sample = 0; sample < batch_; ++sample) {
          const auto* const from = data + channel_of(sample, filter, row % depth_) * elements;
          const auto* const factor = dy + (sample * filters_ + filter) * positions;
          each_tap([&](std::int64_t tap, std::int64_t position, std::int64_t element) {
            sums[tap] += from[element] * factor[position];
          });
        }
      }
    });
  }

 private:
  struct Axis {
    std::int64_t size = 1, positions = 1, kernel = 1, stride = 1, pad = 0, dilate = 1;

    /// The element that a tap reads at a position; negative in the padding.
    std::int64_t element(std::int64_t position, std::int64_t tap) const {
      const auto at = position * stride - pad + tap * dilate;
      return at < size ? at : -1;
    }
  };

  std::int64_t count(std::int64_t Axis::*number) const {
    return axes_[0].*number * axes_[1].*number * axes_[2].*number;
  }
  std::int64_t taps() const { return count(&Axis::kernel); }
  std::int64_t channel_of(std::int64_t sample, std::int64_t filter, std::int64_t c) const {
    return sample * channels_ + filter / group_filters_ * depth_ + c;
  }

  /// Calls body(tap, position, element) for all elements that a window reads.
  template <class Body>
  void each_tap(const Body& body) const {
    each(axes_[0], 0, 0, 0, [&](std::int64_t t0, std::int64_t p0, std::int64_t e0) {
      each(axes_[1], t0, p0, e0, [&](std::int64_t t1, std::int64_t p1, std::int64_t e1) {
        each(axes_[2], t1, p1, e1, body);
      });
    });
  }
  /// The indices of one more axis; tap, position and element are those of the axes before it.
  template <class Body>
  static void each(const Axis& axis, std::int64_t tap, std::int64_t position, std::int64_t element,
                   const Body& body) {
    for (std::int64_t t = 0; t < axis.kernel; ++t)
      for (std::int64_t p = 0; p < axis.positions; ++p)
        if (const auto e = axis.element(p, t); e >= 0)
          body(tap * axis.kernel + t, position * axis.positions + p, element * axis.size + e);
  }

  std::array<Axis, 3> axes_{};
  std::int64_t batch_, channels_, filters_, depth_, group_filters_;
};

/// Adds each filter's bias to its planes of y, [batch, filters, ...].
inline void add_filter_bias(const tenon::Call& call, const double* bias,
                            const tenon::View<double>& y) {
  const auto filters = y.dim(1), size = y.size() / std::max<std::int64_t>(y.dim(0) * filters, 1);
  call.parallel_for(y.size() == 0 ? 0 : y.size() / size, 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto plane = begin; plane < end; ++plane)
                        for (std::int64_t i = 0; i < size; ++i)
                          y[plane * size + i] += bias[plane % filters];
                    });
}

/// db[filter] = the sum of dy, [batch, filters, ...], over its planes.
inline void sum_filter_bias(const tenon::Call& call, const tenon::View<const double>& dy,
                            double* db) {
  const auto filters = dy.dim(1), size = dy.size() / std::max<std::int64_t>(dy.dim(0) * filters, 1);
  call.parallel_for(filters, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto filter = begin; filter < end; ++filter) {
      double sum = 0;
      for (std::int64_t sample = 0; sample < dy.dim(0); ++sample)
        for (std::int64_t i = 0; i < size; ++i) sum += dy[(sample * filters + filter) * size + i];
      db[filter] = sum;
    }
  });
}
