// The GPU that kernels of the calling thread run on.
#pragma once
#include "device/device.hpp"

namespace tenon {

/// Makes a device the current one of this thread, until the end of the scope: the thread is the application's, and others that use the GPU
/// in it rely on theirs.
class CurrentDevice {
 public:
  /// Null, or the CPU: this does nothing. Throws Failure.
  explicit CurrentDevice(Device* device) : device_(device == nullptr || device->is_cpu() ? nullptr : device) {
    if (device_ == nullptr) return;
    before_ = device_->current();
    if (before_ != device_->id()) device_->make_current();
  }
  explicit CurrentDevice(Device& device) : CurrentDevice(&device) {}
  ~CurrentDevice() {
    if (device_ != nullptr) device_->put_back_current(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  Device* device_;
  int before_ = 0;
};

}  // namespace tenon
