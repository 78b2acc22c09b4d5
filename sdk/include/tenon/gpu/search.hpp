// Finding a number in a sorted list, from the body of a CUDA kernel.
#pragma once
#include <cstdint>

#include "../fn.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// The first place of an ascending list whose number is `number` or more; `count` where there is none.
TENON_FN inline std::int64_t first_not_below(const std::int64_t* list, std::int64_t count, std::int64_t number) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    if (list[middle] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// The place of `number` in an ascending list, the first one where it comes again; -1 where it is not in it.
TENON_FN inline std::int64_t place_of(const std::int64_t* list, std::int64_t count, std::int64_t number) {
  const auto place = first_not_below(list, count, number);
  return place < count && list[place] == number ? place : -1;
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
