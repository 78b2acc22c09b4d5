// Copies between a CUDA device and memory of the CPU that it cannot read by itself.
#pragma once
#include <mutex>

#include "device/block.hpp"

namespace tenon {

/// Two pinned buffers that take turns: while the device copies one, the CPU fills or empties the other.
/// Threads: any; copies wait for each other.
class Staging {
 public:
  static constexpr std::uint64_t buffer_bytes = 4u << 20;  // large enough for the full speed of the bus

  explicit Staging(Device& device) : buffers_{Buffer(device), Buffer(device)} {}
  /// Returns when `from` has been read.
  void to_device(const Place& to, const std::byte* from, std::uint64_t bytes, void* stream);
  /// Returns when `to` has been written.
  void from_device(std::byte* to, const Place& from, std::uint64_t bytes, void* stream);

 private:
  struct Buffer {
    explicit Buffer(Device& device) : memory(device, buffer_bytes, "the staging of copies"), used(device) {}
    PinnedBlock memory;
    Event used;  // the device has copied it
  };
  Buffer& at(std::uint64_t offset) { return buffers_[offset / buffer_bytes % 2]; }
  void fetch(const Place& from, std::uint64_t offset, std::uint64_t bytes, void* stream);

  std::mutex mutex_;
  Buffer buffers_[2];
};

}  // namespace tenon
