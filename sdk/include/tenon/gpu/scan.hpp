// Running sums on a device.
#pragma once
#include <cstdint>

#include "launch.hpp"

namespace tenon::gpu {

namespace detail {

inline constexpr std::int64_t scan_chunk = 8 * block_threads;

template <class Count>
struct ChunkTotal {
  Count count;
  std::int64_t n;
  std::int64_t* totals;

  TENON_DEVICE void operator()(const Block& block, std::int64_t chunk) const {
    std::int64_t mine = 0;
    for (std::int64_t i = chunk * scan_chunk + block.thread(); i < n && i < (chunk + 1) * scan_chunk; i += block_threads) mine += count(i);
    const std::int64_t total = block.sum(mine);
    if (block.thread() == 0) totals[chunk] = total;
  }
};

struct ScanTotals {
  std::int64_t* totals;
  std::int64_t chunks;
  std::int64_t* whole;

  TENON_DEVICE void operator()(const Block& block, std::int64_t) const {
    std::int64_t before = 0;
    for (std::int64_t first = 0; first < chunks; first += block_threads) {
      const std::int64_t i = first + block.thread(), own = i < chunks ? totals[i] : 0;
      std::int64_t together = 0;
      const std::int64_t others = block.sum_before(own, together);
      if (i < chunks) totals[i] = before + others;
      before += together;
    }
    if (block.thread() == 0) *whole = before;
  }
};

template <class Count>
struct ScanChunk {
  Count count;
  std::int64_t n;
  const std::int64_t* totals;
  std::int64_t* sums;

  TENON_DEVICE void operator()(const Block& block, std::int64_t chunk) const {
    std::int64_t before = totals[chunk];
    for (std::int64_t first = chunk * scan_chunk; first < (chunk + 1) * scan_chunk; first += block_threads) {
      const std::int64_t i = first + block.thread(), own = i < n ? count(i) : 0;
      std::int64_t together = 0;
      const std::int64_t others = block.sum_before(own, together);
      if (i < n) sums[i] = before + others;
      before += together;
    }
  }
};

}  // namespace detail

/// How many numbers of scratch scan() needs for n counts.
inline std::int64_t scan_scratch(std::int64_t n) {
  return (n + detail::scan_chunk - 1) / detail::scan_chunk;
}

/// sums[i] = count(0) + ... + count(i - 1) for i from 0 to n, on the call's stream. Count is a trivially copyable class with
/// `TENON_FN std::int64_t operator()(std::int64_t i) const`, which is asked twice for each i. Throws Error.
template <class Count>
void scan(const Call& call, std::int64_t n, const Count& count, std::int64_t* sums, std::int64_t* scratch) {
  const std::int64_t chunks = scan_scratch(n);
  for_each_block(call, chunks, detail::ChunkTotal<Count>{count, n, scratch});
  for_each_block(call, 1, detail::ScanTotals{scratch, chunks, sums + n});
  for_each_block(call, chunks, detail::ScanChunk<Count>{count, n, scratch, sums});
}

}  // namespace tenon::gpu
