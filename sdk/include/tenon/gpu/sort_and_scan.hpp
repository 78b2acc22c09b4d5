// What sort() and scan() call: CUB, and on simulated GPUs plain loops. Included by one source of a plugin that uses them, for CUB takes the
// compiler longer than most plugins.
#pragma once
#include "../version.hpp"
#include "scan.hpp"
#include "sort.hpp"

#if defined(TENON_SIMULATED_CUDA)
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>
#else
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <limits>
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu::detail {

inline int bits_of(std::int64_t most) {
  int bits = 1;
  while (bits < 63 && most >> bits != 0) ++bits;
  return bits;
}

#if defined(TENON_SIMULATED_CUDA)

/// Written all over, so that scratch which others use, too, is found.
struct Temporary {
  unsigned char* memory;
  std::size_t bytes;

  void use() const { std::fill_n(memory, bytes, static_cast<unsigned char>(0xdb)); }
};

/// By the bits that keys of `most` have, and no others.
struct SortPairs {
  std::int64_t n, most;
  Sorted from, to;
  Temporary temporary;

  void operator()(std::int64_t) const {
    temporary.use();
    const auto bits = (std::uint64_t{1} << bits_of(most)) - 1;
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::int64_t i = 0; i < n; ++i) pairs.emplace_back(from.keys[i], from.places[i]);
    std::stable_sort(pairs.begin(), pairs.end(), [bits](const auto& left, const auto& right) {
      return (static_cast<std::uint64_t>(left.first) & bits) < (static_cast<std::uint64_t>(right.first) & bits);
    });
    for (std::int64_t i = 0; i < n; ++i) std::tie(to.keys[i], to.places[i]) = pairs[static_cast<std::size_t>(i)];
  }
};

struct SumBefore {
  std::int64_t n;
  std::int64_t* numbers;
  Temporary temporary;

  void operator()(std::int64_t) const {
    temporary.use();
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exchange(numbers[i], sum);
  }
};

std::size_t sort_bytes(std::int64_t n, std::int64_t most) {
  return static_cast<std::size_t>(bits_of(most) + n / 2);
}

Sorted sort_pairs(const Call& call, std::int64_t n, std::int64_t most, Sorted from, Sorted spare, void* temporary, std::size_t bytes) {
  for_each(call, 1, SortPairs{n, most, from, spare, {static_cast<unsigned char*>(temporary), bytes}});
  return spare;
}

std::size_t scan_bytes(std::int64_t n) {
  return static_cast<std::size_t>(1 + n / 100);
}

void sum_before(const Call& call, std::int64_t n, std::int64_t* numbers, void* temporary, std::size_t bytes) {
  for_each(call, 1, SumBefore{n, numbers, {static_cast<unsigned char*>(temporary), bytes}});
}

#else

/// CUB's buffers: the keys are not negative, and as unsigned numbers their highest bit needs no turning.
inline cub::DoubleBuffer<std::uint64_t> keys_in(Sorted from, Sorted spare) {
  return {reinterpret_cast<std::uint64_t*>(from.keys), reinterpret_cast<std::uint64_t*>(spare.keys)};
}

std::size_t sort_bytes(std::int64_t n, std::int64_t most) {
  std::size_t bytes = 0;
  auto keys = keys_in({}, {});
  cub::DoubleBuffer<std::int64_t> places;
  require(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, places, n, 0, bits_of(most)));
  return bytes;
}

Sorted sort_pairs(const Call& call, std::int64_t n, std::int64_t most, Sorted from, Sorted spare, void* temporary, std::size_t bytes) {
  auto keys = keys_in(from, spare);
  cub::DoubleBuffer<std::int64_t> places(from.places, spare.places);
  require(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, places, n, 0, bits_of(most), stream_of(call)));
  return {reinterpret_cast<std::int64_t*>(keys.Current()), places.Current()};
}

/// As the number of items: CUB counts them in int before its version 2.7, of CUDA 12.8.
inline auto items(std::int64_t n) {
#if CUB_VERSION < 200700
  if (n > std::numeric_limits<int>::max())
    throw Error("sums of " + std::to_string(n) + " numbers need a plugin built with CUDA 12.8 or later; this one takes 2^31 - 1");
  return static_cast<int>(n);
#else
  return n;
#endif
}

std::size_t scan_bytes(std::int64_t n) {
  std::size_t bytes = 0;
  std::int64_t* const numbers = nullptr;
  require(cub::DeviceScan::ExclusiveSum(nullptr, bytes, numbers, numbers, items(n)));
  return bytes;
}

void sum_before(const Call& call, std::int64_t n, std::int64_t* numbers, void* temporary, std::size_t bytes) {
  require(cub::DeviceScan::ExclusiveSum(temporary, bytes, numbers, numbers, items(n), stream_of(call)));
}

#endif

}  // namespace tenon::TENON_SDK::gpu::detail
#pragma GCC visibility pop
