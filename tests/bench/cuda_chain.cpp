// A chain of 1,000 operators on one element each: a session's run compared with a CUDA graph of the
// same kernels. Goal: at most 1.1 times the graph's time.
#include <cuda_runtime_api.h>

#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"
#include "cuda_kernel.hpp"
#include "device/block.hpp"

using namespace tenon;

namespace {

constexpr int nodes = 1000;
const std::vector<std::pair<const char*, double>> parameters = {
    {"a", 0.5}, {"b", 0.25}, {"c", 0.125}};

void session(benchmark::State& state) {
  const TemporaryFolder cache;
  Host host(plugin_options(cache));
  host.add_plugins(built("plugins"));
  Graph graph(host);
  auto value = graph.input("x", f32, {1});
  for (int i = 0; i < nodes; ++i)
    value = graph.add("quadratic", {value}, {{"a", 0.5}, {"b", 0.25}, {"c", 0.125}});
  graph.output("y", value);
  SessionOptions session_options;
  session_options.device = "cuda";
  session_options.keep_on_device = true;
  Session session(std::move(graph), session_options);
  const NamedTensors inputs{{"x", Tensor::zeros(f32, {1}).to("cuda")}};
  for (int i = 0; i < 3; ++i) session.run(inputs);  // plans, and captures if it can
  for (auto _ : state) benchmark::DoNotOptimize(session.run(inputs));
  find_device("cuda").synchronize();
  state.SetItemsProcessed(state.iterations() * nodes);
}

void require(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

void captured_by_hand(benchmark::State& state) {
  const Stream stream(find_device("cuda"));
  const auto handle = static_cast<cudaStream_t>(stream.handle());
  const Block one(stream, sizeof(float), "the benchmark"),
      other(stream, sizeof(float), "the benchmark");
  stream.synchronize();
  CudaKernel kernel("quadratic", parameters);
  kernel.forward({one.data()}, other.data(), 1, handle);  // the first launch loads the module
  stream.synchronize();
  require(cudaStreamBeginCapture(handle, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < nodes; ++i)
    kernel.forward({(i % 2 ? other : one).data()}, (i % 2 ? one : other).data(), 1, handle);
  cudaGraph_t graph = nullptr;
  require(cudaStreamEndCapture(handle, &graph));
  cudaGraphExec_t runnable = nullptr;
  require(cudaGraphInstantiate(&runnable, graph, 0));
  for (auto _ : state) {
    require(cudaGraphLaunch(runnable, handle));
    stream.synchronize();
  }
  state.SetItemsProcessed(state.iterations() * nodes);
  require(cudaGraphExecDestroy(runnable));
  require(cudaGraphDestroy(graph));
}

}  // namespace

BENCHMARK(captured_by_hand)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(session)->UseRealTime()->Unit(benchmark::kMicrosecond);

int main(int count, char** words) {
  return run_cuda_benchmarks(count, words);
}
