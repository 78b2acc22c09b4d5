// From a file to the first result, as in a program's startup: open, bind, plan, run. Graphs are
// chains of elementwise nodes, and a lattice whose nodes read two values. The counter `us_per_node`
// is constant if the time is linear in the number of nodes.
#include <benchmark/benchmark.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "../temporary_folder.hpp"
#include "plus.hpp"

using namespace tenon;

namespace {

Graph chain(Host& host, std::int64_t nodes) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {1});
  auto last = x;
  for (std::int64_t i = 0; i < nodes; ++i) last = graph.add("plus", {last, x});
  graph.output("y", last);
  return graph;
}

Graph lattice(Host& host, std::int64_t nodes) {
  Graph graph(host);
  auto last = graph.input("x", f32, {1}), before = last;
  for (std::int64_t i = 0; i < nodes; ++i)
    last = graph.add("plus", {last, std::exchange(before, last)});
  graph.output("y", last);
  return graph;
}

void first_result(benchmark::State& state, Graph (*make)(Host&, std::int64_t)) {
  const TemporaryFolder folder;
  HostOptions options;
  options.search_defaults = false;
  options.cache = folder.path();
  Host host(options);
  host.add<Plus>("plus");
  const auto path = folder / "nodes.tenon";
  make(host, state.range(0)).save(path);
  const NamedTensors inputs{{"x", Tensor::zeros(f32, {1})}};
  for (auto _ : state) {
    Session session(Graph::load(host, path));
    benchmark::DoNotOptimize(session.run(inputs));
  }
  state.counters["us_per_node"] = benchmark::Counter(
      static_cast<double>(state.range(0)) * 1e-6,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK_CAPTURE(first_result, chain, chain)
    ->Arg(10000)
    ->Arg(100000)
    ->Arg(1000000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(first_result, lattice, lattice)
    ->Arg(10000)
    ->Arg(100000)
    ->Arg(1000000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_MAIN();
