// Selects the GPU on which kernels of the calling thread run.
#pragma once
#include "device/device.hpp"

namespace tenon {

/// Makes a device current for this thread until the end of the scope, then restores the previous
/// one: the thread is the application's, and other code in it relies on its own current device.
class CurrentDevice {
 public:
  /// Does nothing for null or the CPU. Throws Failure.
  explicit CurrentDevice(Device* device)
      : device_(device == nullptr || device->is_cpu() ? nullptr : device) {
    if (device_ == nullptr) return;
    before_ = device_->current();
    if (before_ != device_->id()) device_->make_current();
  }
  explicit CurrentDevice(Device& device) : CurrentDevice(&device) {}
  ~CurrentDevice() {
    if (device_ != nullptr) device_->restore_current(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  Device* device_;
  int before_ = 0;
};

}  // namespace tenon
