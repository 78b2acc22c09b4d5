#include "tensor/tracked_tensor.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace tenon;

TEST_CASE(
    "tracked tensors: detects an application's handle while other threads hold and release the "
    "tensor") {
  const Tensor handle = Tensor::zeros(f32, {4});
  const Tensor tracked = TrackedTensor::track(handle);
  std::atomic<bool> done = false;
  std::thread others([&] {
    while (!done) TrackedTensor::track(handle);
  });
  int missed = 0;
  for (int i = 0; i < 200000; ++i) missed += TrackedTensor::has_application_handle(tracked) ? 0 : 1;
  done = true;
  others.join();
  CHECK(missed == 0);
}

TEST_CASE("tracked tensors: writes through the last handle are visible once it is gone") {
  for (int i = 0; i < 200; ++i) {
    Tensor handle = Tensor::zeros(f32, {1});
    const Tensor tracked = TrackedTensor::track(handle);
    std::thread writer([last = std::move(handle)]() mutable {
      *static_cast<float*>(last.data()) = 1;
      last = Tensor();
    });
    while (TrackedTensor::has_application_handle(tracked)) std::this_thread::yield();
    CHECK(tracked.values<float>()[0] == 1.0F);
    writer.join();
  }
}
