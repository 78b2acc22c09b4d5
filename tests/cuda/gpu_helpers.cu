#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <tenon/gpu/library_handle.hpp>
#include <tenon/gpu/scratch.hpp>
#include <tenon/gpu/sort.hpp>
#include <thread>

namespace {

cudaStreamCaptureMode mode_of_thread() {
  auto mode = cudaStreamCaptureModeGlobal;
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  const auto found = mode;
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  return found;
}

int* handle(int* made, bool fails) {
  return tenon::gpu::library_handle<int*>([&](int** handle) {
    CHECK(mode_of_thread() == cudaStreamCaptureModeRelaxed);
    if (fails) throw tenon::Error("the library does not start");
    *handle = made;
  });
}

}  // namespace

TEST_CASE("sorted keys: structured bindings, and the former name of their indices") {
  std::int64_t numbers[2] = {};
  const tenon::gpu::Sorted sorted{&numbers[0], {&numbers[1]}};
  const auto [keys, indices] = sorted;
  CHECK(keys == &numbers[0]);
  CHECK(indices == &numbers[1]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  CHECK(sorted.places == indices);
#pragma GCC diagnostic pop
}

TEST_SUITE_BEGIN("gpu");

TEST_CASE(
    "a library's handle: created once, outside of captures, and captures apply to the thread again "
    "even if it fails") {
  int library = 0, another = 0;
  REQUIRE(mode_of_thread() == cudaStreamCaptureModeGlobal);
  CHECK_THROWS_AS(handle(&library, true), tenon::Error);
  CHECK(mode_of_thread() == cudaStreamCaptureModeGlobal);
  CHECK(handle(&library, false) == &library);
  CHECK(handle(&another, false) == &library);
  CHECK(mode_of_thread() == cudaStreamCaptureModeGlobal);
}

TEST_CASE(
    "a library's handle: each thread has its own; the handle of a thread that ends is reused") {
  static int made = 0;
  static int libraries[4] = {};
  const auto own = [] {
    return tenon::gpu::library_handle<const int*>(
        [](const int** handle) { *handle = &libraries[made++]; });
  };
  const auto here = own();
  const int* first = nullptr;
  const int* next = nullptr;
  std::thread([&] { first = own(); }).join();
  std::thread([&] {
    next = own();
    std::thread([&] { CHECK(own() != next); }).join();
  }).join();
  CHECK(first != here);
  CHECK(next == first);
  CHECK(own() == here);
  CHECK(made == 3);
}

TEST_CASE("scratch comes from CUDA's own pool with hosts older than 0.2") {
  tenon_host older{};
  older.size = offsetof(tenon_host, query);
  older.query = [](const char*) -> tenon_function {
    FAIL("a function past the end of the table was called");
    return nullptr;
  };
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  tenon_call raw{};
  raw.stream = stream;
  for (const tenon_host* host :
       {static_cast<const tenon_host*>(nullptr), static_cast<const tenon_host*>(&older)}) {
    raw.host = host;
    const tenon::Call call(raw, {});
    const tenon::gpu::Scratch<int> scratch(call, 1000), none(call, 0);
    CHECK(scratch.data() != nullptr);
    CHECK(none.data() == nullptr);
    tenon::gpu::clear(call, scratch.data(), 1000 * sizeof(int));
  }
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_SUITE_END();
