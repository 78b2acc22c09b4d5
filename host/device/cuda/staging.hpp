// Staged copies between a CUDA device and pageable CPU memory.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "device/block.hpp"

namespace tenon {

/// Double buffering with two pinned buffers: while the device copies one, the CPU fills or drains
/// the other. Not thread-safe.
class Staging {
 public:
  // large enough for the full bandwidth of the bus
  static constexpr std::uint64_t buffer_bytes = 4u << 20;

  explicit Staging(Device& device) : buffers_{Buffer(device), Buffer(device)} {}
  /// Returns when `from` has been read.
  void to_device(const DeviceAddress& to, const std::byte* from, std::uint64_t bytes, void* stream);
  /// Returns when `to` has been written.
  void from_device(std::byte* to, const DeviceAddress& from, std::uint64_t bytes, void* stream);

 private:
  struct Buffer {
    explicit Buffer(Device& device)
        : memory(device, buffer_bytes, "the staging buffer of copies"), used(device) {}
    PinnedBlock memory;
    Event used;  // recorded when the device has copied it
  };
  Buffer& at(std::uint64_t offset) { return buffers_[offset / buffer_bytes % 2]; }
  void fetch(const DeviceAddress& from, std::uint64_t offset, std::uint64_t bytes, void* stream);

  Buffer buffers_[2];
};

/// The stagings of a device. Each copy uses one exclusively, because it may have to wait for
/// kernels of its stream. Thread-safe; at most four copies run at once, others wait.
class Stagings {
 public:
  explicit Stagings(Device& device) : device_(device) { idle_.reserve(max_stagings); }

  template <class Copy>
  void with(Copy copy) {
    const Borrowed borrowed(*this);
    copy(*borrowed.staging);
  }

 private:
  static constexpr int max_stagings = 4;

  struct Borrowed {
    explicit Borrowed(Stagings& stagings) : stagings_(stagings), staging(stagings.acquire()) {}
    ~Borrowed() { stagings_.release(std::move(staging)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    Stagings& stagings_;
    std::unique_ptr<Staging> staging;
  };
  std::unique_ptr<Staging> acquire();
  void release(std::unique_ptr<Staging> staging);

  Device& device_;
  std::mutex mutex_;
  std::condition_variable returned_;
  int created_ = 0;
  std::vector<std::unique_ptr<Staging>> idle_;
};

}  // namespace tenon
