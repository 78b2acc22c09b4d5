// What the kernels of a plan's steps on one GPU report of elements that they cannot use.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "device/block.hpp"

namespace tenon {

/// A word of the device's memory for each of `steps`, all of them zero until a kernel writes. Threads: one at a time.
class Faults {
 public:
  Faults(const Stream& stream, std::vector<std::uint32_t> steps);

  std::span<const std::uint32_t> steps() const { return steps_; }
  /// tenon_call::fault of the i-th of them.
  tenon_fault* word(std::size_t i) const { return reinterpret_cast<tenon_fault*>(words_.data()) + i; }

  /// Begins to copy them to the CPU; once the stream is done, found() tells what was in them.
  void fetch();
  const tenon_fault& found(std::size_t i) const { return reinterpret_cast<const tenon_fault*>(found_.data())[i]; }
  /// Makes them zero again, after one was found.
  void clear();

 private:
  std::uint64_t bytes() const { return steps_.size() * sizeof(tenon_fault); }

  std::vector<std::uint32_t> steps_;
  Block words_;
  PinnedBlock found_;
};

}  // namespace tenon
