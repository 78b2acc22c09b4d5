#include <cuda_runtime_api.h>
#include <dlpack/dlpack.h>
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/visit.hpp>
#include <thread>

#include "check_says.hpp"
#include "device/block.hpp"
#include "device/devices.hpp"
#include "failure_of.hpp"
#include "tensor/add_elements.hpp"

using namespace tenon;

namespace {

// Elements 1, 2, 3 ...
Tensor counted(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::empty(dtype, shape);
  visit(dtype, [&]<class T>() {
    float next = 0;
    for (auto& element : tensor.values<T>()) element = static_cast<T>(++next);
  });
  return tensor;
}

Tensor filled(std::int64_t count, float value) {
  Tensor tensor = Tensor::empty(f32, {count});
  for (auto& element : tensor.values<float>()) element = value;
  return tensor;
}

std::vector<float> floats(const Tensor& tensor) {
  const Tensor here = tensor.to("cpu");
  return {here.values<float>().begin(), here.values<float>().end()};
}

Tensor some_csr() {
  return Tensor::csr(Tensor::from({1.f, 2.f, 3.f}, {3}), Tensor::from<std::int64_t>({0, 2, 1}, {3}),
                     Tensor::from<std::int64_t>({0, 2, 2, 3}, {4}), {3, 4});
}

Tensor some_rows() {
  return Tensor::row_sparse(Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}),
                            Tensor::from<std::int32_t>({1, 4}, {2}), {6, 2});
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("elements round-trip through every GPU") {
  for (const Device* device : devices()) {
    for (const DType dtype : {boolean, u8, i8, i32, i64, f16, bf16, f32, f64}) {
      for (const Shape& shape : {Shape{3, 5}, Shape::scalar(), Shape{0, 4}, Shape{7, 1, 1000}}) {
        CAPTURE(join(device->name(), " ", dtype, " ", shape));
        const Tensor tensor = counted(dtype, shape), there = tensor.to(device->name());
        CHECK(there.device() == device->name());
        CHECK(there.dtype() == dtype);
        CHECK(there.shape() == shape);
        CHECK(there.bytes() == tensor.bytes());
        CHECK(there.to(device->name()).data() == there.data());
        const Tensor back = there.to("cpu");
        CHECK(back.device() == "cpu");
        CHECK(std::memcmp(back.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes())) ==
              0);
      }
    }
  }
}

