// The devices of this machine.
#pragma once
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace tenon {

Device& cpu_device();

/// The CPU, then CUDA devices by number. Detected at the first call, which initializes CUDA; after
/// that, a forked child process cannot use CUDA. Lives as long as the process.
const std::vector<Device*>& devices();

/// Finds a device by name; `cuda` is the first CUDA device. Finding `cpu` does not initialize CUDA.
/// Throws Failure (usage) with one sentence that lists the available devices, or the reason why
/// CUDA has none.
Device& find_device(std::string_view name);

}  // namespace tenon
