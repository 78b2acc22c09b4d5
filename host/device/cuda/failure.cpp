#include "device/cuda/failure.hpp"

#include <algorithm>
#include <iterator>

namespace tenon {

std::string error_text(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")";
}

bool is_sticky(cudaError_t error) {
  static constexpr int sticky[] = {
      cudaErrorECCUncorrectable,
      cudaErrorNvlinkUncorrectable,
      226,  // cudaErrorContained, missing in older toolkits
      cudaErrorIllegalAddress,
      cudaErrorLaunchTimeout,
      cudaErrorContextIsDestroyed,
      cudaErrorAssert,
      cudaErrorHardwareStackError,
      cudaErrorIllegalInstruction,
      cudaErrorMisalignedAddress,
      cudaErrorInvalidAddressSpace,
      cudaErrorInvalidPc,
      cudaErrorLaunchFailure,
      721,  // cudaErrorTensorMemoryLeak, missing in older toolkits
      cudaErrorMpsClientTerminated,
      cudaErrorExternalDevice,
      cudaErrorUnknown,
  };
  return std::find(std::begin(sticky), std::end(sticky), error) != std::end(sticky);
}

std::string lost_device_text(const std::string& device) {
  return "this process cannot use " + device + " any more, and the tensors on it are lost";
}

Failure cuda_failure(cudaError_t error, const std::string& device, const std::string& operation) {
  const std::string message = operation + " on " + device + " failed: " + error_text(error);
  if (!is_sticky(error)) return {FailureKind::failed, message};
  return {FailureKind::failed, message + "; " + lost_device_text(device),
          "any earlier kernel on the device may have caused it; run compute-sanitizer to find it"};
}

void check(cudaError_t result, const Device& device, const char* operation) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clear the error: it is reported here
  throw cuda_failure(result, device.name(), operation);
}

}  // namespace tenon
