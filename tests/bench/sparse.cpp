// csr x dense and its transpose times dense, float32, [4096, 4096] x [4096, 128], compared with
// Eigen's product of the same matrices in Eigen's best layouts, compiled for this processor. Both
// alternate, and timed products follow untimed ones of the same kind: threads are awake, operands
// in cache. Counters: `ratio`: Eigen's time on one thread divided by Tenon's; the goal is at least
// 1 on one thread, and 0.7 per core on more. `line_ns`: the time of a cache line between the two
// cores that are furthest apart, before and after, the longer one; below about 60 if all cores
// share a cache, as the goal assumes. `cold_ms`: Tenon's first product of a turn, whose threads
// were asleep. `cpu_ms`: CPU time of all threads per product, which shows duplicated work even on a
// busy machine.
#include <benchmark/benchmark.h>
#include <time.h>

#include <Eigen/SparseCore>
#include <algorithm>
#include <chrono>
#include <random>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <thread>

#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"
#include "line_exchange.hpp"

using namespace tenon;

namespace {

constexpr std::int64_t size = 4096, columns = 128;
using Sparse = Eigen::SparseMatrix<float, Eigen::RowMajor>;
using Dense = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Tensor random_csr(std::int64_t percent) {
  std::mt19937 generator(1);
  auto dense = Tensor::zeros(f32, {size, size});
  for (auto& value : dense.values<float>())
    if (static_cast<std::int64_t>(generator() % 100) < percent)
      value = static_cast<float>(generator() % 1000 + 1) / 1000;
  return cast_storage(dense, Storage::csr);
}

Tensor random_dense() {
  std::mt19937 generator(2);
  auto dense = Tensor::zeros(f32, {size, columns});
  for (auto& value : dense.values<float>()) value = static_cast<float>(generator() % 1000) / 1000;
  return dense;
}

Sparse eigen_csr(const Tensor& csr) {
  std::vector<Eigen::Triplet<float>> entries;
  const auto starts = csr.row_starts(), places = csr.columns(), values = csr.stored_values();
  for (std::int64_t row = 0; row < size; ++row)
    for (auto e = starts.data<std::int64_t>()[row]; e < starts.data<std::int64_t>()[row + 1]; ++e)
      entries.emplace_back(static_cast<int>(row), static_cast<int>(places.data<std::int64_t>()[e]),
                           values.data<float>()[e]);
  Sparse result(size, size);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

void eigen_multiply(const Sparse& left, const Dense& right, bool transpose, Dense& out) {
  if (transpose)
    out.noalias() = left.transpose() * right;
  else
    out.noalias() = left * right;
}

template <class Body>
double seconds_of(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// CPU time of all threads of this process.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> seconds) {
  std::nth_element(seconds.begin(),
                   seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

/// Runs several products and times the last one. Also returns the time of the first one.
struct Turn {
  double first, last;
};
template <class Body>
Turn turn(Body body) {
  constexpr double warm = 30e-3;
  Turn seconds{seconds_of(body), 0};
  for (double spent = seconds.first; spent < warm;) spent += seconds_of(body);
  seconds.last = seconds_of(body);
  return seconds;
}

/// Alternates Tenon and Eigen, so that both run under the same load.
void product(benchmark::State& state, bool transpose) {
  const TemporaryFolder cache;
  auto options = plugin_options(cache);
  options.strict_storage = true;
  options.threads = static_cast<int>(state.range(1));
  Host host(options);
  host.add_plugins(TENON_TEST_PLUGINS);

  const auto left = random_csr(state.range(0)), right = random_dense();
  auto out = Tensor::zeros(f32, {size, columns});
  Graph graph(host);
  graph.output(
      "y", graph.add("matmul",
                     {graph.input("a", f32, {size, size}), graph.input("b", f32, {size, columns})},
                     {{"transpose_a", transpose}}));
  Session session(graph);
  const NamedTensors inputs{{"a", left}, {"b", right}};
  const Destinations destinations{{"y", {out, Write::to}}};

  const Sparse eigen_left = eigen_csr(left);
  const Dense eigen_right = Eigen::Map<const Dense>(right.data<float>(), size, columns);
  Dense eigen_out(size, columns);
  Eigen::setNbThreads(1);

  std::vector<double> ours, cold, eigen, cpu;
  const auto line_before = worst_line_exchange();
  for (auto _ : state) {
    double before = 0;
    const auto times = turn([&] {
      before = cpu_seconds();
      session.run(inputs, destinations);
    });
    cpu.push_back(cpu_seconds() - before);
    ours.push_back(times.last);
    cold.push_back(times.first);
    state.SetIterationTime(ours.back());
    eigen.push_back(
        turn([&] { eigen_multiply(eigen_left, eigen_right, transpose, eigen_out); }).last);
    benchmark::DoNotOptimize(eigen_out.data());
  }
  if (!eigen_out.isApprox(Eigen::Map<const Dense>(out.data<float>(), size, columns), 1e-4f))
    state.SkipWithError("the products differ");
  state.counters["line_ns"] = std::max(line_before, worst_line_exchange());
  state.counters["eigen_ms"] = median(eigen) * 1e3;
  state.counters["cold_ms"] = median(cold) * 1e3;
  state.counters["cpu_ms"] = median(cpu) * 1e3;
  state.counters["ratio"] = median(eigen) / median(ours);
  state.counters["gflops"] = 2e-9 * static_cast<double>(left.stored() * columns) / median(ours);
}

void sizes(benchmark::internal::Benchmark* bench) {
  const auto threads = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  bench->ArgNames({"percent", "threads"})
      ->UseManualTime()
      ->Iterations(15)
      ->Unit(benchmark::kMillisecond);
  for (const std::int64_t percent : {1, 10}) {
    bench->Args({percent, 1});
    if (threads > 1) bench->Args({percent, threads});
  }
}

BENCHMARK_CAPTURE(product, csr_dense, false)->Apply(sizes);
BENCHMARK_CAPTURE(product, transposed_csr_dense, true)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
