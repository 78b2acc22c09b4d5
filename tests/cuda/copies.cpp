#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "bytes.hpp"
#include "device/block.hpp"
#include "device/devices.hpp"
#include "device/stream.hpp"

using namespace tenon;

// Sizes around those of the staging buffers of copies.
static constexpr std::uint64_t sizes[] = {
    1, 1000, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 8 << 20, (13 << 20) + 5};

static DeviceAddress on_cpu(std::vector<std::byte>& bytes) {
  return {cpu_device(), bytes.data()};
}

static void check_round_trips(Device& gpu) {
  const Stream stream(gpu);
  for (const auto bytes : sizes) {
    CAPTURE(bytes);
    const auto expected = some_bytes(bytes, 3);
    auto given = expected;
    std::vector<std::byte> found(bytes + 1, std::byte{0});
    const Block first(stream, bytes, "this test"), second(stream, bytes, "this test");
    copy(first.address(), on_cpu(given), bytes, stream);
    std::fill(given.begin(), given.end(), std::byte{0});  // the source has been read
    copy(second.address(), first.address(), bytes, stream);
    copy(on_cpu(found), second.address(), bytes, stream);  // the copy is complete on return
    CHECK(std::memcmp(found.data(), expected.data(), bytes) == 0);
    CHECK(found[bytes] == std::byte{0});
  }
}

TEST_SUITE_BEGIN("gpu");

TEST_CASE("bytes round-trip through every GPU") {
  for (Device* device : devices()) {
    CAPTURE(device->name());
    if (!device->is_cpu()) check_round_trips(*device);
  }
}

TEST_CASE("pinned memory is copied without staging") {
  Device& gpu = find_device("cuda");
  const Stream stream(gpu);
  for (const auto bytes : sizes) {
    CAPTURE(bytes);
    const auto expected = some_bytes(bytes, 5);
    const PinnedBlock given(gpu, bytes, "this test"), found(gpu, bytes, "this test");
    std::memcpy(given.data(), expected.data(), bytes);
    std::memset(found.data(), 0, bytes);
    const Block block(stream, bytes, "this test");
    copy(block.address(), {cpu_device(), given.data()}, bytes, stream);
    copy({cpu_device(), found.data()}, block.address(), bytes, stream);
    stream.synchronize();
    CHECK(std::memcmp(found.data(), expected.data(), bytes) == 0);
  }
}

TEST_CASE("slices of buffers are copied to their offsets") {
  const Stream stream(find_device("cuda"));
  auto bytes = some_bytes(1000, 1);
  auto part = some_bytes(10, 77);
  const Block block(stream, 1000, "this test");
  copy(block.address(), on_cpu(bytes), 1000, stream);
  copy(block.address(500), on_cpu(part), 10, stream);
  std::vector<std::byte> found(1000);
  copy(on_cpu(found), block.address(), 1000, stream);
  std::memcpy(bytes.data() + 500, part.data(), 10);
  CHECK(found == bytes);
}

TEST_CASE("threads copy concurrently") {
  Device& gpu = find_device("cuda");
  bool right[4] = {};
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 4; ++id) {
    threads.emplace_back([&gpu, id, &ok = right[id]] {
      const Stream stream(gpu);
      auto given = some_bytes((9 << 20) + id, id);
      std::vector<std::byte> found(given.size());
      const Block block(stream, given.size(), "this test");
      copy(block.address(), on_cpu(given), given.size(), stream);
      copy(on_cpu(found), block.address(), given.size(), stream);
      ok = found == given;
    });
  }
  for (auto& thread : threads) thread.join();
  for (const bool ok : right) CHECK(ok);
}

namespace {

struct Pause {
  std::atomic<bool> ended = false, in_time = false;

  // A stream's work: waits until the pause ends, at most two seconds.
  static void wait(void* self) {
    auto& pause = *static_cast<Pause*>(self);
    for (int i = 0; i < 2'000 && !pause.ended; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pause.in_time = pause.ended.load();
  }
};

}  // namespace

TEST_CASE("a copy that waits for its stream does not block another thread's copy") {
  Device& gpu = find_device("cuda");
  const Stream busy(gpu), free(gpu);
  auto given = some_bytes(1000, 3);
  const Block here(free, 1000, "this test"), there(busy, 1000, "this test");
  copy(there.address(), on_cpu(given), 1000, busy);
  for (const bool first : {true, false}) {
    std::vector<std::byte> found(1000), late(1000);
    Pause pause;
    REQUIRE(cudaLaunchHostFunc(static_cast<cudaStream_t>(busy.handle()), Pause::wait, &pause) ==
            cudaSuccess);
    std::thread waiting([&] { copy(on_cpu(late), there.address(), 1000, busy); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    copy(here.address(), on_cpu(given), 1000, free);
    copy(on_cpu(found), here.address(), 1000, free);
    pause.ended = true;
    waiting.join();
    if (!first)
      CHECK(pause.in_time);  // the first copy allocates pinned memory, for which CUDA waits
    CHECK(found == given);
    CHECK(late == given);
  }
}

TEST_CASE("GPUs copy to each other on either one's stream") {
  if (devices().size() < 3) {
    MESSAGE("skipped: needs two GPUs");
    return;
  }
  Device &one = *devices()[1], &other = *devices()[2];
  const Stream on_one(one), on_other(other);
  for (const auto bytes : sizes) {
    CAPTURE(bytes);
    auto given = some_bytes(bytes, 9);
    std::vector<std::byte> found(bytes);
    const Block here(on_one, bytes, "this test"), there(on_other, bytes, "this test"),
        back(on_one, bytes, "this test");
    copy(here.address(), on_cpu(given), bytes, on_one);
    const Event arrived(other), ready(one);
    ready.record(on_one);
    on_other.wait(ready);
    copy(there.address(), here.address(), bytes, on_other);
    arrived.record(on_other);
    on_one.wait(arrived);
    copy(back.address(), there.address(), bytes, on_one);
    copy(on_cpu(found), back.address(), bytes, on_one);
    CHECK(found == given);
  }
}

TEST_SUITE_END();
