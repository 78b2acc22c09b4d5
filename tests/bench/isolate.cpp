// The cost of running plugins in worker processes: a prepared call of one element, and runs of a
// session whose kernels take more than a millisecond, without workers (0), in workers (1), and with
// only the elementwise operators in one (2). Goals on an idle machine: 15 us per call, 5 % of a
// run.
#include <benchmark/benchmark.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

namespace {

tenon::HostOptions options(std::int64_t isolated) {
  tenon::HostOptions options;
  options.threads = 1;
  options.search_defaults = false;
  options.trust_writable = true;
  options.isolate.all = isolated == 1;
  if (isolated == 2) options.isolate.plugins = {"tenon_elementwise"};
  return options;
}

struct Setting {
  tenon::Host host;
  explicit Setting(const benchmark::State& state) : host(options(state.range(0))) {
    host.add_plugins(TENON_TEST_PLUGINS);
  }
};

void one_element(benchmark::State& state) {
  Setting setting(state);
  const std::vector<tenon::Tensor> inputs{tenon::Tensor::zeros(tenon::f32, {1})};
  auto call = setting.host.prepare("square", {tenon::Argument::like(inputs[0])});
  std::vector<tenon::Tensor> outputs{tenon::Tensor::zeros(tenon::f32, {1})};
  for (auto _ : state) call.forward(inputs, outputs);
}

// The graph's input and output are small; the large values are inside.
void run(benchmark::State& state, tenon::Graph& graph, const tenon::Value& last,
         const tenon::NamedTensors& inputs) {
  graph.output("y", graph.add("sum", {last}));
  tenon::Session session(graph);
  session.run(inputs);
  for (auto _ : state) session.run(inputs);
}

/// Memory-bound: each of the three operators reads and writes 16 MiB.
void elementwise(benchmark::State& state) {
  Setting setting(state);
  tenon::Graph graph(setting.host);
  const auto x = graph.input("x", tenon::f32, {1});
  const auto large = graph.add("broadcast_to", {x}, {{"shape", {4 << 20}}});
  run(state, graph, graph.add("neg", {graph.add("sqrt", {graph.add("square", {large})})}),
      {{"x", tenon::full(tenon::f32, {1}, 3)}});
}

/// Compute-bound.
void product(benchmark::State& state) {
  Setting setting(state);
  tenon::Graph graph(setting.host);
  const auto x = graph.input("x", tenon::f32, {1});
  const auto left = graph.add("broadcast_to", {x}, {{"shape", {512, 512}}});
  const auto weight = graph.variable("weight", tenon::random_normal(tenon::f32, {512, 512}, 1));
  run(state, graph, graph.add("matmul", {left, weight}), {{"x", tenon::full(tenon::f32, {1}, 3)}});
}

/// A weight of 16 MiB, read once for one row.
void large_weight(benchmark::State& state) {
  Setting setting(state);
  tenon::Graph graph(setting.host);
  const auto x = graph.input("x", tenon::f32, {1, 2048});
  const auto weight = graph.variable("weight", tenon::random_normal(tenon::f32, {2048, 2048}, 1));
  run(state, graph, graph.add("matmul", {x, weight}),
      {{"x", tenon::random_normal(tenon::f32, {1, 2048}, 2)}});
}

BENCHMARK(one_element)->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK(elementwise)->Arg(0)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(product)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(large_weight)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
