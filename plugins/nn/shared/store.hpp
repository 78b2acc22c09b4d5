// Writing one result the way the host asked for it.
#pragma once
#include <tenon/operator.hpp>
#include <type_traits>

/// What numbers of type T are computed in: double for double, float for all others.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Puts `value` into `to`, or adds it there. A sum in double is rounded once.
template <class T, class Value>
TENON_FN void store(tenon::Write write, T& to, Value value) {
  if (write == tenon::Write::add)
    to = T(Wide<T>(to) + value);
  else if (write != tenon::Write::none)
    to = T(value);
}
