// The calling thread's current device.
#pragma once
#include "device/cuda/failure.hpp"

namespace tenon {

/// Makes a device the current one of this thread, until the end of the scope.
class OnDevice {
 public:
  explicit OnDevice(const Device& device) {
    check(cudaGetDevice(&before_), device, "asking for the current device");
    if (before_ == device.id()) return;
    check(cudaSetDevice(device.id()), device, "making the device current");
    changed_ = true;
  }
  ~OnDevice() {
    if (changed_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace tenon
