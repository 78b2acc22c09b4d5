// Steps of a plan that run at once: the same bits, the same errors and the same updates as one after the other.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <tenon/host/session.hpp>
#include <thread>

#include "../plan/random_graph.hpp"
#include "application_host.hpp"
#include "failure_of.hpp"
#include "run/host_impl.hpp"
#include "run/session_impl.hpp"
#include "vectors.hpp"

using tenon::Graph;
using tenon::NamedTensors;
using tenon::RunOptions;
using tenon::Session;
using tenon::SessionOptions;
using tenon::Tensor;
using tenon::Value;

namespace {

/// The input plus one. It may ask for the run to stop, or sleep.
struct Stumbling : tenon::Operator {
  bool stops = false;
  std::int64_t milliseconds = 0;
  static inline std::stop_source source;
  static inline std::atomic<int> calls = 0;

  static constexpr void describe(auto& op) {
    op.doc("the input plus one; may ask for the run to stop, or sleep");
    op.types({tenon::f32});
    op.input("data", "[n]");
    op.output("more", "[n]");
    op.param("stops", &Stumbling::stops, "whether it asks for the run to stop");
    op.param("milliseconds", &Stumbling::milliseconds, "how long it sleeps");
    op.inplace("data", "more");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call& call) const {
    ++calls;
    if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    if (stops) source.request_stop();
    const auto data = call.input<float>(0);
    const auto more = call.output<float>(0);
    for (std::int64_t i = 0; i < data.size(); ++i) more[i] = data[i] + 1;
  }
};

/// w - g / 8, where w lies.
struct Descent : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("a step down");
    op.input("w", "any shape");
    op.input("g", "same shape as w");
    op.output("next", "same shape as w");
    op.inplace("w", "next");
  }
  template <class T>
  TENON_FN T operator()(T w, T g) const {
    return w - g / T(8);
  }
};

// Another length each time, of each thread: what is not kept in order by the plan comes in any order.
void pause_a_while() {
  static std::atomic<unsigned> count = 0;
  const auto n = count++ * 2654435761U >> 24;
  if (n < 16) std::this_thread::sleep_for(std::chrono::microseconds(n * 20));
}

/// The data, where no element of the other input is negative.
struct PickyOperator : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data, unless there is a negative number in the other input");
    op.types({tenon::f32});
    op.input("data", "[n]");
    op.input("other", "[m]");
    op.output("same", "[n]");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call& call) const {
    pause_a_while();
    const auto other = call.input<float>(1);
    for (std::int64_t i = 0; i < other.size(); ++i)
      if (other[i] < 0) throw tenon::Error("it met ", other[i]);
    const auto data = call.input<float>(0);
    const auto same = call.output<float>(0);
    for (std::int64_t i = 0; i < data.size(); ++i) same[i] = data[i];
  }
};

struct ParallelHost : ApplicationHost {
  explicit ParallelHost(int threads) : ApplicationHost(threads) {
    add<Mix>();
    add<Blend>();
    add<Stumbling>();
    add<Descent>();
    add<PickyOperator>("picky");
  }
};

Session in_lanes(const Graph& graph, SessionOptions options = {}) {
  Session session(graph, std::move(options));
  impl_of(session).context.lanes = tenon::LanePolicy::always;
  return session;
}

Session in_order(const Graph& graph, SessionOptions options = {}) {
  options.parallel = false;
  return Session(graph, std::move(options));
}

bool has_lanes(const Session& session) {
  const auto& plans = impl_of(session).plans.all();
  return std::any_of(plans.begin(), plans.end(), [](const auto& plan) { return plan.second.plan->lanes.lanes > 1; });
}

bool equal(const NamedTensors& one, const NamedTensors& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& left, const auto& right) { return left.first == right.first && same_bits(left.second, right.second); });
}

Tensor ramp(std::int64_t count, float from = 0) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = from + static_cast<float>(i) / 64;
  return Tensor::from(numbers, {count});
}

/// So many branches of `length` nodes each; node i of branch b is named b.i and has the attributes_of(b, i).
template <class AttributesOf>
Graph branches(tenon::Host& host, int count, int length, AttributesOf attributes_of) {
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {64});
  std::vector<Value> ends;
  for (int branch = 0; branch < count; ++branch) {
    auto value = x;
    for (int i = 0; i < length; ++i)
      value = graph.add("stumbling", {value}, attributes_of(branch, i), std::to_string(branch) + "." + std::to_string(i));
    ends.push_back(value);
  }
  graph.output("y", graph.add("mix", ends, {{"size", 64}}, "all"));
  return graph;
}

}  // namespace

