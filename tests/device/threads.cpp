#include "device/threads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "failure_of.hpp"

using tenon::Threads;
using Bounds = std::pair<std::int64_t, std::int64_t>;

// Calls parallel_for with a lambda.
template <class Body>
static void run(const Threads& threads, std::int64_t n, std::int64_t grain, Body&& body) {
  const auto call = [](void* context, std::int64_t begin, std::int64_t end) {
    (*static_cast<std::remove_reference_t<Body>*>(context))(begin, end);
  };
  threads.parallel_for(n, grain, call, &body);
}

static std::vector<Bounds> parts_of(const Threads& threads, std::int64_t n, std::int64_t grain) {
  std::vector<Bounds> parts;
  std::mutex mutex;
  run(threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

TEST_CASE("threads: chunks depend only on n and grain") {
  constexpr std::int64_t most = INT64_MAX, half = most / 2 + 1;
  const struct {
    std::int64_t n, grain;
    std::vector<Bounds> parts;
  } cases[] = {
      {0, 4, {}},
      {-5, 4, {}},
      {1, 4, {{0, 1}}},
      {4, 4, {{0, 4}}},
      {10, 4, {{0, 4}, {4, 8}, {8, 10}}},
      {3, 1, {{0, 1}, {1, 2}, {2, 3}}},
      {2, 0, {{0, 1}, {1, 2}}},
      {2, -7, {{0, 1}, {1, 2}}},
      {most, most, {{0, most}}},
      {most, half, {{0, half}, {half, most}}},
  };
  for (const int count : {1, 2, 4, 8, 24}) {
    const Threads threads(count);
    for (const auto& test : cases) {
      CAPTURE(count);
      CAPTURE(test.n);
      CAPTURE(test.grain);
      CHECK(parts_of(threads, test.n, test.grain) == test.parts);
    }
  }
}

TEST_CASE(
    "threads: writes of chunks are visible after the loop, and earlier writes in every chunk") {
  for (const int count : {1, 2, 4, 8, 24}) {
    const Threads threads(count);
    for (int round = 0; round < 200; ++round) {
      std::vector<int> input(1000, round), output(1000, -1);
      run(threads, 1000, 7, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
          output[i] += input[i] + 1;
      });
      REQUIRE(output == input);
    }
  }
}

TEST_CASE("threads: a thread runs chunks of its own share first, which is the same in each loop") {
  const Threads threads(2);
  const auto far = [begin = std::chrono::steady_clock::now()] {
    return std::chrono::steady_clock::now() - begin > std::chrono::seconds(20);
  };
  std::thread::id first, before;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun = 0, taken_early = 0;
    run(threads, 4, 1, [&](std::int64_t part, std::int64_t) {
      if (part == 0) first = std::this_thread::get_id();
      if (part % 2 == 0) {  // the first chunks of both shares wait for each other
        ++begun;
        while (begun < 2 && !far()) std::this_thread::yield();
      } else if (begun < 2) {
        ++taken_early;
      }
    });
    CHECK(begun == 2);
    CHECK(taken_early == 0);
    if (round > 0) CHECK(first == before);
    before = first;
  }
}

TEST_CASE("threads: sums over chunks are bit-identical on any number of threads") {
  const auto sum = [](const Threads& threads) {
    std::vector<float> partial(1001);
    run(threads, 100001, 100, [&](std::int64_t begin, std::int64_t end) {
      float& result = partial[static_cast<std::size_t>(begin / 100)];
      for (std::int64_t i = begin; i < end; ++i) result += 1.0f / static_cast<float>(i + 1);
    });
    float total = 0;
    for (const float value : partial) total += value;
    return total;
  };
  const float expected = sum(Threads(1));
  for (const int count : {2, 3, 4, 8}) CHECK(sum(Threads(count)) == expected);
}

TEST_CASE("threads: a waiting thread does not run chunks of an outer loop") {
  const Threads threads(4);
  static thread_local bool inside = false;
  std::atomic<int> reentered = 0, inner_parts = 0;
  run(threads, 200, 1, [&](std::int64_t, std::int64_t) {
    if (inside) ++reentered;
    inside = true;
    const auto waiting = std::this_thread::get_id();
    run(threads, 8, 1, [&](std::int64_t, std::int64_t) {
      // Chunks on other threads are slow, so that this thread has to wait for them.
      std::this_thread::sleep_for(
          std::chrono::microseconds(std::this_thread::get_id() == waiting ? 50 : 500));
      ++inner_parts;
    });
    inside = false;
  });
  CHECK(inner_parts == 200 * 8);
  CHECK(reentered == 0);
}

