// The overhead of parallel loops: nanoseconds of parallel_for with empty chunks, and with chunks
// worth distributing.
#include "device/threads.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

namespace {

// Busy-waits without a clock: about a nanosecond per turn.
void work(std::int64_t turns) {
  for (std::int64_t i = 0; i < turns; ++i) benchmark::DoNotOptimize(i);
}

struct ChunkWork {
  std::int64_t turns;
};

void run_chunk(void* context, std::int64_t begin, std::int64_t end) {
  for (auto i = begin; i < end; ++i) work(static_cast<ChunkWork*>(context)->turns);
}

// Arguments: threads, chunks, turns per chunk.
void loop(benchmark::State& state) {
  const tenon::Threads threads(static_cast<int>(state.range(0)));
  ChunkWork chunk_work{state.range(2)};
  for (auto _ : state) threads.parallel_for(state.range(1), 1, run_chunk, &chunk_work);
}

// A loop inside a chunk of another loop: like a kernel's loop within a task of a parallel run.
void nested(benchmark::State& state) {
  const tenon::Threads threads(static_cast<int>(state.range(0)));
  struct Outer {
    const tenon::Threads& threads;
    ChunkWork chunk_work;
    std::int64_t inner, loops;
  } outer{threads, {state.range(2)}, state.range(1), 100};
  for (auto _ : state) {
    threads.parallel_for(
        state.range(0), 1,
        [](void* context, std::int64_t, std::int64_t) {
          auto& self = *static_cast<Outer*>(context);
          for (std::int64_t i = 0; i < self.loops; ++i)
            self.threads.parallel_for(self.inner, 1, run_chunk, &self.chunk_work);
        },
        &outer);
  }
  state.counters["ns_a_loop"] =
      benchmark::Counter(static_cast<double>(state.iterations() * outer.loops),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// A loop after the caller has worked for the given microseconds without other threads, so that
// workers may be asleep. This pause is not timed.
void after_pause(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const tenon::Threads threads(static_cast<int>(state.range(0)));
  ChunkWork chunk_work{state.range(2)};
  for (auto _ : state) {
    for (const auto end = Clock::now() + std::chrono::microseconds(state.range(3));
         Clock::now() < end;) {
    }
    const auto begin = Clock::now();
    threads.parallel_for(state.range(1), 1, run_chunk, &chunk_work);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
}

}  // namespace

BENCHMARK(after_pause)
    ->ArgNames({"threads", "parts", "turns", "pause"})
    ->ArgsProduct({{1, 2}, {2, 16}, {50'000, 200'000}, {0, 100, 2000}})
    ->UseManualTime();
BENCHMARK(loop)
    ->ArgNames({"threads", "parts", "turns"})
    ->ArgsProduct({{1, 2}, {2, 4, 16}, {0, 10'000, 50'000}})
    ->UseRealTime();
BENCHMARK(nested)
    ->ArgNames({"threads", "parts", "turns"})
    ->ArgsProduct({{2}, {2, 4, 16}, {0}})
    ->UseRealTime();
BENCHMARK_MAIN();