TEST_CASE("random graphs in lanes give the bits of one step after the other, forward and backward") {
  ParallelHost one(1), four(4);
  while_mixing = pause_a_while;
  int made = 0;
  for (std::uint32_t n = 0; n < 24; ++n) {
    CAPTURE(n);
    auto sequential = in_order(random_graph(one, n));
    auto session = in_lanes(random_graph(four, n));
    for (int run = 0; run < 4; ++run) {
      const NamedTensors inputs{{"x", ramp(64, static_cast<float>(run))}};
      CHECK(equal(session.run(inputs), sequential.run(inputs)));
    }
    made += has_lanes(session) ? 1 : 0;
  }
  while_mixing = nullptr;
  CHECK(made > 16);
}

TEST_CASE("the error of a run in lanes is that of one step after the other: the first node in order that fails; and later runs are whole") {
  ParallelHost four(4);
  for (unsigned seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Graph graph(four);
    const auto x = graph.input("x", tenon::f32, {-1}), y = graph.input("y", tenon::f32, {-1});
    std::vector<Value> ends;
    for (int branch = 0; branch < 6; ++branch) {
      auto value = graph.add("mix", {x}, {{"size", 512}});
      for (int i = 0; i < 5; ++i) {
        value = graph.add("mix", {value}, {{"size", 512}});
        value = graph.add("picky", {value, random() % 4 == 0 || (branch == 5 && i == 4) ? y : x}, {},
                          "picky " + std::to_string(branch) + "." + std::to_string(i));
      }
      ends.push_back(value);
    }
    graph.output("z", graph.add("mix", ends, {{"size", 1}}));
    auto session = in_lanes(graph), sequential = in_order(graph);
    const NamedTensors good{{"x", vector_of({1})}, {"y", vector_of({2})}}, bad{{"x", vector_of({1})}, {"y", vector_of({-2})}};
    const auto expected = failure_of([&] { sequential.run(bad); });
    CHECK(expected.message.find("it met -2") != std::string::npos);
    for (int run = 0; run < 8; ++run) {
      CHECK(equal(session.run(good), sequential.run(good)));
      CHECK(failure_of([&] { session.run(bad); }).message == expected.message);
    }
    CHECK(has_lanes(session));
  }
}

TEST_CASE("a run in lanes stops where it is asked to") {
  ParallelHost four(4);
  Stumbling::source = {};
  auto session = in_lanes(branches(four, 6, 8, [](int branch, int i) {
    return tenon::Attributes{{"stops", branch == 1 && i == 4}, {"milliseconds", 1}};
  }));
  const NamedTensors inputs{{"x", ramp(64)}};
  session.run(inputs);  // nobody looks at the token
  session.run(inputs);
  REQUIRE(has_lanes(session));
  Stumbling::source = {};
  Stumbling::calls = 0;
  CHECK(failure_of([&] { session.run(inputs, RunOptions{.stop = Stumbling::source.get_token()}); }).message == "the run was stopped");
  CHECK(Stumbling::calls < 48);
  Stumbling::calls = 0;
  CHECK(failure_of([&] { session.run(inputs, RunOptions{.stop = Stumbling::source.get_token()}); }).message == "the run was stopped");
  CHECK(Stumbling::calls == 0);
}

TEST_CASE("training in lanes: states, updates in place, sums of gradients and random numbers stay the same") {
  const auto trained = [](int threads, bool lanes) {
    ParallelHost host(threads);
    Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {8, 16});
    std::vector<Value> weights;
    Value loss;
    for (int branch = 0; branch < 5; ++branch) {
      const auto name = "w" + std::to_string(branch);
      const auto hidden = graph.add("fully_connected", {x}, {{"num_hidden", 32}}, name);
      const auto dropped = graph.add("dropout", {hidden}, {{"p", 0.25}}, "drop" + std::to_string(branch));
      graph.output("count" + std::to_string(branch), graph.add("counter", {dropped}, {}, "count" + std::to_string(branch)));
      const auto term = graph.add("quadratic", {dropped}, {{"a", 0.25}, {"b", 0.5}});
      loss = loss.empty() ? term : graph.add("test_add", {loss, term});
      weights.push_back(graph.find(name + "_weight"));
    }
    graph.output("loss", loss);
    const auto gradients = graph.gradient(loss, weights);
    for (std::size_t i = 0; i < weights.size(); ++i)
      graph.update(weights[i], graph.add("descent", {weights[i], gradients[i]}, {}, "next" + std::to_string(i)));
    const SessionOptions options{.seed = 7, .training = true};
    auto session = lanes ? in_lanes(graph, options) : in_order(graph, options);
    NamedTensors all;
    for (int step = 0; step < 12; ++step)
      for (const auto& [name, value] : session.run({{"x", ramp(128, static_cast<float>(step) / 16).reshape({8, 16})}}))
        all[name + std::to_string(step)] = value;
    for (int i = 0; i < 5; ++i) all["w" + std::to_string(i)] = session.tensor("w" + std::to_string(i) + "_weight");
    CHECK(has_lanes(session) == lanes);
    return all;
  };
  const auto expected = trained(1, false);
  for (const int threads : {2, 4})
    for (int round = 0; round < 3; ++round) CHECK(equal(trained(threads, true), expected));
}

