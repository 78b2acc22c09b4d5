// The devices of this machine.
#pragma once
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace tenon {

Device& cpu_device();

/// The CPU, then CUDA's devices by number. They are looked for once, at the first call, which starts CUDA; a process that forks after that
/// has no CUDA in the child. They stay as long as the process.
const std::vector<Device*>& devices();

/// By name; `cuda` is the first of CUDA's. Throws Failure (usage), one sentence that says which devices there are, or why CUDA has none.
/// `cpu` is found without a look for others.
Device& find_device(std::string_view name);

}  // namespace tenon
