#include "tensor/tracked_tensor.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

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

TEST_CASE("tracked tensors: a reshaped handle counts, and keeps the elements") {
  const auto memory = std::make_shared<std::vector<float>>(4, 1.0F);
  Tensor original = TrackedTensor::exclusive(
      Tensor::borrow(memory->data(), f32, {4}, {}, std::shared_ptr<void>(memory)));
  Tensor tracked = TrackedTensor::track(original);
  Tensor reshaped = original.reshape({2, 2}).reshape({1, 4});
  original = Tensor();
  CHECK(TrackedTensor::has_application_handle(tracked));
  reshaped = tracked.reshape({2, 2});
  CHECK_FALSE(TrackedTensor::has_application_handle(tracked));
  reshaped = tracked.read_only_view().reshape({2, 2}).reshape({1, 4});
  CHECK(reshaped.read_only());
  tracked = Tensor();
  CHECK(memory.use_count() == 2);
  CHECK(reshaped.values<float>()[3] == 1);
  reshaped = Tensor();
  CHECK(memory.use_count() == 1);
}

TEST_CASE("tracked tensors: whether the application may write elements") {
  const auto memory = std::make_shared<std::vector<float>>(4, 1.0F);
  const Tensor borrowed =
      TrackedTensor::track(Tensor::borrow(memory->data(), f32, {4}, {}, memory));
  Tensor handle = Tensor::zeros(f32, {4});
  const Tensor tracked = TrackedTensor::track(handle);
  const Tensor frozen = TrackedTensor::frozen(Tensor::zeros(i64, {4}));
  const Tensor rows = Tensor::csr(Tensor::zeros(f32, {0}), Tensor::zeros(i64, {0}),
                                  Tensor::zeros(i64, {3}), {2, 2});
  const struct {
    const char* what;
    const Tensor& tensor;
    bool may_be_written;
  } cases[] = {{"memory of the application", borrowed, true},
               {"a tensor with a handle of the application", tracked, true},
               {"frozen indices", frozen, false},
               {"a sparse tensor, which is not tracked", rows, true},
               {"no tensor", Tensor(), true}};
  for (const auto& test : cases) {
    CAPTURE(test.what);
    CHECK(TrackedTensor::may_be_written(test.tensor) == test.may_be_written);
  }
  handle = Tensor();
  CHECK_FALSE(TrackedTensor::may_be_written(tracked));
  handle = TrackedTensor::expose(tracked);
  CHECK(TrackedTensor::may_be_written(tracked));
}
