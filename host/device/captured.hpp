// Work of a stream that is done again and again as one.
#pragma once
#include <memory>

#include "device/stream.hpp"

namespace tenon {

/// A GPU is asked for it once, not for each of its parts. Threads: one at a time.
class Captured {
 public:
  /// What `put` puts on the stream, which must be all that it does: nothing of it is done now. Throws what `put` throws, and Failure where
  /// the device cannot keep what it was asked for.
  template <class Put>
  Captured(const Stream& stream, Put&& put) : stream_(stream) {
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
  /// On the stream, with the memory that it used when it was captured.
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
