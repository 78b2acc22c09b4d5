// Work captured from a stream and launched repeatedly as a whole.
#pragma once
#include <memory>

#include "device/stream.hpp"

namespace tenon {

/// A GPU receives one launch for all of the work. Not thread-safe.
class CapturedGraph {
 public:
  /// Captures the work that `put` submits to the stream, without running it; `put` must do nothing
  /// else. Throws what `put` throws, and Failure if the work cannot be captured.
  template <class Put>
  CapturedGraph(const Stream& stream, Put&& put) : stream_(stream) {
    auto& device = stream.device();
    device.begin_capture(stream.handle());
    try {
      put();
    } catch (...) {
      device.drop_capture(stream.handle());
      throw;
    }
    work_ = {device.end_capture(stream.handle()), Free{&device}};
  }
  /// Enqueues the work on the stream; it uses the same memory as when it was captured.
  void launch() const { stream_.device().launch(work_.get(), stream_.handle()); }

 private:
  struct Free {
    Device* device;
    void operator()(void* work) const { device->free_captured(work); }
  };
  Stream stream_;
  std::unique_ptr<void, Free> work_{nullptr, Free{nullptr}};
};

}  // namespace tenon
