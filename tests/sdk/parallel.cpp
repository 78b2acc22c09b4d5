// Loops through the C boundary: their chunks, and how they end when one throws.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tenon/detail/parallel.hpp>
#include <utility>
#include <vector>

#include "call_by_hand.hpp"

namespace {

using Parts = std::vector<std::pair<std::int64_t, std::int64_t>>;

template <class Body>
void run(std::int64_t n, std::int64_t grain, by_hand::Order order, Body body) {
  by_hand::order = order;
  tenon_host host{};
  host.size = sizeof host;
  host.parallel_for = by_hand::parallel_for;
  tenon_call call{};
  call.size = sizeof call;
  call.host = &host;
  tenon::run_parallel(call, n, grain, body);
  by_hand::order = by_hand::Order::forwards;
}

Parts parts_of(std::int64_t n, std::int64_t grain, by_hand::Order order) {
  Parts parts;
  std::mutex mutex;
  run(n, grain, order, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

constexpr by_hand::Order orders[] = {by_hand::Order::forwards, by_hand::Order::backwards,
                                     by_hand::Order::threads};

}  // namespace

TEST_CASE("chunks have the length of the grain in loops of any size, whatever the threads") {
  const std::pair<std::int64_t, std::int64_t> loops[] = {
      {1, 1},       {10, 4},      {65536, 1},   {65537, 1},
      {200'003, 1}, {200'003, 3}, {131'072, 1}, {INT64_MAX, INT64_MAX / 3}};
  for (const auto& loop : loops) {
    const auto n = loop.first, grain = loop.second;
    CAPTURE(n);
    CAPTURE(grain);
    Parts expected;
    for (std::int64_t begin = 0; begin < n; begin += std::min(grain, n - begin))
      expected.emplace_back(begin, begin + std::min(grain, n - begin));
    for (const auto order : orders) CHECK(parts_of(n, grain, order) == expected);
  }
}

TEST_CASE("a loop with any number of chunks ends when one throws") {
  for (const auto order : orders) {
    std::atomic<int> parts = 0;
    std::string message;
    try {
      run(INT64_MAX, 1, order, [&](std::int64_t, std::int64_t) {
        if (++parts == 1000) throw std::runtime_error("enough");
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    CHECK(message == "enough");
    CHECK(parts >= 1000);
    CHECK(parts < 100'000'000);  // other threads may be in the middle of a task
  }
}
