// Random numbers of eager and prepared calls.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <tenon/host/host.hpp>
#include <tenon/host/udf.hpp>
#include <thread>

#include "application_host.hpp"
#include "run/random_positions.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// x times a random number, which backward draws again.
struct Noise : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x times uniform random numbers");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.uses_random();
  }
  void forward(const Call& call) const {
    times_random(call, call.input<float>(0), call.output<float>(0));
  }
  void backward(const Call& call) const {
    times_random(call, call.output_grad<float>(0), call.input_grad<float>(0));
  }

 private:
  static void times_random(const Call& call, const auto& from, auto to) {
    const auto random = call.random();
    for (std::int64_t i = 0; i < to.size(); ++i)
      to[i] = from[i] * random.uniform(static_cast<std::uint64_t>(i));
  }
};

/// Noise as a composed operator.
struct ComposedNoise : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x times uniform random numbers");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.uses_random();
  }
  void forward(Compose& c) const { c.set_output(0, c.add("noise", {c.input("x")})); }
};

struct NoiseHost : ApplicationHost {
  explicit NoiseHost(std::uint64_t seed) : ApplicationHost(with(seed)) {
    add<Noise>();
    add<ComposedNoise>();
  }
  static HostOptions with(std::uint64_t seed) {
    auto made = options(1);
    made.seed = seed;
    return made;
  }
};

const Tensor four_ones = vector_of({1, 1, 1, 1});

/// By name three times, two earlier prepared calls, and a new one.
std::vector<Tensor> draw(Host& host, std::vector<PreparedCall>& prepared_calls) {
  const std::vector<Tensor> x{four_ones};
  std::vector<Tensor> drawn;
  for (int i = 0; i < 3; ++i) drawn.push_back(host.call("noise", x));
  drawn.push_back(host.call("composed_noise", x));
  for (auto& call : prepared_calls) drawn.push_back(call(x));
  drawn.push_back(host.prepare("noise", {Argument::like(four_ones)})(x));
  return drawn;
}

std::vector<PreparedCall> prepared(Host& host) {
  std::vector<PreparedCall> calls;
  for (const auto* op : {"noise", "composed_noise"})
    calls.push_back(host.prepare(op, {Argument::like(four_ones)}));
  return calls;
}

bool same(const std::vector<Tensor>& left, const std::vector<Tensor>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_bits);
}

}  // namespace

TEST_CASE("random calls: after seed() they draw as in a new host with that seed") {
  NoiseHost host(3), other(5);
  auto prepared_calls = prepared(host), others = prepared(other);
  const auto first = draw(host, prepared_calls), second = draw(host, prepared_calls),
             fifth = draw(other, others);
  CHECK_FALSE(same(first, second));
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) CHECK_FALSE(same_bits(first[i], first[k]));
  host.seed(3);
  CHECK(same(draw(host, prepared_calls), first));
  CHECK(same(draw(host, prepared_calls), second));
  host.seed(5);
  CHECK(same(draw(host, prepared_calls), fifth));
}

TEST_CASE("random calls: the numbers depend on the seed and the call's index, from 0") {
  NoiseHost host(1);
  host.call("noise", {four_ones});
  host.seed(1234567890123456789);
  for (std::uint64_t step = 0; step < 2; ++step) {
    const Random expected(1234567890123456789, step, 0);
    CHECK(same_bits(host.call("noise", {four_ones}),
                    vector_of({expected.uniform(0), expected.uniform(1), expected.uniform(2),
                               expected.uniform(3)})));
  }
}

TEST_CASE("random calls: backward of a prepared call draws the numbers of its forward") {
  NoiseHost host(7);
  auto call = host.prepare("noise", {Argument::like(four_ones)});
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> x{four_ones}, y{call(x)};
    host.call("noise", x);  // other calls in between do not matter, nor does
    host.seed(8);
    CHECK(same_bits(call.backward(x, x, y)[0], y[0]));
  }
}

TEST_CASE("random calls: backward draws the numbers of any forward call whose position is set") {
  NoiseHost host(7);
  auto call = host.prepare("noise", {Argument::like(four_ones)});
  const std::vector<Tensor> x{four_ones}, first{call(x)};
  const auto position = call.random_position();
  const std::vector<Tensor> second{call(x)};
  CHECK(same_bits(call.backward(x, x, second)[0], second[0]));
  auto other = host.prepare("noise", {Argument::like(four_ones)});
  for (auto* each : {&call, &other}) {
    each->set_random_position(position);
    CHECK(same_bits(each->backward(x, x, first)[0], first[0]));
  }
  CHECK_FALSE(same_bits(call(x), first[0]));  // forward calls draw new numbers nevertheless
}

TEST_CASE(
    "random calls: threads may draw while another sets the seed; later numbers use the new seed") {
  NoiseHost host(0);
  const std::vector<Tensor> x{four_ones};
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) host.call("noise", x);
    });
  for (std::uint64_t seed = 0; seed < 200; ++seed) host.seed(seed);
  stop = true;
  for (auto& thread : threads) thread.join();
  host.seed(42);
  CHECK(same_bits(host.call("noise", x), NoiseHost(42).call("noise", x)));
}

TEST_CASE("random positions: none combines a seed with a step of another one") {
  constexpr std::uint64_t seeds = 300;
  RandomPositions positions(0);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> draws = 0;
  std::vector<RandomPosition> drawn;
  std::thread thread([&] {
    while (!stop) drawn.push_back(positions.next()), ++draws;
  });
  for (std::uint64_t seed = 1; seed < seeds; ++seed) {  // after many draws and few draws in turn
    const auto before = draws.load();
    while (draws < before + (seed % 2 == 0 ? 10 : 1000)) {
    }
    positions.start(seed);
  }
  stop = true;
  thread.join();
  std::vector<std::uint64_t> counts(seeds), max_steps(seeds);
  for (const auto& [seed, step] : drawn)
    ++counts[seed], max_steps[seed] = std::max(max_steps[seed], step);
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    wrong += max_steps[seed] > counts[seed] + 1;  // the thread may skip one step of a new seed
  CHECK(wrong == 0);
}
