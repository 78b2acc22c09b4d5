// Copies between a CUDA device and memory of the CPU that it cannot read by itself.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "device/block.hpp"

namespace tenon {

/// Two pinned buffers that take turns: while the device copies one, the CPU fills or empties the other. Threads: one at a time.
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

  Buffer buffers_[2];
};

/// Those of a device, of which each copy has one for itself: it may wait for kernels of its stream. Threads: any; of more than four copies
/// at once the others wait.
class Stagings {
 public:
  explicit Stagings(Device& device) : device_(device) { idle_.reserve(most); }

  template <class Copy>
  void with(Copy copy) {
    const Borrowed borrowed(*this);
    copy(*borrowed.staging);
  }

 private:
  static constexpr int most = 4;

  struct Borrowed {
    explicit Borrowed(Stagings& of) : of_(of), staging(of.take()) {}
    ~Borrowed() { of_.give(std::move(staging)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    Stagings& of_;
    std::unique_ptr<Staging> staging;
  };
  std::unique_ptr<Staging> take();
  void give(std::unique_ptr<Staging> staging);

  Device& device_;
  std::mutex mutex_;
  std::condition_variable given_;
  int made_ = 0;
  std::vector<std::unique_ptr<Staging>> idle_;
};

}  // namespace tenon
