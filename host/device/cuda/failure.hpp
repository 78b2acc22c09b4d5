// Converts CUDA errors to failures.
#pragma once
#include <cuda_runtime_api.h>

#include <string>
#include <tenon/host/failure.hpp>

#include "device/device.hpp"

namespace tenon {

/// `cudaErrorIllegalAddress (an illegal memory access was encountered)`
std::string error_text(cudaError_t error);

/// Whether every later CUDA call of this process fails after this error. All data on the device is
/// lost.
bool is_sticky(cudaError_t error);

/// `this process cannot use cuda:0 any more, and the tensors on it are lost`
std::string lost_device_text(const std::string& device);

/// `operation`: for example "copying to cuda:0".
Failure cuda_failure(cudaError_t error, const std::string& device, const std::string& operation);

/// Throws if a call failed. `operation` says what it was to do, without the device: "waiting for a
/// stream".
void check(cudaError_t result, const Device& device, const char* operation);

}  // namespace tenon