TEST_CASE("strided tensors become contiguous when they are copied") {
  const Tensor whole = counted(f32, {2, 3});
  const Tensor turned = Tensor::borrow(whole.data(), f32, {3, 2}, std::vector<std::int64_t>{1, 3});
  const Tensor there = turned.to("cuda");
  CHECK(there.contiguous());
  CHECK(floats(there) == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("functions that need elements on the CPU fail with a hint") {
  const Tensor there = counted(f32, {2, 3}).to("cuda");
  const auto failure = failure_of([&] { there.values<float>(); });
  CHECK(failure.kind == 2);
  check_says(failure.message, {"float32 [2, 3]", "on cuda:0", "CPU cannot read them"});
  CHECK(failure.hint == ".to(\"cpu\") returns a copy on the CPU");
}

TEST_CASE("tensors on a GPU are copied, reshaped, compared and printed") {
  const Tensor here = counted(f32, {2, 3}), there = here.to("cuda");
  const Tensor copy = there.clone();
  CHECK(copy.device() == "cuda:0");
  CHECK(copy.data() != there.data());
  CHECK(same_bits(copy, there));
  CHECK(same_bits(here, there));
  CHECK(!same_bits(there, Tensor::zeros(f32, {2, 3})));
  const Tensor flat = there.reshape({-1});
  CHECK(flat.data() == there.data());
  CHECK(flat.shape() == Shape{6});
  CHECK(flat.device() == "cuda:0");
  CHECK(there.to_string(2) == "float32 [2, 3] on cuda:0  1 2 ...");
  CHECK(some_csr().to("cuda").to_string() ==
        "csr float32 [3, 4], 3 stored on cuda:0  (0, 0) 1 (0, 2) 2 (2, 1) 3");
}

TEST_CASE("a tensor's memory lives as long as its aliases") {
  Tensor flat;
  {
    const Tensor there = counted(f32, {2, 3}).to("cuda");
    flat = there.reshape({3, 2});
  }
  const Tensor other =
      Tensor::zeros(f32, {2, 3}).to("cuda");  // would reuse the memory if it were free
  CHECK(floats(flat) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("sparse tensors round-trip, and change their storage on the device") {
  for (const Tensor& tensor : {some_csr(), some_rows()}) {
    const Tensor there = tensor.to("cuda");
    CHECK(there.device() == "cuda:0");
    CHECK(there.storage() == tensor.storage());
    CHECK(there.stored_values().device() == "cuda:0");
    CHECK(there.abi().dense.device_type == TENON_CUDA);
    CHECK(same_bits(there, tensor));
    CHECK(same_bits(there.clone().to("cpu"), tensor));
    const Tensor dense = cast_storage(there, Storage::dense);
    CHECK(dense.device() == "cuda:0");
    CHECK(same_bits(dense, cast_storage(tensor, Storage::dense)));
    CHECK(cast_storage(dense, Storage::csr).device() == "cuda:0");
  }
}

TEST_CASE("indices on a GPU are checked like those on the CPU") {
  const auto values = Tensor::from({1.f, 2.f}, {2}).to("cuda"),
             starts = Tensor::from<std::int64_t>({0, 2}, {2}).to("cuda");
  const auto csr = [&](std::int64_t first, std::int64_t second) {
    return Tensor::csr(values, Tensor::from({first, second}, {2}).to("cuda"), starts, {1, 4});
  };
  CHECK(csr(0, 3).device() == "cuda:0");
  CHECK(failure_of([&] { csr(3, 0); }).message.find("column 1 is 0, after 3") != std::string::npos);
  CHECK(failure_of([&] { csr(0, 4); }).message.find("column index 1 is 4") != std::string::npos);
  const auto mixed = failure_of([&] {
    Tensor::csr(values, Tensor::from<std::int64_t>({0, 1}, {2}), starts, {1, 4});
  });
  check_says(mixed.message, {"csr float32 [1, 4]", "values are on cuda:0", "columns are on cpu"});
}

TEST_CASE("DLPack exports and imports CUDA tensors") {
  const Tensor tensor = counted(f32, {2, 3}).to("cuda");
  DLManagedTensor* const given = tensor.to_dlpack();
  CHECK(given->dl_tensor.device.device_type == kDLCUDA);
  CHECK(given->dl_tensor.device.device_id == 0);
  CHECK(given->dl_tensor.data == tensor.data());
  std::int64_t shape[] = {3, 2}, strides[] = {1, 3};
  given->dl_tensor.shape = shape;  // the same elements, transposed
  given->dl_tensor.strides = strides;
  const Tensor taken = Tensor::from_dlpack(given);
  CHECK(taken.device() == "cuda:0");
  CHECK(!taken.contiguous());
  CHECK(floats(taken) == std::vector<float>{1, 4, 2, 5, 3, 6});
  const Tensor ordered = taken.make_contiguous();
  CHECK(ordered.device() == "cuda:0");
  CHECK(floats(ordered) == std::vector<float>{1, 4, 2, 5, 3, 6});

  DLManagedTensor* const wrong = tensor.to_dlpack();
  wrong->dl_tensor.device.device_id = 99;
  const auto refused = failure_of([&] { Tensor::from_dlpack(wrong); });
  check_says(refused.message, {"DLPack tensor", "no device 'cuda:99'", "this machine has cpu"});
  wrong->deleter(wrong);
}

TEST_CASE(
    "DLPack: memory that a receiver frees is not reused before its work on a default stream has "
    "read it") {
  constexpr std::int64_t count = 1000;
  constexpr auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  const PinnedBlock read(find_device("cuda"), bytes, "this test");
  for (const cudaStream_t stream : {cudaStreamLegacy, cudaStreamPerThread}) {
    for (int i = 0; i < 5; ++i) {
      DLManagedTensor* const given = filled(count, 5).to("cuda").to_dlpack();
      const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
      REQUIRE(cudaLaunchHostFunc(stream, sleep, nullptr) == cudaSuccess);
      REQUIRE(cudaMemcpyAsync(read.data(), given->dl_tensor.data, bytes, cudaMemcpyDeviceToHost,
                              stream) == cudaSuccess);
      given->deleter(given);
      for (int other = 0; other < 5; ++other) CHECK(floats(filled(count, 7).to("cuda"))[0] == 7);
      REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
      std::vector<float> found(count);
      std::memcpy(found.data(), read.data(), bytes);
      CHECK(found == std::vector<float>(count, 5));
    }
  }
}

TEST_CASE("elements are added on any combination of devices") {
  for (const char* from : {"cpu", "cuda"}) {
    for (const char* to : {"cpu", "cuda"}) {
      CAPTURE(join(from, " to ", to));
      const Tensor sum = counted(f32, {3}).to(to).clone();
      add_elements(Tensor::from({10.f, 20.f, 30.f}, {3}).to(from), sum);
      CHECK(floats(sum) == std::vector<float>{11, 22, 33});
    }
  }
}

TEST_CASE("tensors are copied between GPUs") {
  if (devices().size() < 3) {
    MESSAGE("skipped: needs two GPUs");
    return;
  }
  const Tensor tensor = counted(f64, {1000}), there = tensor.to("cuda:0").to("cuda:1");
  CHECK(there.device() == "cuda:1");
  CHECK(same_bits(there, tensor));
}

TEST_SUITE_END();
