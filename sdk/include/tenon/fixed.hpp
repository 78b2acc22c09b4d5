// The lists of a Description, which exist at compile time. For the SDK.
//
// A constant of the compiler may own no memory, so that std::vector is none. A list that is full keeps what it has and notes the rest:
//
//     Fixed<int, 2> list;
//     list.push(1), list.push(2), list.push(3);
//     list.size      // 2
//     list.overflow  // true: checks.hpp turns it into a sentence of the compiler's
#pragma once
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// An array that grows up to N. One that was asked to hold more stays full and says so.
template <class T, int N>
struct Fixed {
  static constexpr int capacity = N;
  T items[N] = {};
  int size = 0;
  bool overflow = false;  ///< more than N were pushed

  /// The item where it now lies; if there is no room, the last one, so that describe() can go on.
  constexpr T& push(const T& item) {
    if (size == N) {
      overflow = true;
      return items[N - 1];
    }
    return items[size++] = item;
  }
  // Those that were pushed, in their order.
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + size; }
  constexpr const T& operator[](int i) const { return items[i]; }
  constexpr T& operator[](int i) { return items[i]; }
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
