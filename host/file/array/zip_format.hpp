// The records of zip archives (PKWARE APPNOTE.TXT 6.3). All numbers are little-endian.
#pragma once
#include <cstdint>
#include <string_view>

namespace tenon::zip {

/// A record's signature, and its size without variable-length fields such as names.
struct Record {
  std::string_view signature;
  std::size_t size;
};
constexpr Record member_header{"PK\3\4", 30}, directory_entry{"PK\1\2", 46},
    directory_end{"PK\5\6", 22};
constexpr Record directory_end64{"PK\6\6", 56}, directory_end64_locator{"PK\6\7", 20};

constexpr std::uint16_t stored = 0, deflated = 8;  // methods
constexpr std::uint16_t encrypted_flag = 1, utf8_flag = 0x800;
constexpr std::uint16_t zip64_field = 1;  // id of the extra field with 64-bit numbers (zip64)
constexpr std::uint32_t in_zip64_field = 0xffffffff;  // placeholder for a number in that field
constexpr std::uint16_t longest_name = 0xffff;

}  // namespace tenon::zip
