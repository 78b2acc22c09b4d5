// Division by a number that is the same for all threads of a kernel. A GPU has no instruction for
// division: 32 bits take some 20 instructions, 64 bits some 70. With a divisor prepared on the
// host, a multiplication and a shift suffice.
#pragma once
#include <bit>
#include <cstdint>

#include "../fn.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// The result of divide(): n = quotient * divisor + rest.
template <class Index>
struct Divided {
  Index quotient, rest;
};

/// A divisor of indices, created on the host. It is trivially copyable, for bodies of for_each().
///
/// divide() of an int32_t n >= 0 is exact for every divisor d: with l = ceil(log2 d) and m =
/// ceil(2^(31 + l) / d), 0 <= m d - 2^(31 + l) < 2^l and n < 2^31, so n m / 2^(31 + l) and n / d
/// have the same integer part (Granlund, Montgomery, "Division by invariant integers using
/// multiplication", 1994, theorem 4.2; Warren, "Hacker's Delight", chapter 10). divide() of an
/// int64_t uses a plain division.
///
/// Example:
///
///     struct ScaleRows {
///       const float *x, *scales;
///       float* y;
///       tenon::gpu::Divisor columns;
///       TENON_FN void operator()(std::int64_t i) const {
///         y[i] = x[i] * scales[columns.divide(static_cast<std::int32_t>(i)).quotient];
///       }
///     };
class Divisor {
 public:
  /// Divides by 1.
  Divisor() = default;
  /// Numbers below 1 count as 1: an empty axis has no index to divide.
  explicit Divisor(std::int64_t number) : number_(number < 1 ? 1 : number) {
    multiplier_ = 0;
    if (number_ > INT32_MAX) return;  // the quotient of any int32_t is 0
    const auto divisor = static_cast<std::uint64_t>(number_);
    shift_ = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    multiplier_ =
        static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + shift_)) + divisor - 1) / divisor);
  }

  TENON_FN std::int64_t number() const { return number_; }

  TENON_FN Divided<std::int32_t> divide(std::int32_t n) const {
    const auto twice =
        static_cast<std::uint32_t>(n) * 2;  // so that the result is the upper half of the product
    const auto high = static_cast<std::uint32_t>(std::uint64_t{twice} * multiplier_ >> 32);
    const auto quotient = static_cast<std::int32_t>(high >> shift_);
    return {quotient, n - quotient * static_cast<std::int32_t>(number_)};
  }
  TENON_FN Divided<std::int64_t> divide(std::int64_t n) const {
    const auto quotient = n / number_;
    return {quotient, n - quotient * number_};
  }

 private:
  friend class RowMajor;

  std::int64_t number_ = 1;
  std::uint32_t multiplier_ = std::uint32_t{1} << 31, shift_ = 0;
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
