// Checksums of many buffers at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

struct Checked {
  std::span<const std::byte> bytes;
  std::uint64_t checksum;  ///< expected
};

/// Returns the index of the first buffer with a wrong checksum, or their number if all are right.
/// Uses several threads where that saves time: up to one per buffer computes, the others prefetch
/// the pages of mapped files.
std::size_t first_damaged(const std::vector<Checked>& buffers);

}  // namespace tenon
