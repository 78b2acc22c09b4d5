// Checksums of many bytes at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

struct Checked {
  std::span<const std::byte> bytes;
  std::uint64_t checksum;  ///< that they should have
};

/// The index of the first whose checksum is another; their number where there is none. Uses several threads where that saves time: as many
/// as there are buffers compute, the others bring in the pages of mapped files.
std::size_t first_damaged(const std::vector<Checked>& buffers);

}  // namespace tenon
