// How two results become one, and in which type.
#pragma once
#include <limits>
#include <tenon/operator.hpp>
#include <type_traits>

template <class T>
constexpr bool is_floating = std::is_floating_point_v<T> || tenon::is_half<T>;

/// What elements are compared in: themselves; halves as float.
template <class T>
using Plain = std::conditional_t<tenon::is_half<T>, float, T>;

/// What elements are added in: integers without a sign, so that they wrap around as int64.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Plain<T>>;

template <class A>
struct Plus {
  using Acc = A;
  TENON_FN static Acc identity() { return 0; }
  TENON_FN static Acc merge(Acc l, Acc r) { return l + r; }
};

// Variables, which device code may use where it may not call the functions.
template <class A>
inline constexpr A lowest = std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
template <class A>
inline constexpr A highest = std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();

/// The larger one; nan where either is nan.
template <class A>
struct Larger {
  using Acc = A;
  TENON_FN static Acc identity() { return lowest<A>; }
  TENON_FN static Acc merge(Acc l, Acc r) { return ((r > l) | (r != r)) ? r : l; }
};

/// The smaller one; nan where either is nan.
template <class A>
struct Smaller {
  using Acc = A;
  TENON_FN static Acc identity() { return highest<A>; }
  TENON_FN static Acc merge(Acc l, Acc r) { return ((r < l) | (r != r)) ? r : l; }
};
