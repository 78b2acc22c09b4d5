// Steps that run at once: branches, chains, many callers, and a network with branches. Each with its floor in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>
#include <thread>
#include <vector>

#include "../built.hpp"
#include "networks.hpp"
#include "run/session_impl.hpp"

namespace {

using Clock = std::chrono::steady_clock;

void turn(std::int64_t turns) {
  for (std::int64_t i = 0; i < turns; ++i) benchmark::DoNotOptimize(i);
}

/// The least of many times: others use this machine, too.
std::int64_t turns_for(std::int64_t nanoseconds) {
  static const double each = [] {
    double least = 1e9;
    for (int i = 0; i < 200; ++i) {
      const auto begin = Clock::now();
      turn(20'000);
      least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / 20'000);
    }
    return least;
  }();
  return static_cast<std::int64_t>(static_cast<double>(nanoseconds) / each);
}

/// Keeps a core busy for a while, by counting.
struct Busy : tenon::Operator {
  std::int64_t turns = 0;
  static constexpr void describe(auto& op) {
    op.doc("the input, after a while");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("turns", &Busy::turns, "of a loop").at_least(0);
    op.inplace("x", "y");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call& call) const {
    turn(turns);
    call.output<float>(0)[0] = call.input<float>(0)[0];
  }
};

struct Sum : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the sum of numbers");
    op.types({tenon::f32});
    op.input("x", "[1]").variadic();
    op.output("y", "[1]");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, {1}); }
  void forward(const tenon::Call& call) const {
    float sum = 0;
    for (int i = 0; i < call.inputs(); ++i) sum += call.input<float>(i)[0];
    call.output<float>(0)[0] = sum;
  }
};

tenon::HostOptions options(std::int64_t threads) {
  tenon::HostOptions options;
  options.threads = static_cast<int>(threads);
  options.search_defaults = false;
  return options;
}

tenon::Graph branches(tenon::Host& host, int count, int length, std::int64_t nanoseconds) {
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1});
  std::vector<tenon::Value> ends;
  for (int branch = 0; branch < count; ++branch) {
    auto value = x;
    for (int i = 0; i < length; ++i) value = graph.udf(Busy{{}, turns_for(nanoseconds)}, {value});
    ends.push_back(value);
  }
  graph.output("y", graph.udf(Sum{}, ends));
  return graph;
}

/// The first runs, which show how the steps are best called.
void warm(tenon::Session& session, const tenon::NamedTensors& inputs) {
  for (int i = 0; i < 12; ++i) session.run(inputs);
}

void tell_plan(benchmark::State& state, const tenon::Session& session) {
  for (const auto& [key, planned] : impl_of(session).plans.all()) {
    state.counters["lanes"] = planned.plan->lanes.lanes;
    state.counters["bytes"] = static_cast<double>(planned.plan->memory.bytes());
  }
}

// Arguments: threads (0: all), branches, nodes of each, nanoseconds of each.
void branches_of(benchmark::State& state) {
  tenon::Host host(options(state.range(0)));
  tenon::Session session(branches(host, static_cast<int>(state.range(1)), static_cast<int>(state.range(2)), state.range(3)));
  const tenon::NamedTensors inputs{{"x", tenon::Tensor::zeros(tenon::f32, {1})}};
  warm(session, inputs);
  for (auto _ : state) benchmark::DoNotOptimize(session.run(inputs));
  state.counters["threads"] = host.threads();
  tell_plan(state, session);
}

// Arguments: threads (0: all), sessions, callers. A run is 8 branches of 4 nodes of 20 us.
void callers(benchmark::State& state) {
  tenon::Host host(options(state.range(0)));
  const auto graph = branches(host, 8, 4, 20'000);
  const auto count = static_cast<std::size_t>(state.range(1));
  std::vector<std::unique_ptr<tenon::Session>> sessions;
  std::vector<std::mutex> mutexes(count);
  const tenon::NamedTensors inputs{{"x", tenon::Tensor::zeros(tenon::f32, {1})}};
  for (std::size_t i = 0; i < count; ++i) {
    sessions.push_back(std::make_unique<tenon::Session>(graph));
    warm(*sessions.back(), inputs);
  }
  constexpr int runs_of_each = 8;
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (std::int64_t caller = 0; caller < state.range(2); ++caller)
      threads.emplace_back([&, caller] {
        for (int run = 0; run < runs_of_each; ++run) {
          const auto which = (static_cast<std::size_t>(caller) + static_cast<std::size_t>(run)) % count;
          const std::lock_guard lock(mutexes[which]);
          sessions[which]->run(inputs);
        }
      });
    for (auto& thread : threads) thread.join();
  }
  state.SetItemsProcessed(state.iterations() * state.range(2) * runs_of_each);
  tell_plan(state, *sessions.front());
}

// Argument: threads (0: all).
void inception(benchmark::State& state) {
  tenon::Host host(options(state.range(0)));
  host.add_plugins(built("plugins"));
  auto net = inception_v3(host);
  tenon::Session session(net.graph);
  const tenon::NamedTensors inputs{{"image", tenon::Tensor::zeros(tenon::f32, {1, 3, 299, 299})}};
  warm(session, inputs);
  for (auto _ : state) benchmark::DoNotOptimize(session.run(inputs));
  tell_plan(state, session);
}

}  // namespace

BENCHMARK(branches_of)
    ->ArgNames({"threads", "branches", "nodes", "ns"})
    ->ArgsProduct({{1, 0}, {64}, {20}, {100'000, 1000}})
    ->ArgsProduct({{1, 0}, {1}, {100}, {100'000, 1000}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(callers)
    ->ArgNames({"threads", "sessions", "callers"})
    ->ArgsProduct({{1, 0}, {8}, {64}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(inception)->ArgNames({"threads"})->Arg(1)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
