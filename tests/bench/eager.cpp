// The overhead of an eager call of one element compared with its kernel: by name, and prepared.
// Goals on an idle machine: prepared 300 ns, by name 450 ns, and no allocations except the result's
// two (its handle and its memory).
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <tenon/host/host.hpp>
#include <tenon/host/udf.hpp>

#include "plus.hpp"

namespace {

std::atomic<std::uint64_t> allocations = 0;

struct Setting {
  tenon::Host host{options()};
  std::array<tenon::Tensor, 2> inputs{tenon::Tensor::zeros(tenon::f32, {1}),
                                      tenon::Tensor::zeros(tenon::f32, {1})};
  Setting() { host.add<Plus>("plus"); }
  static tenon::HostOptions options() {
    tenon::HostOptions options;
    options.threads = 1;
    options.search_defaults = false;
    return options;
  }
};

template <class Call>
void measure(benchmark::State& state, Call&& call) {
  call();
  const auto before = allocations.load();
  for (auto _ : state) call();
  state.counters["allocations"] =
      static_cast<double>(allocations - before) / static_cast<double>(state.iterations());
}

void by_name(benchmark::State& state) {
  Setting setting;
  const std::vector<tenon::Tensor> inputs(setting.inputs.begin(), setting.inputs.end());
  measure(state, [&] { benchmark::DoNotOptimize(setting.host.call("plus", inputs)); });
}

void prepared(benchmark::State& state) {
  Setting setting;
  auto call = setting.host.prepare(
      "plus", {tenon::Argument::like(setting.inputs[0]), tenon::Argument::like(setting.inputs[1])});
  measure(state, [&] { benchmark::DoNotOptimize(call(setting.inputs)); });
}

void prepared_in_place(benchmark::State& state) {
  Setting setting;
  auto call = setting.host.prepare(
      "plus", {tenon::Argument::like(setting.inputs[0]), tenon::Argument::like(setting.inputs[1])});
  auto output = tenon::Tensor::zeros(tenon::f32, {1});
  measure(state, [&] { call.forward(setting.inputs, {&output, 1}); });
}

void add(const float* left, const float* right, float* sum, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

void bare(benchmark::State& state) {
  void (*volatile function)(const float*, const float*, float*, std::int64_t) =
      add;  // volatile: compilers cannot inline it
  float left = 1, right = 2, sum = 0;
  measure(state, [&] {
    function(&left, &right, &sum, 1);
    benchmark::DoNotOptimize(sum);
  });
}

void result_alone(benchmark::State& state) {
  measure(state, [] { benchmark::DoNotOptimize(tenon::Tensor::empty(tenon::f32, {1})); });
}

}  // namespace

// Also counts the library's allocations: a program's operator new takes precedence over that of its
// libraries.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  ++allocations;
  *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return *memory == nullptr ? 12 : 0;
}

BENCHMARK(by_name)->Name("eager call by name, one element");
BENCHMARK(prepared)->Name("prepared call, one element");
BENCHMARK(prepared_in_place)->Name("prepared call with destination, one element");
BENCHMARK(bare)->Name("the bare function, one element");
BENCHMARK(result_alone)->Name("only the result's tensor");
BENCHMARK_MAIN();