TEST_CASE("threads: several application threads share the workers") {
  const Threads threads(3);
  std::vector<std::thread> callers;
  std::vector<std::int64_t> sums(6);
  for (std::size_t caller = 0; caller < sums.size(); ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 100; ++round) {
        std::vector<std::int64_t> squares(500);
        run(threads, 500, 3, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) squares[static_cast<std::size_t>(i)] = i * i;
        });
        for (const std::int64_t square : squares) sums[caller] += square;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::int64_t sum : sums) CHECK(sum == std::int64_t{100} * (499 * 500 * 999 / 6));
}

TEST_CASE("threads: runs as many chunks at once as there are threads, even on fewer cores") {
  for (const int count : {2, 4, 6}) {
    CAPTURE(count);
    const Threads threads(count);
    CHECK(threads.count() == count);
    std::atomic<int> arrived = 0;
    std::atomic<bool> late = false;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    run(threads, count, 1, [&](std::int64_t, std::int64_t) {
      ++arrived;
      while (arrived < count && !late) {
        std::this_thread::yield();
        if (std::chrono::steady_clock::now() > deadline) late = true;
      }
    });
    CHECK_FALSE(late);
  }
}

TEST_CASE("threads: a caller runs its loop by itself while others occupy the threads") {
  const Threads threads(2);
  std::atomic<bool> inside = false, leave = false;
  std::thread other([&] {
    run(threads, 2, 1, [&](std::int64_t, std::int64_t) {
      inside = true;
      while (!leave) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  const auto here = std::this_thread::get_id();
  std::atomic<int> elsewhere = 0;
  run(threads, 100, 1,
      [&](std::int64_t, std::int64_t) { elsewhere += std::this_thread::get_id() == here ? 0 : 1; });
  CHECK(elsewhere == 0);
  leave = true;
  other.join();
}

// Sets a flag, with a delay, when its thread ends.
struct Farewell {
  std::atomic<int>* said = nullptr;
  ~Farewell() {
    if (said == nullptr) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++*said;
  }
};

TEST_CASE("threads: workers end when requested, and new ones start when needed") {
  constexpr int count = 3;
  for (int round = 0; round < 2; ++round) {
    static std::atomic<int> said = 0;
    said = 0;
    const auto caller = std::this_thread::get_id();
    std::atomic<int> arrived = 0;
    {
      const Threads threads(count);
      run(threads, count, 1, [&](std::int64_t, std::int64_t) {
        static thread_local Farewell farewell;
        if (std::this_thread::get_id() != caller) farewell.said = &said;
        ++arrived;
        while (arrived < count) std::this_thread::yield();
      });
    }
    tenon::end_workers();
    CHECK(said == count - 1);
  }
}

TEST_CASE("threads: number of threads") {
  CHECK(Threads().count() >= 1);
  CHECK(Threads(1024).count() == 1024);
  for (const int count : {-1, 1025}) {
    const FailureText failure = failure_of([&] { Threads threads(count); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == "the number of threads is " + std::to_string(count) +
                                 " but must be from 0 (all) to 1024");
  }
}

TEST_CASE("threads: work runs in the context of its caller, also for concurrent callers") {
  const Threads threads(4);
  CHECK(tenon::caller_context() == nullptr);
  const auto call = [&](const void* context) {
    std::atomic<int> wrong = 0;
    const void* const before = tenon::set_caller_context(context);
    for (int turn = 0; turn < 200; ++turn)
      run(threads, 64, 1, [&](std::int64_t, std::int64_t) {
        if (tenon::caller_context() != context) ++wrong;
        std::this_thread::yield();
      });
    CHECK(tenon::set_caller_context(before) == context);
    CHECK(wrong == 0);
  };
  const int contexts[3] = {};
  std::vector<std::thread> callers;
  for (const auto& context : contexts) callers.emplace_back(call, &context);
  call(nullptr);
  for (auto& caller : callers) caller.join();
  CHECK(tenon::caller_context() == nullptr);
}
