// Cooperation of the threads of a simulated block, and errors in it.
#include <doctest/doctest.h>

#include <numeric>

#include "gpu.hpp"

using namespace tenon;

namespace {

// The sum of i + thread over all threads, and the prefix sums of this block.
struct Sums {
  std::int64_t *totals, *before;
  TENON_DEVICE void operator()(const gpu::Block& block, std::int64_t i) const {
    const std::int64_t own = i + block.thread();
    totals[i] = block.sum(own);
    std::int64_t total = 0;
    before[i * gpu::block_threads + block.thread()] = block.exclusive_sum(own, total);
    if (block.max(own) != i + gpu::block_threads - 1 || total != totals[i]) totals[i] = -1;
  }
};

// Each thread passes its number to its neighbour through shared memory.
struct HandOver {
  int *shared, *out;
  bool syncs;
  int by;
  TENON_DEVICE void operator()(const gpu::Block& block, std::int64_t) const {
    shared[block.thread()] = block.thread();
    if (syncs) block.sync();
    out[block.thread()] = shared[(block.thread() + by) % gpu::block_threads];
  }
};

struct LeavesEarly {
  int from;
  TENON_DEVICE void operator()(const gpu::Block& block, std::int64_t) const {
    if (block.thread() >= from) return;
    block.sync();
  }
};

struct AlternatesSyncs {
  TENON_DEVICE void operator()(const gpu::Block& block, std::int64_t) const {
    for (int i = 0; i < 1 + block.thread() % 2; ++i) block.sync();
  }
};

struct Throws {
  TENON_DEVICE void operator()(const gpu::Block&, std::int64_t) const { throw 1; }
};

template <class Body>
std::string outcome_of(const Body& body) {
  return in_child([&] {
    const Gpu gpu;
    gpu::for_each_block(gpu.call(), 3, body);
    const auto result = cudaStreamSynchronize(gpu.stream);
    return std::string(cudaGetErrorName(result)) + ": " + cudaGetErrorString(result);
  });
}

}  // namespace

TEST_CASE("threads of a block compute sums, maxima and prefix sums") {
  CHECK(in_child([] {
          constexpr std::int64_t blocks = 5, threads = gpu::block_threads;
          const Gpu gpu;
          const Sums body{gpu.memory<std::int64_t>(blocks),
                          gpu.memory<std::int64_t>(blocks * threads)};
          gpu::for_each_block(gpu.call(), blocks, body);
          const auto totals = gpu.read(body.totals, blocks),
                     before = gpu.read(body.before, blocks * threads);
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < blocks; ++i) {
            std::int64_t sum = 0;
            for (std::int64_t t = 0; t < threads; sum += i + t++)
              wrong += before[static_cast<std::size_t>(i * threads + t)] != sum;
            wrong += totals[static_cast<std::size_t>(i)] != sum;
          }
          return std::to_string(wrong) + " wrong";
        }) == "0 wrong");
}

TEST_CASE("a missing sync changes the results") {
  for (const int by : {1, gpu::block_threads - 1}) {
    for (const bool syncs : {true, false}) {
      CAPTURE(by);
      CAPTURE(syncs);
      CHECK(in_child([=] {
              const Gpu gpu;
              const HandOver body{gpu.memory<int>(gpu::block_threads),
                                  gpu.memory<int>(gpu::block_threads), syncs, by};
              gpu::for_each_block(gpu.call(), 1, body);
              const auto found = gpu.read(body.out, gpu::block_threads);
              int wrong = 0;
              for (int t = 0; t < gpu::block_threads; ++t)
                wrong += found[static_cast<std::size_t>(t)] != (t + by) % gpu::block_threads;
              return std::string(wrong == 0 ? "right" : "wrong");
            }) == (syncs ? "right" : "wrong"));
    }
  }
}

TEST_CASE("a launch fails if not all threads reach a sync") {
  const std::string error = "cudaErrorLaunchFailure: ",
                    rule = ": all threads of a block must reach every sync";
  CHECK(outcome_of(LeavesEarly{gpu::block_threads}) == "cudaSuccess: no error");
  CHECK(outcome_of(LeavesEarly{255}) ==
        error + "thread 255 of block 0 ended while thread 254 waits at a sync" + rule);
  CHECK(outcome_of(LeavesEarly{1}) ==
        error + "thread 255 of block 0 ended while thread 0 waits at a sync" + rule);
  CHECK(outcome_of(AlternatesSyncs{}) ==
        error + "thread 0 of block 0 ended while thread 1 waits at a sync" + rule);
  CHECK(outcome_of(Throws{}) == error + "the body threw an exception, which device code cannot do");
}
