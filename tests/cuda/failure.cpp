#include "device/cuda/failure.hpp"

#include <doctest/doctest.h>

#include "device/cuda_state.hpp"
#include "device/devices.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_SUITE_BEGIN("host");

TEST_CASE("CUDA errors become failures with operation, device, error name and meaning") {
  const auto failure = failure_of([] { check(cudaErrorInvalidValue, cpu_device(), "copying"); });
  CHECK(failure.kind == 1);
  CHECK(failure.message == "copying on cpu failed: cudaErrorInvalidValue (invalid argument)");
  CHECK(failure.hint == "");
  CHECK(failure_of([] { check(cudaSuccess, cpu_device(), "copying"); }).kind == 0);
}

TEST_CASE("sticky errors are reported as such") {
  const struct {
    cudaError_t error;
    bool sticky;
  } cases[] = {
      {cudaErrorIllegalAddress, true},
      {cudaErrorLaunchFailure, true},
      {cudaErrorAssert, true},
      {cudaErrorMisalignedAddress, true},
      {cudaErrorIllegalInstruction, true},
      {cudaErrorLaunchTimeout, true},
      {cudaError_t(226), true},
      {cudaErrorNvlinkUncorrectable, true},
      {cudaError_t(721), true},
      {cudaErrorUnknown, true},
      {cudaErrorMemoryAllocation, false},
      {cudaErrorInvalidValue, false},
      {cudaErrorInvalidConfiguration, false},
      {cudaErrorNotReady, false},
      {cudaErrorNoKernelImageForDevice, false},
  };
  for (const auto& test : cases) {
    const Failure failure = cuda_failure(test.error, "cuda:1", "waiting for a stream");
    CAPTURE(failure.what());
    CHECK(is_sticky(test.error) == test.sticky);
    CHECK((std::string(failure.what()).find("this process cannot use cuda:1 any more") !=
           std::string::npos) == test.sticky);
    CHECK(failure.hint().empty() != test.sticky);
  }
}

TEST_CASE("kernels and their libraries are only loaded if there is a driver") {
  CHECK(has_cuda_driver() == (cuda_state().driver > 0));
}

TEST_SUITE_END();
