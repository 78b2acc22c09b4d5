#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "device/block.hpp"
#include "device/devices.hpp"
#include "device/stream.hpp"
#include "kernels.hpp"

using namespace tenon;

namespace {

// Blocks a stream until it is opened.
class Gate {
 public:
  explicit Gate(const Stream& stream) {
    const auto wait = [](void* open) {
      while (!*static_cast<std::atomic<bool>*>(open))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    REQUIRE(cudaLaunchHostFunc(static_cast<cudaStream_t>(stream.handle()), wait, &open_) ==
            cudaSuccess);
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_ = false;
};

std::uint32_t number_in(const Block& block, const Stream& stream) {
  std::uint32_t number = 0;
  copy({cpu_device(), reinterpret_cast<std::byte*>(&number)}, block.address(), sizeof number,
       stream);
  return number;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("kernels of other copies of the CUDA runtime run on Tenon's streams, in order") {
  Device& gpu = find_device("cuda");
  gpu.make_current();
  const Stream stream(gpu);
  const Block block(stream, sizeof(std::uint32_t), "this test");
  std::uint32_t start = 40;
  copy(block.address(), {cpu_device(), reinterpret_cast<std::byte*>(&start)}, sizeof start, stream);
  launch_add_one(reinterpret_cast<std::uint32_t*>(block.data()), 1, stream.handle());
  launch_add_one(reinterpret_cast<std::uint32_t*>(block.data()), 1, stream.handle());
  CHECK(number_in(block, stream) == 42);
}

TEST_CASE("an event is reached after all earlier work, and another stream waits for it") {
  Device& gpu = find_device("cuda");
  gpu.make_current();
  const Stream one(gpu), other(gpu);
  const Block block(one, sizeof(std::uint32_t), "this test");
  std::uint32_t start = 5;
  copy(block.address(), {cpu_device(), reinterpret_cast<std::byte*>(&start)}, sizeof start, one);
  launch_add_one(reinterpret_cast<std::uint32_t*>(block.data()), 1, one.handle());
  one.synchronize();

  const Event added(gpu), read(gpu);
  const PinnedBlock found(gpu, sizeof(std::uint32_t), "this test");
  CHECK(added.is_complete());  // no work before it
  // While the gate is shut, no resources are created and no kernel is called for the first time,
  // because CUDA may wait for the device then.
  Gate gate(one);
  launch_add_one(reinterpret_cast<std::uint32_t*>(block.data()), 1, one.handle());
  added.record(one);
  other.wait(added);
  copy({cpu_device(), found.data()}, block.address(), sizeof(std::uint32_t), other);
  read.record(other);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(!added.is_complete());
  CHECK(!read.is_complete());

  gate.open();
  read.synchronize();
  CHECK(added.is_complete());
  CHECK(*reinterpret_cast<std::uint32_t*>(found.data()) == 7);
  one.synchronize();
}

TEST_CASE("independent streams overtake each other") {
  Device& gpu = find_device("cuda");
  const Stream busy(gpu), free(gpu);
  const Event passed(gpu);
  Gate gate(busy);
  passed.record(free);
  passed.synchronize();
  CHECK(passed.is_complete());
  gate.open();
  busy.synchronize();
}

TEST_CASE("the CPU's stream makes the thread wait for a GPU's event") {
  Device& gpu = find_device("cuda");
  const Stream stream(gpu);
  const Event event(gpu);
  Gate gate(stream);
  event.record(stream);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  Stream(cpu_device()).wait(event);
  CHECK(event.is_complete());
  opener.join();
}

TEST_SUITE_END();
