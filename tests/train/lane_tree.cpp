// The summation tree of micro-batches, and their distribution over processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "train/lanes.hpp"

using tenon::LaneOwners;

namespace {

/// A sum as text, so that equal texts are equal sums in any arithmetic.
std::string tree_of(std::int64_t lanes) {
  return tenon::sum_of_lanes(
      0, lanes, [](std::int64_t lane, std::size_t) { return std::to_string(lane); },
      [](std::string& left, const std::string& right) { left = '(' + left + '+' + right + ')'; });
}

}  // namespace

TEST_CASE("micro-batch tree: splits at the largest power of two below the count") {
  const struct {
    std::int64_t lanes;
    const char* tree;
  } rows[] = {{1, "0"},
              {2, "(0+1)"},
              {3, "((0+1)+2)"},
              {4, "((0+1)+(2+3))"},
              {5, "(((0+1)+(2+3))+4)"},
              {6, "(((0+1)+(2+3))+(4+5))"},
              {7, "(((0+1)+(2+3))+((4+5)+6))"},
              {8, "(((0+1)+(2+3))+((4+5)+(6+7)))"},
              {9, "((((0+1)+(2+3))+((4+5)+(6+7)))+8)"}};
  for (const auto& row : rows) CHECK(tree_of(row.lanes) == row.tree);
}

TEST_CASE("micro-batch tree: holds ceil(log2(count)) + 1 values, each in a free slot") {
  for (std::int64_t lanes = 1; lanes <= 70; ++lanes) {
    CAPTURE(lanes);
    std::size_t most = 1;
    for (std::int64_t reach = 1; reach < lanes; reach *= 2) ++most;
    std::set<std::size_t> in_use;
    bool overwritten = false, beyond = false;
    const auto last = tenon::sum_of_lanes(
        0, lanes,
        [&](std::int64_t, std::size_t place) {
          beyond = beyond || place >= most;
          overwritten = overwritten || !in_use.insert(place).second;
          return place;
        },
        [&](std::size_t&, std::size_t right) { in_use.erase(right); });
    CHECK_FALSE(beyond);
    CHECK_FALSE(overwritten);
    CHECK(in_use == std::set<std::size_t>{last});
    CHECK(last == 0);
  }
}

TEST_CASE("micro-batch tree: ranks get whole subtrees, at most twice their share") {
  for (std::int64_t lanes = 1; lanes <= 64; ++lanes)
    for (int ranks = 1; ranks <= lanes; ++ranks) {
      const auto owners = LaneOwners::even(lanes, ranks);
      REQUIRE(owners.ranks() == ranks);
      std::vector<std::int64_t> count(static_cast<std::size_t>(ranks));
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        ++count[static_cast<std::size_t>(owners.owner(lane))];
      CAPTURE(lanes);
      CAPTURE(ranks);
      CHECK(*std::max_element(count.begin(), count.end()) * ranks <= 2 * lanes);
      CHECK(*std::min_element(count.begin(), count.end()) >= 1);
    }
}
