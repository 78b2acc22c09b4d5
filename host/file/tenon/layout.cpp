#include "file/tenon/layout.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "io/system_reason.hpp"

namespace tenon::layout {
namespace {

static_assert(std::endian::native == std::endian::little, "files are mapped as they are");

constexpr std::string_view magic("\x89TENON\r\n", 8);
constexpr std::size_t checked = 56;

template <class T>
void put(std::span<std::byte> bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

void require_magic(std::string_view start, const std::filesystem::path& path) {
  if (start.starts_with(magic)) return;
  if (start.empty())
    refuse_file(path, "the file is empty, but a .tenon file has at least {} bytes", header_size);
  if (start.substr(1).starts_with("TENON"))
    refuse_file(path,
                "the signature of the .tenon file was damaged by a text-mode transfer; copy the "
                "file again in binary mode");
  if (start.front() == '{')
    refuse_file(path, "this is a text file, perhaps a graph.json, and not a .tenon file");
  refuse_file(path, "this is not a .tenon file: its signature is wrong");
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::array<std::byte, header_size> encode(const Header& header) {
  std::array<std::byte, header_size> bytes{};
  std::memcpy(bytes.data(), magic.data(), magic.size());
  put(bytes, 8, version);
  put(bytes, 12, static_cast<std::uint32_t>(header_size));
  put(bytes, 16, header.metadata_size);
  put(bytes, 24, header.metadata_checksum);
  put(bytes, 32, header.data_offset);
  put(bytes, 40, header.file_size);
  put(bytes, checked, checksum(std::span(bytes).first(checked)));
  return bytes;
}

Header decode(std::span<const std::byte> file, const std::filesystem::path& path) {
  require_magic({reinterpret_cast<const char*>(file.data()), file.size()}, path);
  if (file.size() < header_size)
    refuse_file(path, "the file ends after {} bytes, inside its header of {}", file.size(),
                header_size);
  if (const auto found = get<std::uint32_t>(file, 8); found != version)
    refuse_file(path,
                "the file has layout version {}, but this version of Tenon reads {}; a newer "
                "version may read it",
                found, version);
  if (get<std::uint64_t>(file, checked) != checksum(file.first(checked)) ||
      get<std::uint32_t>(file, 12) != header_size)
    refuse_file(path, "the header is damaged: its checksum does not match");
  const Header header{get<std::uint64_t>(file, 16), get<std::uint64_t>(file, 24),
                      get<std::uint64_t>(file, 32), get<std::uint64_t>(file, 40)};
  if (header.file_size != file.size())
    refuse_file(path, "the file has {} bytes, but its header says {}: it was {}", file.size(),
                header.file_size, file.size() < header.file_size ? "truncated" : "extended");
  if (header.metadata_size > metadata_limit || header.metadata_size > file.size() - header_size)
    refuse_file(path, "the header says {} bytes of metadata, which the file of {} cannot hold",
                header.metadata_size, file.size());
  const auto end = header_size + header.metadata_size;
  const auto expected = header.data_offset == 0 ? 0 : align(end, segment_alignment);
  if (header.data_offset != expected || header.data_offset > file.size() ||
      (expected == 0 && file.size() != end))
    refuse_file(path,
                "the header says that the data begins at byte {}, but the metadata ends at {}",
                header.data_offset, end);
  return header;
}

}  // namespace tenon::layout