TEST_CASE("outputs that overlap what a run reads come out as one step after the other makes them") {
  ParallelHost four(4);
  Graph graph(four);
  const auto x = graph.input("x", tenon::f32, {64});
  graph.output("first", graph.add("stumbling", {graph.add("stumbling", {x})}));
  graph.output("second", graph.add("stumbling", {graph.add("quadratic", {x}, {{"a", 1.0}})}));
  graph.output("third", graph.add("mix", {x}, {{"size", 64}}));
  auto session = in_lanes(graph), sequential = in_order(graph);
  for (int run = 0; run < 6; ++run) {
    std::map<bool, NamedTensors> made;
    for (const bool lanes : {false, true}) {
      const auto input = ramp(64);
      made[lanes] = (lanes ? session : sequential).run({{"x", input}}, tenon::Destinations{{"first", {input}}});
    }
    CHECK(equal(made[true], made[false]));
  }
  CHECK(has_lanes(session));
}

TEST_CASE("many threads of an application run sessions in lanes side by side") {
  ParallelHost host(3);
  constexpr std::size_t sessions = 4, callers = 12;
  const auto graph = random_graph(host, 5);
  auto sequential = in_order(graph);
  std::vector<NamedTensors> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(sequential.run({{"x", ramp(64, static_cast<float>(i))}}));
  std::vector<std::unique_ptr<Session>> all;
  std::mutex mutexes[sessions];
  for (std::size_t i = 0; i < sessions; ++i) all.push_back(std::make_unique<Session>(in_lanes(graph)));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      for (std::size_t run = 0; run < 8; ++run) {
        const auto which = (caller + run) % sessions, input = run % expected.size();
        const std::lock_guard lock(mutexes[which]);
        if (!equal(all[which]->run({{"x", ramp(64, static_cast<float>(input))}}), expected[input])) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  for (const auto& session : all) CHECK(has_lanes(*session));
}

TEST_CASE("the first runs show whether lanes pay, and the plan tells of them") {
  ParallelHost two(2), one(1);
  const auto sleeping = [](tenon::Host& host, int count, int length) {
    return branches(host, count, length, [](int, int) { return tenon::Attributes{{"milliseconds", 2}}; });
  };
  const NamedTensors inputs{{"x", ramp(64)}};
  const auto run = [&](Session& session) {
    Tensor y;
    for (int i = 0; i < 12; ++i) y = session.run(inputs).at("y");
    return y;
  };
  Session chain(sleeping(two, 1, 6)), alone(sleeping(one, 4, 3)), never(sleeping(two, 4, 3), {.parallel = false}),
      watched(sleeping(two, 4, 3), {.profile = true});
  std::optional<Session> wide;
  Tensor y;
  for (int i = 0; i < 5 && (!wide || !has_lanes(*wide)); ++i) y = run(wide.emplace(sleeping(two, 4, 3)));  // the machine may be busy
  CHECK(same_bits(y, run(alone)));
  CHECK(same_bits(y, run(never)));
  CHECK(same_bits(y, run(watched)));
  run(chain);
  for (auto* session : {&chain, &alone, &never, &watched}) {
    CHECK_FALSE(has_lanes(*session));
    CHECK(session->plan({}).in_lanes == 0);
    CHECK(session->plan({}).steps[0].lane == -1);
  }
  REQUIRE(has_lanes(*wide));
  const auto plan = wide->plan({});
  CHECK(plan.alone >= 24'000'000);
  CHECK(plan.in_lanes >= 12'000'000);
  CHECK(plan.in_lanes < plan.alone);
  CHECK(plan.steps[0].lane >= 0);
  CHECK(wide->describe_plan({}).find(" lane 1") != std::string::npos);
}

TEST_CASE("runs by places take up the plan in lanes, and give it up where memory is short") {
  ParallelHost four(4);
  const auto graph = random_graph(four, 8);
  const auto expected = in_order(graph).run({{"x", ramp(64)}}).at("loss");
  auto session = in_lanes(graph);
  const std::vector<Tensor> inputs{ramp(64)};
  for (int run = 0; run < 6; ++run) {
    std::vector<Tensor> outputs(1);
    session.run_in_order(inputs, outputs);
    CHECK(same_bits(outputs[0], expected));
  }
  CHECK(has_lanes(session));
  auto small = in_lanes(graph);
  small.run({{"x", ramp(64)}});
  impl_of(four).options.memory_limit = 1;  // what the process has already is more
  for (int run = 0; run < 6; ++run) CHECK(same_bits(small.run({{"x", ramp(64)}}).at("loss"), expected));
  CHECK_FALSE(has_lanes(small));
}
