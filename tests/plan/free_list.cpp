#include "plan/memory/free_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

TEST_CASE("free list: adjacent free ranges are merged, in any order of release") {
  std::array<int, 4> order{0, 1, 2, 3};
  do {
    tenon::FreeList list;
    std::int64_t places[5];
    for (auto& place : places) place = list.allocate(64);
    // the last one stays allocated, so that the arena cannot shrink
    for (const int i : order) list.release(places[i], 64);
    CHECK(list.allocate(4 * 64) == places[0]);
    CHECK(list.end() == 5 * 64);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE(
    "free list: takes the smallest sufficient range, the lowest of equal ones, and keeps the rest "
    "free") {
  tenon::FreeList list;
  const std::int64_t sizes[] = {100, 10, 40, 10, 60, 10, 40, 10};
  std::int64_t places[8];
  for (int i = 0; i < 8; ++i) places[i] = list.allocate(sizes[i]);
  for (const int i : {6, 0, 4, 2}) list.release(places[i], sizes[i]);
  CHECK(list.allocate(40) == places[2]);
  CHECK(list.allocate(30) == places[6]);
  CHECK(list.allocate(10) == places[6] + 30);
  CHECK(list.allocate(61) == places[0]);
  CHECK(list.allocate(39) == places[0] + 61);
  CHECK(list.end() == 280);
  CHECK(list.allocate(61) == 280);
  list.release(280, 61);
  CHECK(list.allocate(100) == 280);  // the last range is extended
  CHECK(list.end() == 380);
}
