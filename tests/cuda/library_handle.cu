#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <tenon/gpu/library_handle.hpp>
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

TEST_SUITE_BEGIN("gpu");

TEST_CASE("a library's handle: made once, outside of captures, which concern the thread again whether or not that fails") {
  int library = 0, another = 0;
  REQUIRE(mode_of_thread() == cudaStreamCaptureModeGlobal);
  CHECK_THROWS_AS(handle(&library, true), tenon::Error);
  CHECK(mode_of_thread() == cudaStreamCaptureModeGlobal);
  CHECK(handle(&library, false) == &library);
  CHECK(handle(&another, false) == &library);
  CHECK(mode_of_thread() == cudaStreamCaptureModeGlobal);
}

TEST_CASE("a library's handle: each thread has its own, and one that ends leaves it to the next") {
  static int made = 0;
  static int libraries[4] = {};
  const auto own = [] { return tenon::gpu::library_handle<const int*>([](const int** handle) { *handle = &libraries[made++]; }); };
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

TEST_SUITE_END();
