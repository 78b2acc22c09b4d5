#include "plan/memory/placement.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "buffers.hpp"

namespace {

using tenon::Buffer;
using tenon::Strategy;
using Buffers = std::vector<Buffer>;

constexpr Strategy strategies[] = {Strategy::execution_order, Strategy::by_size,
                                   Strategy::by_breadth};

// The optimal arena: placing each buffer as low as possible reaches it for some order.
std::int64_t smallest_arena(const Buffers& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0U);
  auto best = INT64_MAX;
  do {
    std::vector<std::int64_t> offsets(buffers.size(), -1);
    std::int64_t top = 0;
    for (const auto i : order) {
      std::int64_t offset = 0;
      for (std::size_t j = 0; j < buffers.size();) {
        const bool together = offsets[j] >= 0 && buffers[i].first <= buffers[j].last &&
                              buffers[j].first <= buffers[i].last;
        const auto end = offsets[j] + rounded_bytes(buffers[j]);
        const bool overlap =
            together && offset < end && offsets[j] < offset + rounded_bytes(buffers[i]);
        if (overlap) offset = end;
        j = overlap ? 0 : j + 1;
      }
      offsets[i] = offset;
      top = std::max(top, offset + rounded_bytes(buffers[i]));
    }
    best = std::min(best, top);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

}  // namespace

TEST_CASE("placement: small cases") {
  struct Case {
    const char* what;
    Buffers buffers;
    std::int64_t bytes, lower_bound;
    Strategy strategy;
  };
  using enum Strategy;
  const Case cases[] = {
      {"nothing", {}, 0, 0, execution_order},
      {"one", {{100, 0, 3}}, 128, 128, execution_order},
      {"empty tensors need no memory", {{0, 0, 1}, {64, 0, 1}, {0, 1, 2}}, 64, 64, execution_order},
      {"disjoint lifetimes", {{64, 0, 0}, {64, 1, 1}, {64, 2, 2}}, 64, 64, execution_order},
      {"a sequence needs two buffers",
       {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}},
       128,
       128,
       execution_order},
      {"a hole is reused",
       {{64, 0, 9}, {128, 1, 2}, {64, 1, 9}, {64, 3, 5}, {64, 3, 5}},
       256,
       256,
       execution_order},
      {"the last free range grows",
       {{64, 0, 5}, {64, 0, 1}, {256, 2, 3}},
       320,
       320,
       execution_order},
      // In execution order, the second buffer lies between the hole of the first and the third.
      {"a later buffer is larger", {{64, 0, 1}, {64, 1, 3}, {128, 2, 3}}, 192, 192, by_size},
      {"a later buffer is larger, at the last possible steps",
       {{64, 0xfffffff0, 0xfffffff1}, {64, 0xfffffff1, 0xfffffffe}, {128, 0xfffffff2, 0xfffffffe}},
       192,
       192,
       by_size},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const auto placement = tenon::place(c.buffers);
    CHECK(fault_of(c.buffers, placement) == "");
    CHECK(placement.bytes == c.bytes);
    CHECK(placement.lower_bound == c.lower_bound);
    CHECK(tenon::name_of(placement.strategy) == tenon::name_of(c.strategy));
  }
}

TEST_CASE(
    "placement: random buffers never overlap with any strategy; the best is chosen; "
    "deterministic") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const auto buffers =
        random_buffers(seed, 20 + seed * 2, 40, 1 + seed % 20, seed % 3 == 0 ? 200 : 5000);
    const auto best = tenon::place(buffers);
    CHECK(fault_of(buffers, best) == "");
    for (const auto strategy : strategies) {
      const auto placement = tenon::place_by(strategy, buffers);
      CAPTURE(tenon::name_of(strategy));
      CHECK(fault_of(buffers, placement) == "");
      CHECK(placement.bytes >= best.bytes);
      CHECK((placement.strategy == strategy));
    }
    CHECK(tenon::place(buffers).offsets == best.offsets);
  }
}

TEST_CASE("placement: optimal for a few buffers, compared with all orders") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const auto buffers = random_buffers(seed, 3 + seed % 4, 6, 4, 64 * 6);
    CHECK(tenon::place(buffers).bytes == smallest_arena(buffers));
  }
}

TEST_CASE("placement: strategies differ, and each is the best for some buffers") {
  std::vector<int> wins(4);
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const auto buffers = random_buffers(seed, 12, 12, 6, 64 * 8);
    ++wins[static_cast<std::size_t>(tenon::place(buffers).strategy)];
  }
  for (const auto count : wins) CHECK(count > 0);
}

TEST_CASE("placement: 100,000 buffers, with few or half of them alive at once") {
  for (const std::uint32_t longest : {10U, 1000U, 50000U}) {
    CAPTURE(longest);
    const auto buffers = random_buffers(3, 100000, 100000, longest, 1 << 20);
    CHECK(tenon::place(buffers).bytes <= tenon::place_by(Strategy::execution_order, buffers).bytes);
  }
}
