// Implementation of sort() and scan(): CUB, or plain loops on simulated GPUs. Include it in exactly
// one source of a plugin that uses them, because CUB takes longer to compile than most plugins:
//
//     #include <tenon/gpu/sort_and_scan.hpp>  // the only line of sort_and_scan.cu
//     tenon_add_plugin(my_plugin SOURCES my_kernels.cu sort_and_scan.cu CUDA)  // in CMakeLists.txt
//
// If no source includes it, the linker reports undefined references to gpu::detail::sort_bytes and
// related functions; if two do, multiple definitions. Other sources include sort.hpp and scan.hpp,
// which have the functions that kernels call, with examples:
//
//     sort_bytes, scan_bytes    for sort_scratch() and scan_scratch(); they enqueue no work
//     sort_pairs                for sort(): stable, radix by radix
//     exclusive_sum             for scan(): exclusive sums, in place
//
// All functions here work on the current device and throw Error if CUDA fails. n: the number of
// items, possibly 0. temporary: `bytes` bytes of device memory, as returned by sort_bytes() and
// scan_bytes(); its content is undefined before and after.
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

/// Returns the number of bits of numbers from 0 to `max_key`, 1 to 63: CUB sorts only by these, in
/// time that grows with them.
inline int bits_of(std::int64_t max_key) {
  int bits = 1;
  while (bits < 63 && max_key >> bits != 0) ++bits;
  return bits;
}

#if defined(TENON_SIMULATED_CUDA)

/// The temporary memory of a simulated sort or scan. These loops do not need it but overwrite all
/// of it, so that a plugin that keeps data there gets wrong results in its tests, as it may on a
/// GPU.
struct Temporary {
  unsigned char* memory;
  std::size_t bytes;

  void use() const { std::fill_n(memory, bytes, static_cast<unsigned char>(0xdb)); }
};

/// A stable sort that, like CUB, compares only the bits of keys up to `max_key`: a larger or
/// negative key is placed by its low bits. One body call does all of it: for_each(call, 1, ...)
/// runs it in stream order.
struct SortPairs {
  std::int64_t n, max_key;
  Sorted from, to;
  Temporary temporary;

  void operator()(std::int64_t) const {
    temporary.use();
    const auto bits = (std::uint64_t{1} << bits_of(max_key)) - 1;
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::int64_t i = 0; i < n; ++i) pairs.emplace_back(from.keys[i], from.indices[i]);
    std::stable_sort(pairs.begin(), pairs.end(), [bits](const auto& left, const auto& right) {
      return (static_cast<std::uint64_t>(left.first) & bits) <
             (static_cast<std::uint64_t>(right.first) & bits);
    });
    for (std::int64_t i = 0; i < n; ++i)
      std::tie(to.keys[i], to.indices[i]) = pairs[static_cast<std::size_t>(i)];
  }
};

/// Exclusive sums in place: 2, 3, 4 become 0, 2, 5.
struct SequentialScan {
  std::int64_t n;
  std::int64_t* numbers;
  Temporary temporary;

  void operator()(std::int64_t) const {
    temporary.use();
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exchange(numbers[i], sum);
  }
};

/// The size depends on n and most, so that tests detect scratch of a wrong size.
std::size_t sort_bytes(std::int64_t n, std::int64_t max_key) {
  return static_cast<std::size_t>(bits_of(max_key) + n / 2);
}

/// The result is always in `spare`, whereas CUB may end in either: a kernel that relies on one of
/// them is wrong.
Sorted sort_pairs(const Call& call, std::int64_t n, std::int64_t max_key, Sorted from, Sorted spare,
                  void* temporary, std::size_t bytes) {
  for_each(call, 1,
           SortPairs{n, max_key, from, spare, {static_cast<unsigned char*>(temporary), bytes}});
  return spare;
}

/// At least 1 byte, as with CUB, so that a plugin must allocate it.
std::size_t scan_bytes(std::int64_t n) {
  return static_cast<std::size_t>(1 + n / 100);
}

void exclusive_sum(const Call& call, std::int64_t n, std::int64_t* numbers, void* temporary,
                   std::size_t bytes) {
  for_each(call, 1, SequentialScan{n, numbers, {static_cast<unsigned char*>(temporary), bytes}});
}

#else

/// CUB's double buffer of keys, between which CUB may sort back and forth. The keys are
/// nonnegative, and unsigned, so that CUB need not flip their sign bit.
inline cub::DoubleBuffer<std::uint64_t> keys_in(Sorted from, Sorted spare) {
  return {reinterpret_cast<std::uint64_t*>(from.keys),
          reinterpret_cast<std::uint64_t*>(spare.keys)};
}

/// Uses CUB's own size: a call with null as temporary memory sorts nothing and sets `bytes`.
std::size_t sort_bytes(std::int64_t n, std::int64_t max_key) {
  std::size_t bytes = 0;
  auto keys = keys_in({}, {});
  cub::DoubleBuffer<std::int64_t> indices;
  require(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, indices, n, 0, bits_of(max_key)));
  return bytes;
}

/// Returns the buffer that CUB ended in: `from` after an even number of passes, `spare` after an
/// odd one.
Sorted sort_pairs(const Call& call, std::int64_t n, std::int64_t max_key, Sorted from, Sorted spare,
                  void* temporary, std::size_t bytes) {
  auto keys = keys_in(from, spare);
  cub::DoubleBuffer<std::int64_t> indices(from.indices, spare.indices);
  require(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, indices, n, 0, bits_of(max_key),
                                          stream_of(call)));
  return {reinterpret_cast<std::int64_t*>(keys.Current()), {indices.Current()}};
}

/// Converts n to the type in which CUB counts items: int before its version 2.7, of CUDA 12.8.
/// Throws Error if n does not fit, instead of summing some of the items.
inline auto items(std::int64_t n) {
#if CUB_VERSION < 200700
  if (n > std::numeric_limits<int>::max())
    throw Error("sums of " + std::to_string(n) +
                " numbers need a plugin built with CUDA 12.8 or later; the maximum of this one is "
                "2^31 - 1");
  return static_cast<int>(n);
#else
  return n;
#endif
}

/// Uses CUB's own size, from a call with null as temporary memory, which sums nothing.
std::size_t scan_bytes(std::int64_t n) {
  std::size_t bytes = 0;
  std::int64_t* const numbers = nullptr;
  require(cub::DeviceScan::ExclusiveSum(nullptr, bytes, numbers, numbers, items(n)));
  return bytes;
}

/// In place, on the call's stream. Integer sums are exact, so their order does not matter.
void exclusive_sum(const Call& call, std::int64_t n, std::int64_t* numbers, void* temporary,
                   std::size_t bytes) {
  require(
      cub::DeviceScan::ExclusiveSum(temporary, bytes, numbers, numbers, items(n), stream_of(call)));
}

#endif

}  // namespace tenon::TENON_SDK::gpu::detail
#pragma GCC visibility pop
