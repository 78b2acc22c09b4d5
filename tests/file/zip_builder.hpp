// Hand-made zip archives, any field of which can be faulty.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct BuiltMember {
  std::string name, content;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;  // XORed with the right checksum
  std::optional<std::uint32_t> size = {}, stored_size = {},
                               offset = {};  // overrides in the directory
  std::string extra = {};                    // extra field in the directory
  std::uint32_t mode = 0;                    // the file's Unix mode
};

inline std::string little_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline std::uint32_t crc32_of(const std::string& text) {
  std::uint32_t crc = 0xffffffff;
  for (const char letter : text) {
    crc ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

inline std::string zip_of(const std::vector<BuiltMember>& members) {
  std::string archive, directory;
  for (const BuiltMember& member : members) {
    const auto length = static_cast<std::uint32_t>(member.content.size());
    const std::string fields = little_endian(20, 2) + little_endian(member.flags, 2) +
                               little_endian(member.method, 2) + little_endian(0x210000, 4) +
                               little_endian(crc32_of(member.content) ^ member.crc, 4) +
                               little_endian(member.stored_size.value_or(length), 4) +
                               little_endian(member.size.value_or(length), 4) +
                               little_endian(static_cast<std::uint32_t>(member.name.size()), 2);
    const auto extra_size = little_endian(static_cast<std::uint32_t>(member.extra.size()), 2);
    const auto offset = static_cast<std::uint32_t>(archive.size());
    archive += "PK\3\4" + fields + std::string(2, '\0') + member.name + member.content;
    directory += "PK\1\2" + little_endian(20, 2) + fields + extra_size + std::string(6, '\0') +
                 little_endian(member.mode << 16, 4) +
                 little_endian(member.offset.value_or(offset), 4) + member.name + member.extra;
  }
  const auto count = static_cast<std::uint32_t>(members.size()),
             begin = static_cast<std::uint32_t>(archive.size());
  archive += directory;
  return archive + "PK\5\6" + std::string(4, '\0') + little_endian(count, 2) +
         little_endian(count, 2) + little_endian(static_cast<std::uint32_t>(directory.size()), 4) +
         little_endian(begin, 4) + std::string(2, '\0');
}
