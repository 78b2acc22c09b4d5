// Writing zip archives of stored members.
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

/// Equal members give equal bytes: each is dated 1980-01-01. zip64 records are written if 32 bits
/// do not suffice. Throws Failure like AtomicFile. Threads: one at a time.
class ZipWriter {
 public:
  static constexpr std::uint64_t narrow = 0xffffffff;
  using Sink = std::function<void(std::span<const std::byte>)>;
  /// `zip64_threshold`: numbers from here on are written with 64 bits; lowered by tests. `sink`
  /// receives all bytes of the archive, in order.
  explicit ZipWriter(AtomicFile& file, std::uint64_t zip64_threshold = narrow, Sink sink = {})
      : file_(file), zip64_threshold_(zip64_threshold), sink_(std::move(sink)) {}

  /// Adds a member whose content is `head` followed by `rest`. `name`: UTF-8, at most 65535 bytes.
  void add(const std::string& name, std::string_view head, std::span<const std::byte> rest);
  /// Writes the directory; call it after the last member.
  void finish();

 private:
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  AtomicFile& file_;
  std::uint64_t zip64_threshold_, count_ = 0;
  Sink sink_;
  std::string directory_;
};

}  // namespace tenon
