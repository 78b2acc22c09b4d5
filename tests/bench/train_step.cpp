// A training step of an MLP 784-512-512-10 in float32 by adam with batches of 128: the time from
// the batch to the updated weights, and the memory of its values compared with the largest live
// set. Counters: `bytes`, their lower `bound` and the `ratio` of the two; the goal is 1.05.
#include <benchmark/benchmark.h>

#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>

#include "../plan/plan_of.hpp"
#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"
#include "train/training_graphs.hpp"

using namespace tenon;

namespace {

constexpr std::int64_t batch = 128, examples = 10 * batch, features = 784, classes = 10;

Graph mlp(Host& host) {
  Graph graph(host);
  auto x = graph.input("image", f32, {-1, features});
  for (int i = 0; i < 2; ++i)
    x = graph.add("relu", {graph.add("fully_connected", {x}, {{"num_hidden", 512}})});
  const auto scores = graph.add("fully_connected", {x}, {{"num_hidden", classes}}, "scores");
  graph.output(
      "loss", graph.add("softmax_cross_entropy", {scores, graph.input("label", DType::i64, {-1})}));
  return graph;
}

NamedTensors data(std::int64_t rows) {
  auto image = Tensor::empty(f32, {rows, features});
  auto label = Tensor::empty(DType::i64, {rows});
  for (std::int64_t i = 0; i < image.size(); ++i)
    image.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i * 7919 % 256) / 256;
  for (std::int64_t i = 0; i < rows; ++i)
    label.values<std::int64_t>()[static_cast<std::size_t>(i)] = i % classes;
  return {{"image", image}, {"label", label}};
}

void train_step(benchmark::State& state) {
  const TemporaryFolder cache;
  auto host_options = plugin_options(cache);
  host_options.threads = static_cast<int>(state.range(0));
  Host host(host_options);
  host.add_plugins(TENON_TEST_PLUGINS);
  TrainerOptions options;
  options.loss = "loss";
  options.batch = batch;
  auto graph = mlp(host);
  graph.initialize();
  Trainer trainer(graph, data(examples), options);
  for (auto _ : state) benchmark::DoNotOptimize(trainer.step());
  state.SetItemsProcessed(state.iterations() * batch);
  const auto one = data(batch);
  const auto placement = plan_of(make_gradient_graph(graph, one, options).graph, true,
                                 {{"image", one.at("image").shape()}, {"label", {batch}}})
                             .arenas[0]
                             .placement;
  state.counters["bytes"] = static_cast<double>(placement.bytes);
  state.counters["bound"] = static_cast<double>(placement.lower_bound);
  state.counters["ratio"] = placement.ratio();
}

}  // namespace

BENCHMARK(train_step)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_MAIN();
