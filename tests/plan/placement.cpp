#include "plan/placement.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

using tenon::Block;

// What no placement may break, checked in the plainest way there is.
void check_valid(const std::vector<Block>& blocks, const tenon::MemoryPlacement& placement) {
  const auto end = [&](std::size_t i) { return placement.offsets[i] + blocks[i].bytes; };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(placement.offsets[i] >= 0);
    CHECK(placement.offsets[i] % tenon::memory_alignment == 0);
    CHECK(end(i) <= placement.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      const bool apart = end(i) <= placement.offsets[j] || end(j) <= placement.offsets[i];
      if (together && blocks[i].bytes > 0 && blocks[j].bytes > 0) CHECK(apart);
    }
  }
}

std::int64_t largest_live_set(const std::vector<Block>& blocks, std::uint32_t steps) {
  std::int64_t largest = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::int64_t alive = 0;
    for (const auto& block : blocks)
      if (block.first <= step && step <= block.last) alive += (block.bytes + 63) / 64 * 64;
    largest = std::max(largest, alive);
  }
  return largest;
}

}  // namespace

TEST_CASE("placement: small cases") {
  struct Case {
    const char* what;
    std::vector<Block> blocks;
    std::int64_t bytes;
  };
  const Case cases[] = {
      {"nothing", {}, 0},
      {"one", {{100, 0, 3}}, 128},
      {"empty tensors take no room", {{0, 0, 1}, {64, 0, 1}, {0, 1, 2}}, 64},
      {"one after the other", {{64, 0, 0}, {64, 1, 1}, {64, 2, 2}}, 64},
      {"a chain needs two", {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}}, 128},
      {"a hole is used again", {{64, 0, 9}, {128, 1, 2}, {64, 1, 9}, {64, 3, 5}, {64, 3, 5}}, 256},
      {"the last stretch grows", {{64, 0, 5}, {64, 0, 1}, {256, 2, 3}}, 320},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const auto placement = tenon::place(c.blocks);
    check_valid(c.blocks, placement);
    CHECK(placement.bytes == c.bytes);
    CHECK(placement.lower_bound == c.bytes);
  }
}

TEST_CASE("placement: random blocks never overlap, and the lower bound is the largest live set") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Block> blocks(60);
    for (auto& block : blocks) {
      block.bytes = static_cast<std::int64_t>(random() % 2000);
      block.first = random() % 40;
      block.last = block.first + random() % 8;
    }
    const auto placement = tenon::place(blocks);
    check_valid(blocks, placement);
    CHECK(placement.lower_bound == largest_live_set(blocks, 50));
    CHECK(placement.bytes >= placement.lower_bound);
  }
}
