// Zip archives of stored members.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "io/atomic_file.hpp"

namespace tenon {

/// The same members give the same bytes: each is dated 1980-01-01. Records of 64 bits (zip64) are written where 32 do not do. Throws
/// Failure as AtomicFile does. Threads: one at a time.
class ZipWriter {
 public:
  static constexpr std::uint64_t narrow = 0xffffffff;
  using Also = std::function<void(std::span<const std::byte>)>;
  /// `largest`: numbers from this on are written with 64 bits, for tests. `also` gets all bytes of the archive, in order.
  explicit ZipWriter(AtomicFile& file, std::uint64_t largest = narrow, Also also = {})
      : file_(file), largest_(largest), also_(std::move(also)) {}

  /// A member of two parts. `name`: UTF-8, at most 65535 bytes.
  void add(const std::string& name, std::string_view head, std::span<const std::byte> rest);
  /// The directory, after the last member.
  void finish();

 private:
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  AtomicFile& file_;
  std::uint64_t largest_, count_ = 0;
  Also also_;
  std::string directory_;
};

}  // namespace tenon
