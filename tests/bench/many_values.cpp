// Graphs with very many values: n inputs that are also outputs, and n updated variables. The
// counter `per_value` is the same for any n if the time is linear.
#include <benchmark/benchmark.h>

#include <fstream>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "../temporary_folder.hpp"

using namespace tenon;

namespace {

struct Twice : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("2x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x + x;
  }
};

Host& host() {
  static auto made = [] {
    HostOptions options;
    options.threads = 1;
    options.search_defaults = false;
    auto host = std::make_unique<Host>(options);
    host->add<Twice>("twice");
    return host;
  }();
  return *made;
}

NamedTensors inputs_of(std::int64_t n) {
  NamedTensors inputs;
  for (std::int64_t i = 0; i < n; ++i)
    inputs.emplace("x" + std::to_string(i), Tensor::from({1.0F}, {1}));
  return inputs;
}

Graph with_inputs(std::int64_t n) {
  Graph graph(host());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto number = std::to_string(i);
    graph.output("y" + number, graph.add("twice", {graph.input("x" + number, f32, {1})}));
  }
  return graph;
}

Graph with_updates(std::int64_t n) {
  Graph graph(host());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto variable = graph.variable("w" + std::to_string(i), Tensor::from({1.0F}, {1}));
    graph.update(variable, graph.add("twice", {variable}));
  }
  graph.output("y", graph.find("w0"));
  return graph;
}

void count(benchmark::State& state) {
  state.counters["per_value"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void build(benchmark::State& state, Graph (*make)(std::int64_t)) {
  for (auto _ : state) benchmark::DoNotOptimize(make(state.range(0)));
  count(state);
}

void load(benchmark::State& state, Graph (*make)(std::int64_t), bool json) {
  const TemporaryFolder folder;
  const auto path = folder / (json ? "values.json" : "values.tenon");
  auto graph = make(state.range(0));
  json ? void(std::ofstream(path) << graph.to_json()) : graph.save(path);
  for (auto _ : state) benchmark::DoNotOptimize(Graph::load(host(), path));
  count(state);
}

/// Runs a new session, which plans; with `again`, one that has already planned.
void run(benchmark::State& state, Graph (*make)(std::int64_t), bool inputs, bool again) {
  const auto graph = make(state.range(0));
  const auto given = inputs ? inputs_of(state.range(0)) : NamedTensors();
  SessionOptions options;
  options.training = true;
  Session kept(graph, options);
  if (again) kept.run(given);
  for (auto _ : state)
    benchmark::DoNotOptimize(again ? kept.run(given) : Session(graph, options).run(given));
  count(state);
}

void read_back(benchmark::State& state) {
  Session session(with_updates(state.range(0)), {.seed = 0, .training = true});
  session.run({});
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i)
      benchmark::DoNotOptimize(session.tensor("w" + std::to_string(i)));
    benchmark::DoNotOptimize(session.graph());
  }
  count(state);
}

void sizes(benchmark::internal::Benchmark* one) {
  one->Arg(25000)->Arg(50000)->Arg(100000)->Arg(200000)->Unit(benchmark::kMillisecond);
}

}  // namespace

BENCHMARK_CAPTURE(build, inputs, with_inputs)->Apply(sizes);
BENCHMARK_CAPTURE(build, updates, with_updates)->Apply(sizes);
BENCHMARK_CAPTURE(load, inputs, with_inputs, false)->Apply(sizes);
BENCHMARK_CAPTURE(load, inputs_json, with_inputs, true)->Apply(sizes);
BENCHMARK_CAPTURE(load, updates, with_updates, false)->Apply(sizes);
BENCHMARK_CAPTURE(load, updates_json, with_updates, true)->Apply(sizes);
BENCHMARK_CAPTURE(run, inputs_first, with_inputs, true, false)->Apply(sizes);
BENCHMARK_CAPTURE(run, inputs_again, with_inputs, true, true)->Apply(sizes);
BENCHMARK_CAPTURE(run, updates_first, with_updates, false, false)->Apply(sizes);
BENCHMARK_CAPTURE(run, updates_again, with_updates, false, true)->Apply(sizes);
BENCHMARK(read_back)->Apply(sizes);
BENCHMARK_MAIN();
