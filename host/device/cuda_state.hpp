// Whether CUDA is usable in this process, and if not, why.
#pragma once
#include <memory>
#include <string>
#include <tenon/host/devices.hpp>
#include <vector>

#include "device/device.hpp"

namespace tenon {

struct CudaState : CudaInfo {
  std::vector<std::unique_ptr<Device>> devices;
};

/// Result of querying the CUDA runtime. `error`: name and description of the error, empty if there
/// was none; `visible`: the value of CUDA_VISIBLE_DEVICES, null if it is not set.
struct CudaQueryResult {
  int runtime = 0, driver = 0, devices = 0;
  std::string error;
  const char* visible = nullptr;
};
/// Does not fill in the devices.
CudaState classify(const CudaQueryResult& answer);

/// The state of this process, determined at the first call.
const CudaState& cuda_state();

/// Whether loading CUDA kernels and their libraries can succeed. Does not initialize CUDA, so the
/// process may still fork.
bool has_cuda_driver();

/// Queries the runtime. Implemented in cuda/, or in without_cuda.cpp for builds without the
/// toolkit.
CudaState detect_cuda();

}  // namespace tenon
