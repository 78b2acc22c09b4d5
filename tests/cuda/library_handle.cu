#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <tenon/gpu/library_handle.hpp>

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

TEST_SUITE_END();
