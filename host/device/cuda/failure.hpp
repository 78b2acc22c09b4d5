// CUDA's errors as failures of the host.
#pragma once
#include <cuda_runtime_api.h>

#include <string>
#include <tenon/host/failure.hpp>

#include "device/device.hpp"

namespace tenon {

/// `cudaErrorIllegalAddress (an illegal memory access was encountered)`
std::string error_text(cudaError_t error);

/// After such an error every call of this process fails, for all that the device held is lost.
bool is_sticky(cudaError_t error);

/// `this process cannot use cuda:0 any more, and the tensors on it are lost`
std::string loss_text(const std::string& device);

/// `operation`: "copying to cuda:0".
Failure cuda_failure(cudaError_t error, const std::string& device, const std::string& operation);

/// Throws where a call failed; `operation` is what it was to do, without the device: "waiting for a stream".
void check(cudaError_t result, const Device& device, const char* operation);

}  // namespace tenon
