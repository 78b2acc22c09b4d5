// What is said where a device has too little memory.
#pragma once
#include <cstdint>
#include <string>
#include <tenon/failure.hpp>

#include "device/device.hpp"

namespace tenon {

/// `cuda:0 is out of memory: the plan needs 3.0 GiB, and 1.5 GiB of 79.1 GiB are free`
Failure out_of_memory(const std::string& device, const std::string& what, std::uint64_t bytes, const DeviceMemory& memory);

}  // namespace tenon
