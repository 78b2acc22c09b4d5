// SIMD accumulators for loops inside tenon::wide. The order of the additions depends only on the
// positions of the numbers, so the bits are the same for all vector widths.
#pragma once
#include <cstdint>
#include <cstring>

/// Partial sums in vector registers.
template <class W>
class Lanes {
 public:
  static constexpr std::int64_t narrow = 32 / sizeof(W), step = 4 * narrow;

  /// Adds `step` numbers.
  [[gnu::always_inline]] void add(const W* from) {
    add_to(first_, from);
    add_to(second_, from + narrow);
    add_to(third_, from + 2 * narrow);
    add_to(fourth_, from + 3 * narrow);
  }
  /// Adds `narrow` numbers.
  [[gnu::always_inline]] void add_narrow(const W* from) { add_to(first_, from); }

  [[gnu::always_inline]] W sum() const {
    Vector left = first_, right = second_;
    left += third_;
    right += fourth_;
    left += right;
    if constexpr (narrow == 8) {
      left += __builtin_shufflevector(left, left, 4, 5, 6, 7, 0, 1, 2, 3);
      left += __builtin_shufflevector(left, left, 2, 3, 0, 1, 6, 7, 4, 5);
      left += __builtin_shufflevector(left, left, 1, 0, 3, 2, 5, 4, 7, 6);
    } else {
      left += __builtin_shufflevector(left, left, 2, 3, 0, 1);
      left += __builtin_shufflevector(left, left, 1, 0, 3, 2);
    }
    return left[0];
  }

 private:
  typedef W Vector __attribute__((vector_size(32)));

  [[gnu::always_inline]] static void add_to(Vector& into, const W* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    into += vector;
  }

  Vector first_{}, second_{}, third_{}, fourth_{};
};

/// Returns the sum of term(0) ... term(n - 1), computed in W. Terms are functions of an index that
/// capture by value.
template <class W, class Term>
[[gnu::always_inline]] inline W sum_of(std::int64_t n, const Term& term) {
  constexpr auto step = Lanes<W>::step;
  Lanes<W> lanes;
  std::int64_t i = 0;
  for (; i + step <= n; i += step) {
    W terms[step];
    for (std::int64_t k = 0; k < step; ++k) terms[k] = static_cast<W>(term(i + k));
    lanes.add(terms);
  }
  W total = lanes.sum(), rest[4] = {};
  for (; i + 4 <= n; i += 4)
    for (std::int64_t k = 0; k < 4; ++k) rest[k] += static_cast<W>(term(i + k));
  for (; i < n; ++i) rest[0] += static_cast<W>(term(i));
  return total + ((rest[0] + rest[2]) + (rest[1] + rest[3]));
}

/// Returns the maximum of `least` and term(0) ... term(n - 1), ignoring NaNs.
template <class W, class Term>
[[gnu::always_inline]] inline W max_of(std::int64_t n, W least, const Term& term) {
  constexpr std::int64_t step = 32;
  std::int64_t i = 0;
  W result = least;
  if (n >= step) {
    W lane[step];
    for (std::int64_t k = 0; k < step; ++k) lane[k] = least;
    for (; i + step <= n; i += step)
      for (std::int64_t k = 0; k < step; ++k)
        lane[k] = lane[k] < static_cast<W>(term(i + k)) ? static_cast<W>(term(i + k)) : lane[k];
    for (std::int64_t k = 0; k < 16; ++k) lane[k] = lane[k] < lane[k + 16] ? lane[k + 16] : lane[k];
    for (std::int64_t k = 0; k < 8; ++k) lane[k] = lane[k] < lane[k + 8] ? lane[k + 8] : lane[k];
    for (std::int64_t k = 0; k < 8; ++k) result = result < lane[k] ? lane[k] : result;
  }
  for (; i < n; ++i) result = result < static_cast<W>(term(i)) ? static_cast<W>(term(i)) : result;
  return result;
}
