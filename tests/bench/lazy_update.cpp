// One update, from a gradient of 100 rows, of weights with 10^4 and 10^7 rows of 8 float32; and a
// whole training step by adam of an embedding with such a table, from the batch to the updated
// rows. Both must take the same time. Counter `ratio`: the time relative to that for 10^4 rows; the
// goal is at most 1.5. Every update has the same rows, as is nearly true of frequent words, so that
// both tables are cached; `scattered` takes different rows each time and so waits for the memory of
// the large weight, which no update could avoid.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"

using namespace tenon;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t stored = 100, columns = 8, few = 10'000, many = 10'000'000;

Host& host() {
  static const TemporaryFolder cache;
  static const auto made = [] {
    auto options = plugin_options(cache);
    options.strict_storage = true;
    options.threads = 1;
    auto host = std::make_unique<Host>(options);
    host->add_plugins(TENON_TEST_PLUGINS);
    return host;
  }();
  return *made;
}

/// Seconds per step: the median over runs of 100 steps.
template <class Steps>
double seconds(Steps& steps) {
  std::vector<double> times;
  for (int run = 0; run < 31; ++run) {
    const auto begin = Clock::now();
    for (int i = 0; i < 100; ++i) steps.step();
    times.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / 100);
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  return times[15];
}

/// A weight, its optimizer, and gradients of `stored` rows each, spread over the weight.
class Update {
 public:
  Update(const char* optimizer, std::int64_t rows, std::int64_t gradients)
      : session_(graph_of(optimizer, rows), options()) {
    const auto rate = Tensor::from({0.01F}, Shape::scalar());
    for (std::int64_t k = 0; k < gradients; ++k) {
      std::vector<std::int64_t> ids;
      for (std::int64_t i = 0; i < stored; ++i)
        ids.push_back(i * (rows / stored) + (k * 7919 + i * 31) % (rows / stored));
      const std::vector<float> values(static_cast<std::size_t>(stored * columns), 0.5F);
      inputs_.push_back({{"grad", Tensor::row_sparse(Tensor::from(values, {stored, columns}),
                                                     Tensor::from(ids, {stored}), {rows, columns})},
                         {"rate", rate}});
    }
  }

  void step() {
    session_.run(inputs_[next_]);
    next_ = (next_ + 1) % inputs_.size();
  }

 private:
  static SessionOptions options() {
    SessionOptions options;
    options.training = true;
    return options;
  }
  static Graph graph_of(const char* optimizer, std::int64_t rows) {
    Graph graph(host());
    const auto weight = graph.variable("weight", Tensor::zeros(f32, {rows, columns}));
    const auto grad = graph.input("grad", f32, {rows, columns}),
               rate = graph.input("rate", f32, Shape::scalar());
    graph.update(weight, graph.add(optimizer, {weight, grad, rate}));
    return graph;
  }

  Session session_;
  std::vector<NamedTensors> inputs_;
  std::size_t next_ = 0;
};

/// The sum of `stored` rows of a table, the same rows in every step.
Trainer trainer_of(std::int64_t rows) {
  Graph graph(host());
  const auto table = graph.variable("table", Tensor::zeros(f32, {rows, columns}));
  const auto found =
      graph.add("embedding", {graph.input("row", i64, {-1}), table},
                {{"input_dim", rows}, {"output_dim", columns}, {"sparse_grad", true}});
  graph.output("loss", graph.add("sum", {found}));
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < stored; ++i)
    ids.push_back(i * (rows / stored) + i * 31 % (rows / stored));
  TrainerOptions options;
  options.loss = "loss";
  options.batch = stored;
  options.clip_norm = 1;
  return {graph, {{"row", Tensor::from(ids, {stored})}}, options};
}

/// Benchmarks `large`; `small` is the same with few rows.
template <class Steps>
void report(benchmark::State& state, Steps large, Steps small) {
  for (auto _ : state) large.step();
  const double before = seconds(small), between = seconds(large),
               after = seconds(small);  // alternating: the load changes
  state.counters["ratio"] = 2 * between / (before + after);
}

void lazy_update(benchmark::State& state, const char* optimizer, std::int64_t gradients) {
  report(state, Update(optimizer, state.range(0), gradients), Update(optimizer, few, gradients));
}

void training_step(benchmark::State& state) {
  report(state, trainer_of(state.range(0)), trainer_of(few));
}

}  // namespace

BENCHMARK_CAPTURE(lazy_update, sgd, "sgd", 1)
    ->ArgName("rows")
    ->Arg(few)
    ->Arg(many)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(lazy_update, adam, "adam", 1)
    ->ArgName("rows")
    ->Arg(few)
    ->Arg(many)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(lazy_update, sgd_scattered, "sgd", 997)
    ->ArgName("rows")
    ->Arg(few)
    ->Arg(many)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(lazy_update, adam_scattered, "adam", 997)
    ->ArgName("rows")
    ->Arg(few)
    ->Arg(many)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(training_step)->ArgName("rows")->Arg(few)->Arg(many)->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
