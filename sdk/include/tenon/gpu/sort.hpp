// Sorting on a device, with the same result every time: equals keep their order.
#pragma once
#include <cstdint>
#include <utility>

#include "launch.hpp"

namespace tenon::gpu {

/// Numbers in ascending order, and where each of them stood before.
struct Sorted {
  std::int64_t *keys, *places;
};

namespace detail {

inline constexpr std::int64_t first_run = 8;

template <class Key>
struct SortRun {
  Key key;
  std::int64_t n;
  Sorted to;

  TENON_FN void operator()(std::int64_t run) const {
    const std::int64_t begin = run * first_run, end = begin + first_run < n ? begin + first_run : n;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t own = key(i);
      std::int64_t at = i;
      for (; at > begin && to.keys[at - 1] > own; --at) {
        to.keys[at] = to.keys[at - 1];
        to.places[at] = to.places[at - 1];
      }
      to.keys[at] = own;
      to.places[at] = i;
    }
  }
};

/// Each element finds its place by how many of the other run come before it.
struct MergeRuns {
  Sorted from, to;
  std::int64_t n, run;

  TENON_FN void operator()(std::int64_t i) const {
    const std::int64_t pair = i / (2 * run) * (2 * run), middle = pair + run;
    const bool second = i >= middle;
    const std::int64_t own = from.keys[i], other = up_to_n(second ? pair : middle);
    std::int64_t low = other, high = up_to_n(second ? middle : pair + 2 * run);
    while (low < high) {
      const std::int64_t half = low + (high - low) / 2;
      if (second ? from.keys[half] <= own : from.keys[half] < own)
        low = half + 1;
      else
        high = half;
    }
    const std::int64_t at = pair + (i - (second ? middle : pair)) + (low - other);
    to.keys[at] = own;
    to.places[at] = from.places[i];
  }

 private:
  TENON_FN std::int64_t up_to_n(std::int64_t i) const { return i < n ? i : n; }
};

}  // namespace detail

/// How many numbers of scratch sort() needs for n of them; the result lies in it.
constexpr std::int64_t sort_scratch(std::int64_t n) {
  return 4 * n;
}

/// key(0) ... key(n - 1) sorted, on the call's stream: merge sort. Key is a trivially copyable class with
/// `TENON_FN std::int64_t operator()(std::int64_t i) const`, which is asked once for each i. Throws Error.
template <class Key>
Sorted sort(const Call& call, std::int64_t n, const Key& key, std::int64_t* scratch) {
  Sorted from{scratch, scratch + n}, to{scratch + 2 * n, scratch + 3 * n};
  for_each(call, (n + detail::first_run - 1) / detail::first_run, detail::SortRun<Key>{key, n, from});
  for (std::int64_t run = detail::first_run; run < n; run *= 2) {
    for_each(call, n, detail::MergeRuns{from, to, n, run});
    std::swap(from, to);
  }
  return from;
}

}  // namespace tenon::gpu
