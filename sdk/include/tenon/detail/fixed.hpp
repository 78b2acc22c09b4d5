// The lists of a Description, which exist at compile time. For the SDK.
//
// A constant expression cannot own memory, which rules out std::vector. A list that is full drops
// further items and sets a flag:
//
//     Fixed<int, 2> list;
//     list.push(1), list.push(2), list.push(3);
//     list.size      // 2
//     list.overflow  // true: checks.hpp turns it into a compile error
#pragma once
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// An array that grows up to N items. Further items set `overflow`.
template <class T, int N>
struct Fixed {
  static constexpr int capacity = N;
  T items[N] = {};
  int size = 0;
  bool overflow = false;  ///< more than N were pushed

  /// Returns the stored item or, if the list is full, the last one, so that describe() can go on.
  constexpr T& push(const T& item) {
    if (size == N) {
      overflow = true;
      return items[N - 1];
    }
    return items[size++] = item;
  }
  // The items in the order in which they were pushed.
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + size; }
  constexpr const T& operator[](int i) const { return items[i]; }
  constexpr T& operator[](int i) { return items[i]; }
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
