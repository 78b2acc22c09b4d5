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
  using Also = std::function<void(std::span<const std::byte>)>;
  /// `largest`: numbers from here on are written with 64 bits; lowered by tests. `also` receives
  /// all bytes of the archive, in order.
  explicit ZipWriter(AtomicFile& file, std::uint64_t largest = narrow, Also also = {})
      : file_(file), largest_(largest), also_(std::move(also)) {}

  /// Adds a member whose content is `head` followed by `rest`. `name`: UTF-8, at most 65535 bytes.
  void add(const std::string& name, std::string_view head, std::span<const std::byte> rest);
  /// Writes the directory; call it after the last member.
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
