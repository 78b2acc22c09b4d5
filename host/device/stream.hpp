// A line of work on a device, and marks on it.
#pragma once
#include <memory>

#include "device/device.hpp"

namespace tenon {

class Event;

/// Copies are the same stream; it ends with the last of them, and what is on it is still done.
class Stream {
 public:
  explicit Stream(Device& device);
  Device& device() const { return *device_; }
  void* handle() const { return handle_.get(); }  ///< tenon_call::stream; null on the CPU
  void synchronize() const { device_->finish_stream(handle()); }
  /// What comes next on this stream waits until the event is reached, on whichever device that is. The calling thread goes on, except where
  /// this is a stream of the CPU.
  void wait(const Event& event) const;

 private:
  Device* device_;
  std::shared_ptr<void> handle_;
};

/// A mark on a stream. Recorded again it marks the new place.
class Event {
 public:
  explicit Event(Device& device);
  Device& device() const { return *device_; }
  void* handle() const { return handle_.get(); }
  /// Throws Failure (usage) where the stream is another device's.
  void record(const Stream& stream) const;
  bool reached() const { return device_->reached(handle()); }
  void synchronize() const { device_->finish_event(handle()); }  ///< the calling thread waits

 private:
  struct Free {
    Device* device;
    void operator()(void* event) const { device->free_event(event); }
  };
  Device* device_;
  std::unique_ptr<void, Free> handle_;
};

/// Copies on the stream, which is that of one of the two devices, and the CPU's only where both are the CPU; else Failure (usage).
/// When a copy from the CPU's memory returns, that memory may be changed; when one to the CPU's memory returns, the bytes are there. Only
/// where that memory is pinned (PinnedBlock), and between GPUs, it returns at once: then both places must stay as they are until the stream
/// has done it.
/// The places do not overlap.
void copy(const Place& to, const Place& from, std::uint64_t bytes, const Stream& stream);

}  // namespace tenon
