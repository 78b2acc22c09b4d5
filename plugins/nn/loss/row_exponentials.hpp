// Vectorized exponentials of a contiguous row on the CPU and their sum; for use inside of
// tenon::wide.
#pragma once
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <tenon/wide.hpp>
#include <type_traits>

#include "../../shared/lanes.hpp"
#include "exponentials.hpp"

template <class T>
class RowExponentials {
 public:
  using W = Wide<T>;
  RowExponentials(const T* x, std::int64_t length) : x_(x), length_(length) {}

  /// The row's maximum; -infinity if it is empty. NaN is ignored.
  [[gnu::always_inline]] W maximum() const {
    return max_of<W>(length_, below_all<T>, [x = x_](std::int64_t i) { return W(x[i]); });
  }

  /// The sum of exp(x - largest). With `keep`, the exponential of element i is stored in to[i];
  /// `to` may be x itself.
  template <bool keep>
  [[gnu::always_inline]] W sum(W maximum, W* to) const {
    constexpr auto step = Lanes<W>::step, narrow = Lanes<W>::narrow;
    Lanes<W> lanes;
    W own[step];
    std::int64_t i = 0;
    for (; i + step <= length_; i += step) lanes.add(put<step>(i, maximum, keep ? to + i : own));
    for (; i + narrow <= length_; i += narrow)
      lanes.add_narrow(put<narrow>(i, maximum, keep ? to + i : own));
    W total = lanes.sum();
    for (; i < length_; ++i) {
      const W e = exponential(W(x_[i]) - maximum);
      total += e;
      if constexpr (keep) to[i] = e;
    }
    return total;
  }

 private:
  /// Stores the exponentials of `count` elements from i on in `to`.
  template <std::int64_t count>
  [[gnu::always_inline]] const W* put(std::int64_t i, W maximum, W* to) const {
    const T* const x = x_ + i;
    TENON_INDEPENDENT
    for (std::int64_t k = 0; k < count; ++k) to[k] = exponential(W(x[k]) - maximum);
    return to;
  }

  static W exponential(W distance) {
    if constexpr (std::is_same_v<W, float>)
      return tenon::elementwise::vector_exp_below_zero(distance);
    else
      return std::exp(distance);
  }

  const T* x_;
  std::int64_t length_;
};
