// Merge rules of reductions, and their accumulator types.
#pragma once
#include <limits>
#include <tenon/operator.hpp>
#include <type_traits>

template <class T>
constexpr bool is_floating = std::is_floating_point_v<T> || tenon::is_half<T>;

/// The type in which elements are compared: T, or float for 16-bit floats.
template <class T>
using Plain = std::conditional_t<tenon::is_half<T>, float, T>;

/// The type in which elements are added: integers are added unsigned, so that they wrap around like
/// int64.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Plain<T>>;

template <class A>
struct Plus {
  using Acc = A;
  TENON_FN static Acc identity() { return 0; }
  TENON_FN static Acc merge(Acc l, Acc r) { return l + r; }
};

// Variables, because device code cannot call numeric_limits' functions.
template <class A>
inline constexpr A lowest = std::numeric_limits<A>::has_infinity
                                ? -std::numeric_limits<A>::infinity()
                                : std::numeric_limits<A>::lowest();
template <class A>
inline constexpr A highest = std::numeric_limits<A>::has_infinity
                                 ? std::numeric_limits<A>::infinity()
                                 : std::numeric_limits<A>::max();

/// The maximum; nan if either is nan.
template <class A>
struct Larger {
  using Acc = A;
  TENON_FN static Acc identity() { return lowest<A>; }
  TENON_FN static Acc merge(Acc l, Acc r) { return ((r > l) | (r != r)) ? r : l; }
};

/// The minimum; nan if either is nan.
template <class A>
struct Smaller {
  using Acc = A;
  TENON_FN static Acc identity() { return highest<A>; }
  TENON_FN static Acc merge(Acc l, Acc r) { return ((r < l) | (r != r)) ? r : l; }
};
