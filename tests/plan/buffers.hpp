// Buffers for placement tests, and a simple independent check of placements.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "plan/memory/placement.hpp"

inline std::int64_t rounded_bytes(const tenon::Buffer& buffer) {
  return (buffer.bytes + 63) / 64 * 64;
}

inline std::int64_t largest_live_set(const std::vector<tenon::Buffer>& buffers) {
  std::int64_t largest = 0;
  for (const auto& at : buffers) {  // some buffer starts where the most are alive
    std::int64_t alive = 0;
    for (const auto& buffer : buffers)
      if (buffer.first <= at.first && at.first <= buffer.last) alive += rounded_bytes(buffer);
    largest = std::max(largest, alive);
  }
  return largest;
}

/// Returns what is wrong with a placement, checking every pair of buffers; empty if nothing is.
inline std::string fault_of(const std::vector<tenon::Buffer>& buffers,
                            const tenon::MemoryPlacement& placement) {
  if (placement.offsets.size() != buffers.size()) return "not an offset for each buffer";
  if (placement.lower_bound != largest_live_set(buffers))
    return "the lower bound is not the largest live set";
  std::int64_t top = 0;
  const auto end = [&](std::size_t i) { return placement.offsets[i] + rounded_bytes(buffers[i]); };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (placement.offsets[i] < 0 || placement.offsets[i] % 64 != 0)
      return "buffer " + std::to_string(i) + " is not aligned";
    top = std::max(top, end(i));
    for (std::size_t j = 0; j < i; ++j) {
      const bool together =
          buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const bool apart = end(i) <= placement.offsets[j] || end(j) <= placement.offsets[i] ||
                         buffers[i].bytes == 0 || buffers[j].bytes == 0;
      if (together && !apart)
        return "buffers " + std::to_string(j) + " and " + std::to_string(i) + " overlap";
    }
  }
  return placement.bytes == top ? "" : "the arena does not end where its last buffer does";
}

inline std::vector<tenon::Buffer> random_buffers(std::uint32_t seed, std::size_t count,
                                                 std::uint32_t steps, std::uint32_t longest,
                                                 std::uint32_t largest) {
  std::mt19937 random(seed);
  std::vector<tenon::Buffer> buffers(count);
  for (auto& buffer : buffers) {
    buffer.bytes = static_cast<std::int64_t>(random() % (largest + 1));
    buffer.first = static_cast<std::uint32_t>(random() % steps);
    buffer.last = buffer.first + static_cast<std::uint32_t>(random() % longest);
  }
  return buffers;
}
