// Blocks for tests of placement, and the plainest check there is of where they were put.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "plan/placement.hpp"

inline std::int64_t rounded_bytes(const tenon::Block& block) {
  return (block.bytes + 63) / 64 * 64;
}

inline std::int64_t largest_live_set(const std::vector<tenon::Block>& blocks) {
  std::int64_t largest = 0;
  for (const auto& at : blocks) {  // some block begins where the most are alive
    std::int64_t alive = 0;
    for (const auto& block : blocks)
      if (block.first <= at.first && at.first <= block.last) alive += rounded_bytes(block);
    largest = std::max(largest, alive);
  }
  return largest;
}

/// What is wrong with a placement, looking at every pair of blocks; empty where nothing is.
inline std::string fault_of(const std::vector<tenon::Block>& blocks, const tenon::MemoryPlacement& placement) {
  if (placement.offsets.size() != blocks.size()) return "not an offset for each block";
  if (placement.lower_bound != largest_live_set(blocks)) return "the lower bound is not the largest live set";
  std::int64_t top = 0;
  const auto end = [&](std::size_t i) { return placement.offsets[i] + rounded_bytes(blocks[i]); };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (placement.offsets[i] < 0 || placement.offsets[i] % 64 != 0) return "block " + std::to_string(i) + " is not aligned";
    top = std::max(top, end(i));
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      const bool apart = end(i) <= placement.offsets[j] || end(j) <= placement.offsets[i] || blocks[i].bytes == 0 || blocks[j].bytes == 0;
      if (together && !apart) return "blocks " + std::to_string(j) + " and " + std::to_string(i) + " overlap";
    }
  }
  return placement.bytes == top ? "" : "the arena does not end where its last block does";
}

inline std::vector<tenon::Block> random_blocks(std::uint32_t seed, std::size_t count, std::uint32_t steps, std::uint32_t longest,
                                               std::uint32_t largest) {
  std::mt19937 random(seed);
  std::vector<tenon::Block> blocks(count);
  for (auto& block : blocks) {
    block.bytes = static_cast<std::int64_t>(random() % (largest + 1));
    block.first = static_cast<std::uint32_t>(random() % steps);
    block.last = block.first + static_cast<std::uint32_t>(random() % longest);
  }
  return blocks;
}
