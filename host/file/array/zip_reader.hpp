// Reading zip archives of stored and deflated members.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/open_file.hpp"

namespace tenon {

/// A member as the archive's directory describes it; unverified.
struct ZipMember {
  std::string name;  ///< UTF-8 without control characters
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t size = 0, stored_size = 0;  ///< bytes; stored_size: in the archive
  std::uint64_t offset = 0;                 ///< of the local header in the file
  std::uint32_t attributes = 0;             ///< the upper 16 bits: the Unix file mode, or 0
};

/// The file is untrusted: every number is checked against the file's size. Nothing is mapped, so a
/// file that is truncated meanwhile causes an ordinary error. All functions throw Failure (file).
/// Threads: any.
class ZipReader {
 public:
  /// Reads the directory. At most 100,000 members are accepted.
  explicit ZipReader(const std::filesystem::path& path);

  const std::vector<ZipMember>& members() const { return members_; }
  std::uint64_t size() const { return file_.size(); }  ///< bytes of the whole file

  /// Fills `content`, which has member.size bytes, and verifies the checksum. `label` names the
  /// member in messages.
  void read(const ZipMember& member, const std::string& label, std::span<std::byte> content) const;
  /// Like read(), in chunks, for a member that is stored uncompressed.
  void read_stored(const ZipMember& member, const std::string& label,
                   const std::function<void(std::span<const std::byte>)>& take) const;

 private:
  struct Directory {
    std::uint64_t offset = 0, size = 0, count = 0;
  };
  Directory find_directory() const;
  Directory directory64(std::uint64_t end) const;
  ZipMember read_entry(std::uint64_t& at) const;
  std::uint64_t content_of(const ZipMember& member, const std::string& label) const;
  static void require_sum(const ZipMember& member, const std::string& label, std::uint64_t crc);
  void inflate(const ZipMember& member, const std::string& label, std::uint64_t at,
               std::span<std::byte> content) const;
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::string text_at(std::uint64_t offset, std::size_t size) const;
  [[noreturn]] void refuse(const std::string& reason) const;

  std::filesystem::path path_;
  OpenFile file_;
  std::uint64_t directory_ = 0;  // the directory's offset, where the members end
  std::vector<ZipMember> members_;
};

}  // namespace tenon
