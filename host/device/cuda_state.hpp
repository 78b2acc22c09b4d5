// Whether CUDA can be used here, and why not.
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

/// What the runtime found: `error` is the name and meaning of what it failed with, empty where it did not; `visible` is what the variable
/// CUDA_VISIBLE_DEVICES says, null where it is not set.
struct CudaAnswer {
  int runtime = 0, driver = 0, devices = 0;
  std::string error;
  const char* visible = nullptr;
};
/// Without the devices themselves.
CudaState judge(const CudaAnswer& answer);

/// Of this process; found out at the first call.
const CudaState& cuda_state();

/// Whether it is worth loading CUDA kernels and the libraries behind them. Does not start CUDA, so that a process may still fork.
bool has_cuda_driver();

/// Asks the runtime: in cuda/, or in without_cuda.cpp where there was no toolkit.
CudaState look_for_cuda();

}  // namespace tenon
