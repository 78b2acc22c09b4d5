#include <doctest/doctest.h>

#include <cstring>

#include "device/block.hpp"
#include "device/devices.hpp"
#include "device/stream.hpp"
#include "failure_of.hpp"
#include "gpu_graph.hpp"
#if defined(TENON_SIMULATED_CUDA)
#include <cuda_simulated.h>
#endif

using namespace tenon;

TEST_SUITE_BEGIN("gpu");

TEST_CASE("a GPU's properties") {
  Device& gpu = find_device("cuda");
  CHECK(!gpu.properties().model.empty());
  CHECK(gpu.properties().major >= 7);
  CHECK(gpu.properties().processors >= 1);
  CHECK(gpu.memory().free > 0);
  CHECK(gpu.memory().free <= gpu.memory().total);
}

TEST_CASE("blocks of any size are aligned") {
  const Stream stream(find_device("cuda"));
  for (const std::uint64_t bytes : {0, 1, 63, 64, 65, 4096, (1 << 20) + 1, 100 << 20}) {
    CAPTURE(bytes);
    const Block block(stream, bytes, "this test");
    REQUIRE(block.data() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block.data()) % 64 == 0);
  }
  stream.synchronize();
}

TEST_CASE("freed memory is reused and counts as free") {
  static constexpr std::uint64_t bytes = 256u << 20;
  Device& gpu = find_device("cuda");
  const Stream stream(gpu);
  const auto place_of_a_block = [&] { return Block(stream, bytes, "this test").data(); };
  const std::byte* first = place_of_a_block();
  for (int i = 0; i < 10; ++i)
    CHECK(place_of_a_block() == first);  // no waiting is needed on one stream
  stream.synchronize();

  const auto before = gpu.memory().free;
  {
    const Block block(stream, bytes, "this test");
    stream.synchronize();
    CHECK(before - gpu.memory().free >= bytes);
  }
  stream.synchronize();
  CHECK(gpu.memory().free >= before - (16u << 20));  // other processes use the device as well
}

TEST_CASE("kernel scratch is allocated once, reused after waits, and freed if memory is short") {
  constexpr std::int64_t mib = 128;
  GpuHost host;
  Device& gpu = find_device("cuda");
  const auto x = vector_of({1, 2, 3}).to("cuda");
  const auto run = [&](std::int64_t size) {
    return floats_of(host.host.call("scratchy", {x}, {{"mib", size}}));
  };
  CHECK(run(mib) == std::vector<float>{1, 2, 3});
#if defined(TENON_SIMULATED_CUDA)
  const auto before = simulated_counts().mappings;
#endif
  for (int i = 0; i < 3; ++i) CHECK(run(mib) == std::vector<float>{1, 2, 3});
#if defined(TENON_SIMULATED_CUDA)
  CHECK(simulated_counts().mappings == before);
#endif
  const auto most = static_cast<std::int64_t>(gpu.memory().free >> 20);
  CHECK(run(most - 100) == std::vector<float>{1, 2, 3});  // frees the cached scratch
  const auto failure =
      failure_of([&] { run(static_cast<std::int64_t>(gpu.memory().total >> 20) + 1); });
  CHECK(failure.message.find("cuda:0 is out of memory: the scratch memory of a kernel needs ") !=
        std::string::npos);
}

TEST_CASE("a GPU out of memory reports needed and free bytes and keeps working") {
  Device& gpu = find_device("cuda");
  const Stream stream(gpu);
  for (const std::uint64_t bytes : {gpu.memory().total + 1, std::uint64_t{1} << 46, UINT64_MAX}) {
    CAPTURE(bytes);
    const auto failure = failure_of([&] { Block(stream, bytes, "the plan"); });
    CHECK(failure.kind == 1);
    CHECK(failure.message.starts_with(gpu.name() + " is out of memory: the plan needs "));
    CHECK(failure.message.ends_with(" are free"));
  }
  CHECK(Block(stream, 1 << 20, "this test").data() != nullptr);
  stream.synchronize();
}

TEST_CASE("memory that another stream is about to free is reused") {
  Device& gpu = find_device("cuda");
  const Stream one(gpu), other(gpu);
  const std::uint64_t most = gpu.memory().free / 3 * 2;
  { const Block block(one, most, "this test"); }
  CHECK(Block(other, most, "this test").data() != nullptr);
  one.synchronize();
  other.synchronize();
}

TEST_CASE("pinned memory belongs to the CPU") {
  const PinnedBlock block(find_device("cuda"), 1000, "this test");
  std::memset(block.data(), 1, 1000);
  CHECK(failure_of([] {
          PinnedBlock(find_device("cuda"), UINT64_MAX, "the staging");
        }).message.starts_with("the CPU is out of memory: the staging needs 15.9 EiB, and "));
}

TEST_SUITE_END();
