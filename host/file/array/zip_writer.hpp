// Zip archives of stored members.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/atomic_file.hpp"

namespace tenon {

/// The same members give the same bytes: each is dated 1980-01-01. Records of 64 bits (zip64) are written where 32 do not do. Throws
/// Failure as AtomicFile does. Threads: one at a time.
class ZipWriter {
 public:
  /// `largest`: numbers from this on are written with 64 bits, for tests.
  explicit ZipWriter(AtomicFile& file, std::uint64_t largest = 0xffffffff) : file_(file), largest_(largest) {}

  /// A member of two parts. `name`: UTF-8, at most 65535 bytes.
  void add(const std::string& name, std::string_view head, std::span<const std::byte> rest);
  /// The directory, after the last member.
  void finish();

 private:
  AtomicFile& file_;
  std::uint64_t largest_, count_ = 0;
  std::string directory_;
};

}  // namespace tenon
