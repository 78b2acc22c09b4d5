// Faults that kernels of a plan's steps on one GPU report, for elements that they cannot use.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "device/block.hpp"

namespace tenon {

/// A fault record in device memory for each of `steps`, zero until a kernel reports a fault.
/// Threads: one at a time.
class Faults {
 public:
  Faults(const Stream& stream, std::vector<std::uint32_t> steps);

  std::span<const std::uint32_t> steps() const { return steps_; }
  /// tenon_call::fault of the i-th step.
  tenon_fault* fault(std::size_t i) const {
    return reinterpret_cast<tenon_fault*>(records_.data()) + i;
  }

  /// Starts a copy of the records to the CPU; found() is valid once the stream has finished.
  void fetch();
  const tenon_fault& found(std::size_t i) const {
    return reinterpret_cast<const tenon_fault*>(found_.data())[i];
  }
  /// Sets all records to zero, after a fault was found.
  void clear();

 private:
  std::uint64_t bytes() const { return steps_.size() * sizeof(tenon_fault); }

  std::vector<std::uint32_t> steps_;
  Block records_;
  PinnedBlock found_;
};

}  // namespace tenon
