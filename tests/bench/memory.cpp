// Memory planning: how close arenas come to the largest live set, and how long planning takes.
// Counters: `bytes`, their lower `bound` and the `ratio` of the two; for many graphs its `mean` and
// `worst`. Goals: 1.02 and 1.10, and 100,000 values within a second.
#include <benchmark/benchmark.h>

#include <tenon/host/host.hpp>

#include "../plan/buffers.hpp"
#include "../plan/plan_of.hpp"
#include "../plan/random_graph.hpp"
#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"
#include "networks.hpp"

using namespace tenon;

namespace {

Host& host() {
  static const TemporaryFolder cache;
  static auto made = [] {
    auto options = plugin_options(cache);
    auto host = std::make_unique<Host>(options);
    host->add_plugins(TENON_TEST_PLUGINS);
    host->add<Mix>();
    host->add<Blend>();
    return host;
  }();
  return *made;
}

void report(benchmark::State& state, const MemoryPlacement& placement) {
  state.counters["bytes"] = static_cast<double>(placement.bytes);
  state.counters["bound"] = static_cast<double>(placement.lower_bound);
  state.counters["ratio"] = placement.ratio();
  state.SetLabel(std::string(name_of(placement.strategy)));
}

void plan_again_and_again(benchmark::State& state, const Planned& planned) {
  MemoryPlacement placement;
  for (auto _ : state) placement = planned.plan().arenas[0].placement;
  report(state, placement);
}

void network(benchmark::State& state, Layers (*make)(Host&), bool backward) {
  const auto net = make(host());
  plan_again_and_again(state, Planned(backward ? net.with_gradients() : net.graph, backward));
}

template <class Place>
void random_graphs(benchmark::State& state, Place place) {
  constexpr std::uint32_t count = 200;
  std::vector<std::vector<Buffer>> graphs;
  for (std::uint32_t n = 0; n < count; ++n)
    graphs.push_back(Planned(random_graph(host(), n)).plan().buffers);
  double sum = 0, worst = 0;
  for (auto _ : state) {
    sum = worst = 0;
    for (const auto& buffers : graphs) {
      const auto ratio = place(buffers).ratio();
      sum += ratio;
      worst = std::max(worst, ratio);
    }
  }
  state.counters["mean"] = sum / count;
  state.counters["worst"] = worst;
}

void buffers_100000(benchmark::State& state) {
  const auto buffers =
      random_buffers(1, 100000, 100000, static_cast<std::uint32_t>(state.range(0)), 1 << 20);
  MemoryPlacement placement;
  for (auto _ : state) placement = place(buffers);
  report(state, placement);
}

void values_100000(benchmark::State& state, bool backward) {
  plan_again_and_again(state,
                       Planned(RandomGraph(host(), 1).run(backward ? 50000 : 100000, backward)));
}

const bool registered = [] {
  for (const bool backward : {false, true})
    for (const auto& [name, make] : published_networks)
      benchmark::RegisterBenchmark((std::string(name) + (backward ? ", backward" : "")).c_str(),
                                   network, make, backward)
          ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace

BENCHMARK_CAPTURE(random_graphs, place, place)
    ->Name("200 random graphs")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(random_graphs, by_size, [](const auto& buffers) {
  return place_by(Strategy::by_size, buffers);
}) -> Name("200 random graphs, only by size") -> Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(random_graphs, by_breadth, [](const auto& buffers) {
  return place_by(Strategy::by_breadth, buffers);
}) -> Name("200 random graphs, only by breadth") -> Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(random_graphs, execution_order, [](const auto& buffers) {
  return place_by(Strategy::execution_order, buffers);
}) -> Name("200 random graphs, only in execution order") -> Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(values_100000, forward, false)
    ->Name("100,000 values")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(values_100000, backward, true)
    ->Name("50,000 values and their gradients")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(buffers_100000)
    ->Name("100,000 buffers of any size, with lifetimes in steps")
    ->RangeMultiplier(10)
    ->Range(10, 100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
