// .tenon files: bytes per node, the time from a path to a checked graph, and the cost of 1 GiB of
// weights before the first run.
//   bench_file        prints the counters bytes_per_node and resident_MiB next to the times
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../file/sample_graph.hpp"
#include "../temporary_folder.hpp"
#include "file/tenon/tenon_file.hpp"

using namespace tenon;

namespace {

const TemporaryFolder& folder() {
  static const TemporaryFolder made;
  return made;
}

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void open_chain(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const auto path = folder() / ("chain" + std::to_string(nodes) + ".tenon");
  write_tenon(chain_graph(nodes), path);
  for (auto _ : state) benchmark::DoNotOptimize(read_tenon(path));
  state.counters["bytes_per_node"] = static_cast<double>(std::filesystem::file_size(path)) / nodes;
  state.counters["us_per_node"] = benchmark::Counter(
      nodes * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(open_chain)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

void save_chain(benchmark::State& state) {
  const auto graph = chain_graph(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) write_tenon(graph, folder() / "saved.tenon");
}
BENCHMARK(save_chain)->Arg(100000)->Unit(benchmark::kMillisecond);

void open_1_gib(benchmark::State& state, FileCheck check) {
  const auto path = folder() / "large.tenon";
  {
    GraphMaker make;
    for (int i = 0; i < 16; ++i)
      make.tensor("weight" + std::to_string(i), Role::variable, Tensor::zeros(f32, {4096, 4096}));
    write_tenon(make.model, path);
  }
  const double before = resident_mib();
  double most = 0;
  for (auto _ : state) {
    const auto graph = read_tenon(path, check);
    most = std::max(most, resident_mib() - before);
  }
  state.counters["resident_MiB"] = most;
}
BENCHMARK_CAPTURE(open_1_gib, structure, FileCheck::structure)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(open_1_gib, checksums, FileCheck::everything)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();  // threads compare checksums

}  // namespace

BENCHMARK_MAIN();
