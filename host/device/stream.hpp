// Streams of work on a device, and events on them.
#pragma once
#include <memory>

#include "device/device.hpp"

namespace tenon {

class Event;

/// A shared handle of a stream. Destroying the last one does not cancel work on the stream.
class Stream {
 public:
  explicit Stream(Device& device);
  Device& device() const { return *device_; }
  void* handle() const { return handle_.get(); }  ///< tenon_call::stream; null on the CPU
  void synchronize() const { device_->synchronize_stream(handle()); }
  /// Makes later work on this stream wait for the event, on any device. The calling thread
  /// continues, unless this is a CPU stream.
  void wait(const Event& event) const;

 private:
  Device* device_;
  std::shared_ptr<void> handle_;
};

/// A marker on a stream. Recording it again moves it.
class Event {
 public:
  explicit Event(Device& device);
  Device& device() const { return *device_; }
  void* handle() const { return handle_.get(); }
  /// Throws Failure (usage) if the stream belongs to another device.
  void record(const Stream& stream) const;
  bool is_complete() const { return device_->is_complete(handle()); }
  void synchronize() const { device_->synchronize_event(handle()); }  ///< blocks the calling thread

 private:
  struct Free {
    Device* device;
    void operator()(void* event) const { device->free_event(event); }
  };
  Device* device_;
  std::unique_ptr<void, Free> handle_;
};

/// Copies on the stream, which must belong to one of the two devices, and to the CPU only if both
/// are the CPU; otherwise throws Failure (usage).
/// A copy from CPU memory returns when the source may be changed; a copy to CPU memory returns when
/// the bytes have arrived. Copies from or to pinned memory (PinnedBlock), and between GPUs, return
/// immediately: then source and target must remain valid and unchanged until the stream has done
/// it.
/// Source and target must not overlap.
void copy(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
          const Stream& stream);

}  // namespace tenon
