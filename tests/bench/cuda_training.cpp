// Training steps on a GPU: an MLP 784-512-512-10 and a small convnet on 28 x 28 images, with adam
// and batches of 128. Besides the time of a step, reports for later steps, per step: microseconds
// in kernels (`kernel_us`), the share of them in library kernels (`library`), the share of the step
// in which a kernel ran (`busy`), and calls that wait for the GPU or allocate its memory.
#include <chrono>
#include <cstdio>
#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>

#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"
#include "cuda_kernel.hpp"
#include "kernel_times.hpp"

using namespace tenon;

namespace {

constexpr std::int64_t batch = 128, examples = 10 * batch, side = 28, classes = 10;

Value mlp(Graph& graph, Value image) {
  auto x = graph.add("reshape", {image}, {{"shape", std::vector<std::int64_t>{-1, side * side}}});
  for (int i = 0; i < 2; ++i)
    x = graph.add("relu", {graph.add("fully_connected", {x}, {{"num_hidden", 512}})});
  return x;
}

Value convnet(Graph& graph, Value image) {
  const std::vector<std::int64_t> three{3, 3}, two{2, 2}, one{1, 1};
  auto x = image;
  for (const std::int64_t filters : {32, 64}) {
    x = graph.add("convolution", {x}, {{"num_filter", filters}, {"kernel", three}, {"pad", one}});
    x = graph.add("max_pool", {graph.add("relu", {graph.add("batch_norm", {x})})},
                  {{"kernel", two}, {"stride", two}});
  }
  x = graph.add("reshape", {x}, {{"shape", std::vector<std::int64_t>{-1, 64 * 7 * 7}}});
  return graph.add("relu", {graph.add("fully_connected", {x}, {{"num_hidden", 128}})});
}

NamedTensors data() {
  auto image = Tensor::empty(f32, {examples, 1, side, side});
  auto label = Tensor::empty(DType::i64, {examples});
  for (std::size_t i = 0; i < static_cast<std::size_t>(image.size()); ++i)
    image.values<float>()[i] = static_cast<float>(i * 7919 % 256) / 256;
  for (std::size_t i = 0; i < static_cast<std::size_t>(examples); ++i)
    label.values<std::int64_t>()[i] = static_cast<std::int64_t>(i) % classes;
  return {{"image", image}, {"label", label}};
}

// CUPTI may not report CUDA graphs created before it, and older versions crash: it is started
// first.
void start_cupti() {
  try {
    KernelWatch().stop();
  } catch (const std::exception&) {  // reported later, if it is needed
  }
}

// A trainer after its setup and captures.
Trainer trainer_of(const Graph& graph, const TrainerOptions& options) {
  Trainer trainer(graph, data(), options);
  for (int i = 0; i < 3; ++i) trainer.step();
  return trainer;
}

// Tracing takes time: it uses other steps, and other CUDA graphs, than the timed ones.
void tell_kernels(benchmark::State& state, const Graph& graph, const TrainerOptions& options) {
  constexpr int steps = 50;
  try {
    auto& device = find_device(options.device);
    KernelWatch watch;
    auto trainer = trainer_of(graph, options);
    device.synchronize();
    watch.restart();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) trainer.step();
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - begin;
    device.synchronize();
    const auto times = watch.stop();
    if (times.lost > 0)
      throw std::runtime_error("CUPTI lost records: " + std::to_string(times.lost));
    if (times.kernels == 0) throw std::runtime_error("CUPTI reported no kernels");
    state.counters["kernel_us"] = times.all() / steps;
    state.counters["library"] = times.library / times.all();
    state.counters["busy"] = times.all() / taken.count();
    state.counters["kernels"] = static_cast<double>(times.kernels) / steps;
    state.counters["waits"] = static_cast<double>(times.waits) / steps;
    state.counters["allocations"] = static_cast<double>(times.allocations) / steps;
    int left = 8;
    for (const auto& [time, name] : times.longest())
      if (left-- > 0)
        std::fprintf(stderr, "%5.1f %% %s\n", 100 * time / times.all(),
                     name.substr(0, 200).c_str());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "library kernels are not counted separately: %s\n", failure.what());
  }
}

void train_step(benchmark::State& state, Value (*network)(Graph&, Value), const char* device) {
  const TemporaryFolder cache;
  Host host(plugin_options(cache));
  host.add_plugins(built("plugins"));
  Graph graph(host);
  const auto last = network(graph, graph.input("image", f32, {-1, 1, side, side}));
  const auto scores = graph.add("fully_connected", {last}, {{"num_hidden", classes}}, "scores");
  graph.output(
      "loss", graph.add("softmax_cross_entropy", {scores, graph.input("label", DType::i64, {-1})}));
  graph.initialize();
  TrainerOptions options;
  options.loss = "loss";
  options.batch = batch;
  options.device = device;
  auto trainer = trainer_of(graph, options);
  for (auto _ : state) benchmark::DoNotOptimize(trainer.step());
  state.SetItemsProcessed(state.iterations() * batch);
  if (options.device != "cpu") tell_kernels(state, graph, options);
}

}  // namespace

BENCHMARK_CAPTURE(train_step, mlp_cuda, mlp, "cuda")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(train_step, convnet_cuda, convnet, "cuda")
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(train_step, mlp_cpu, mlp, "cpu")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(train_step, convnet_cpu, convnet, "cpu")
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

int main(int count, char** words) {
  start_cupti();
  return run_cuda_benchmarks(count, words);
}
