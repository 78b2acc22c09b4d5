// The exponentials of a row of contiguous elements on the CPU, made and summed in vectors: inside of tenon::wide. Sums are made in 16 lanes
// and then pairwise, whatever the vectors' width, so that all machines get the same bits.
#pragma once
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <tenon/wide.hpp>
#include <type_traits>

#include "exponentials.hpp"

template <class T>
class RowExponentials {
 public:
  using W = Wide<T>;
  RowExponentials(const T* x, std::int64_t length) : x_(x), length_(length) {}

  /// The row's largest element; -infinity where there is none. NaN is passed over.
  W largest() const {
    W lane[lanes];
    for (auto& value : lane) value = below_all<T>;
    std::int64_t i = 0;
    for (; i + lanes <= length_; i += lanes)
      for (std::int64_t k = 0; k < lanes; ++k) keep_larger(lane[k], W(x_[i + k]));
    for (std::int64_t k = 0; k < length_ - i; ++k) keep_larger(lane[k], W(x_[i + k]));
    for (std::int64_t half = lanes / 2; half > 0; half /= 2)
      for (std::int64_t k = 0; k < half; ++k) keep_larger(lane[k], lane[k + half]);
    return lane[0];
  }

  /// The sum of exp(x - largest). Where `keep`, to[i] becomes the exponential of element i; `to` may be x itself.
  template <bool keep>
  W sum(W largest, W* to) const {
    W lane[lanes], e[lanes];
    for (auto& value : lane) value = 0;
    std::int64_t i = 0;
    for (; i + lanes <= length_; i += lanes) {
      for (std::int64_t k = 0; k < lanes; ++k) e[k] = exponential(W(x_[i + k]) - largest);
      for (std::int64_t k = 0; k < lanes; ++k) lane[k] += e[k];
      if constexpr (keep)
        for (std::int64_t k = 0; k < lanes; ++k) to[i + k] = e[k];
    }
    if (const auto rest = length_ - i; rest > 0) {
      W distance[lanes];
      for (auto& value : distance) value = below_all<T>;  // of which the exponential is 0
      for (std::int64_t k = 0; k < rest; ++k) distance[k] = W(x_[i + k]) - largest;
      for (std::int64_t k = 0; k < lanes; ++k) e[k] = exponential(distance[k]);
      for (std::int64_t k = 0; k < lanes; ++k) lane[k] += e[k];
      if constexpr (keep)
        for (std::int64_t k = 0; k < rest; ++k) to[i + k] = e[k];
    }
    for (std::int64_t half = lanes / 2; half > 0; half /= 2)
      for (std::int64_t k = 0; k < half; ++k) lane[k] += lane[k + half];
    return lane[0];
  }

 private:
  static constexpr std::int64_t lanes = 16;

  static void keep_larger(W& most, W value) { most = most < value ? value : most; }
  static W exponential(W distance) {
    if constexpr (std::is_same_v<W, float>)
      return tenon::elementwise::vector_exp_below_zero(distance);
    else
      return std::exp(distance);
  }

  const T* x_;
  std::int64_t length_;
};
