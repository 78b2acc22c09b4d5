// The blocks of fused elementwise groups.
#include <doctest/doctest.h>

#include <numeric>

#include "plan/fusion/fused_group.hpp"

namespace {

constexpr std::int64_t boundary = 64, max_block = 65536;

}  // namespace

TEST_CASE("fusion: blocks without rows have one size") {
  const auto blocks = tenon::blocks_of(100000, 0);
  REQUIRE(blocks.has_value());
  CHECK(blocks->row == 0);
  CHECK(blocks->size % boundary == 0);
  CHECK(blocks->size <= max_block);
}

TEST_CASE("fusion: blocks hold whole rows or divide them, and end at multiples of 64 elements") {
  for (std::int64_t row = 1; row <= 2 * max_block; row += row < 9000 ? 1 : 61) {
    CAPTURE(row);
    const auto elements = 1024 * row;
    const auto blocks = tenon::blocks_of(elements, row);
    const auto aligned_rows = std::lcm(row, boundary);  // elements
    const bool divisible = row % boundary == 0;
    REQUIRE(blocks.has_value() == (divisible || aligned_rows <= max_block));
    if (!blocks) continue;
    CHECK(blocks->elements == elements);
    CHECK(blocks->row == row);
    CHECK(blocks->size % boundary == 0);
    CHECK(blocks->size <= max_block);
    if (blocks->size >= row) {
      CHECK(blocks->size % row == 0);
      CHECK(blocks->count() * blocks->size >= elements);
    } else {
      CHECK(divisible);
      CHECK(blocks->per_row() * blocks->size >= row);
      CHECK((blocks->per_row() - 1) * blocks->size < row);
    }
  }
}
