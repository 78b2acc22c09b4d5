// The summation tree of micro-batches, and their distribution over processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "train/micro_batches.hpp"

using tenon::MicroBatchOwners;

namespace {

/// A sum as text, so that equal texts are equal sums in any arithmetic.
std::string tree_of(std::int64_t micro_batches) {
  return tenon::sum_micro_batches(
      0, micro_batches,
      [](std::int64_t micro_batch, std::size_t) { return std::to_string(micro_batch); },
      [](std::string& left, const std::string& right) { left = '(' + left + '+' + right + ')'; });
}

}  // namespace

TEST_CASE("micro-batch tree: splits at the largest power of two below the count") {
  const struct {
    std::int64_t micro_batches;
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
  for (const auto& row : rows) CHECK(tree_of(row.micro_batches) == row.tree);
}

TEST_CASE("micro-batch tree: holds ceil(log2(count)) + 1 values, each in a free slot") {
  for (std::int64_t micro_batches = 1; micro_batches <= 70; ++micro_batches) {
    CAPTURE(micro_batches);
    std::size_t most = 1;
    for (std::int64_t reach = 1; reach < micro_batches; reach *= 2) ++most;
    std::set<std::size_t> in_use;
    bool overwritten = false, beyond = false;
    const auto last = tenon::sum_micro_batches(
        0, micro_batches,
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
  for (std::int64_t micro_batches = 1; micro_batches <= 64; ++micro_batches)
    for (int ranks = 1; ranks <= micro_batches; ++ranks) {
      const auto owners = MicroBatchOwners::even(micro_batches, ranks);
      REQUIRE(owners.ranks() == ranks);
      std::vector<std::int64_t> count(static_cast<std::size_t>(ranks));
      for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
        ++count[static_cast<std::size_t>(owners.owner(micro_batch))];
      CAPTURE(micro_batches);
      CAPTURE(ranks);
      CHECK(*std::max_element(count.begin(), count.end()) * ranks <= 2 * micro_batches);
      CHECK(*std::min_element(count.begin(), count.end()) >= 1);
    }
}
