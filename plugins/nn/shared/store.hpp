// Stores a result in the requested write mode.
#pragma once
#include <tenon/operator.hpp>
#include <type_traits>

/// The type of the computation for elements of type T: double for double, otherwise float.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Sets `to` to `value`, or adds it. A sum in double is rounded once.
template <class T, class Value>
TENON_FN void store(tenon::Write write, T& to, Value value) {
  if (write == tenon::Write::add)
    to = T(Wide<T>(to) + value);
  else if (write != tenon::Write::none)
    to = T(value);
}
