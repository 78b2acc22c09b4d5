// Sessions of one graph, run by many application threads concurrently, on the threads of one host.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <tenon/host/session.hpp>
#include <thread>
#include <vector>

#include "../../plan/random_graph.hpp"
#include "application_host.hpp"

using tenon::NamedTensors;
using tenon::Session;
using tenon::Tensor;

namespace {

struct RandomGraphHost : ApplicationHost {
  explicit RandomGraphHost(int threads) : ApplicationHost(threads) {
    add<Mix>();
    add<Blend>();
  }
};

bool equal(const NamedTensors& one, const NamedTensors& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& left, const auto& right) {
                      return left.first == right.first && same_bits(left.second, right.second);
                    });
}

Tensor ramp(std::int64_t count, float from = 0) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = from + static_cast<float>(i) / 64;
  return Tensor::from(numbers, {count});
}

}  // namespace

TEST_CASE("many application threads run sessions concurrently") {
  RandomGraphHost host(3);
  constexpr std::size_t sessions = 4, callers = 12;
  const auto graph = random_graph(host, 5);
  Session sequential(graph);
  std::vector<NamedTensors> expected;
  for (int i = 0; i < 3; ++i)
    expected.push_back(sequential.run({{"x", ramp(64, static_cast<float>(i))}}));
  std::vector<std::unique_ptr<Session>> all;
  std::mutex mutexes[sessions];
  for (std::size_t i = 0; i < sessions; ++i) all.push_back(std::make_unique<Session>(graph));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      for (std::size_t run = 0; run < 8; ++run) {
        const auto which = (caller + run) % sessions, input = run % expected.size();
        const std::lock_guard lock(mutexes[which]);
        if (!equal(all[which]->run({{"x", ramp(64, static_cast<float>(input))}}), expected[input]))
          ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}
