#include "file/array/zip_reader.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string_view>
#include <tenon/host/failure.hpp>

#include "file/array/zip_format.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t max_members = 100000;

std::uint64_t number(std::string_view record, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(record[at + i])} << (8 * i);
  return value;
}

bool is(std::string_view record, const zip::Record& kind) {
  return record.size() >= kind.size && record.starts_with(kind.signature);
}

/// Replaces placeholders by the numbers of the zip64 extra field. Returns false if one is missing.
bool widen(std::string_view extra, std::initializer_list<std::uint64_t*> numbers) {
  const auto is_zip64 = [](const auto* value) { return *value == zip::in_zip64_field; };
  if (std::none_of(numbers.begin(), numbers.end(), is_zip64)) return true;
  while (extra.size() >= 4) {
    const auto id = number(extra, 0, 2), size = number(extra, 2, 2);
    if (size > extra.size() - 4) return false;
    if (id != zip::zip64_field) {
      extra.remove_prefix(4 + size);
      continue;
    }
    extra = extra.substr(4, size);
    for (auto* value : numbers) {
      if (!is_zip64(value)) continue;
      if (extra.size() < 8) return false;
      *value = number(extra, 0, 8);
      extra.remove_prefix(8);
    }
    return true;
  }
  return false;
}

struct End {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

ZipReader::ZipReader(const std::filesystem::path& path)
    : path_(path), file_(OpenFile::for_reading(path)) {
  if (file_.size() == 0) throw file_failure("read", path_, "it is empty");
  const auto directory = find_directory();
  directory_ = directory.offset;
  if (directory.count > max_members)
    throw file_failure(
        "read", path_,
        "it has " + std::to_string(directory.count) + " members but at most 100000 are supported");
  auto at = directory.offset;
  for (std::uint64_t i = 0; i < directory.count; ++i) members_.push_back(read_entry(at));
  if (at != directory.offset + directory.size)
    refuse("the size of its directory differs from the declared size");
}

// The end record is the last record of the file; only a comment may follow it.
ZipReader::Directory ZipReader::find_directory() const {
  constexpr std::uint64_t longest = zip::directory_end.size + 0xffff;
  const auto first = file_.size() - std::min(file_.size(), longest);
  const auto tail = text_at(first, static_cast<std::size_t>(file_.size() - first));
  for (auto at = tail.rfind(zip::directory_end.signature); at != std::string::npos;
       at = at == 0 ? std::string::npos : tail.rfind(zip::directory_end.signature, at - 1)) {
    const auto record = std::string_view(tail).substr(at);
    if (!is(record, zip::directory_end) ||
        record.size() - zip::directory_end.size != number(record, 20, 2))
      continue;
    const auto end = first + at;
    if (end >= zip::directory_end64_locator.size &&
        is(text_at(end - zip::directory_end64_locator.size, zip::directory_end64_locator.size),
           zip::directory_end64_locator))
      return directory64(end - zip::directory_end64_locator.size);
    const Directory found{number(record, 16, 4), number(record, 12, 4), number(record, 10, 2)};
    if (number(record, 4, 4) != 0 || number(record, 8, 2) != found.count)
      refuse("it is one volume of a multi-volume archive");
    if (found.offset > end || found.size > end - found.offset)
      refuse("its directory lies outside the file");
    return found;
  }
  if (text_at(0, std::min<std::size_t>(tail.size(), 4)) == zip::member_header.signature)
    refuse("its directory, at the end of the file, is missing: was it truncated?");
  throw file_failure("read", path_, "it is not a zip archive, which .npz files must be");
}

ZipReader::Directory ZipReader::directory64(std::uint64_t end) const {
  const auto locator = text_at(end, zip::directory_end64_locator.size);
  const auto at = number(locator, 8, 8);
  if (at > end || end - at < zip::directory_end64.size)
    refuse("its directory lies outside the file");
  const auto record = text_at(at, zip::directory_end64.size);
  if (!is(record, zip::directory_end64)) refuse("its directory is missing");
  const Directory found{number(record, 48, 8), number(record, 40, 8), number(record, 32, 8)};
  if (number(record, 16, 8) != 0 || number(record, 24, 8) != found.count)
    refuse("it is one volume of a multi-volume archive");
  if (found.offset > at || found.size > at - found.offset)
    refuse("its directory lies outside the file");
  return found;
}

ZipMember ZipReader::read_entry(std::uint64_t& at) const {
  const auto entry = text_at(at, zip::directory_entry.size);
  if (!is(entry, zip::directory_entry)) refuse("its directory is damaged");
  const auto name_size = static_cast<std::size_t>(number(entry, 28, 2)),
             extra_size = static_cast<std::size_t>(number(entry, 30, 2));
  auto name = text_at(at + entry.size(), name_size + extra_size);
  const auto extra = name.substr(name_size);
  name.resize(name_size);
  ZipMember member{std::move(name),
                   static_cast<std::uint16_t>(number(entry, 8, 2)),
                   static_cast<std::uint16_t>(number(entry, 10, 2)),
                   static_cast<std::uint32_t>(number(entry, 16, 4)),
                   number(entry, 24, 4),
                   number(entry, 20, 4),
                   number(entry, 42, 4),
                   static_cast<std::uint32_t>(number(entry, 38, 4))};
  if (!is_name(member.name))
    refuse("its member name '" + printable(member.name) +
           "' is not UTF-8 without control characters");
  if (!widen(extra, {&member.size, &member.stored_size, &member.offset}))
    refuse("its directory is damaged");
  at += entry.size() + name_size + extra_size + number(entry, 32, 2);
  return member;
}

void ZipReader::read(const ZipMember& member, const std::string& label,
                     std::span<std::byte> content) const {
  const auto at = content_of(member, label);
  if (member.method == zip::deflated)
    inflate(member, label, at, content);
  else
    read_at(at, content);
  require_sum(member, label,
              crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

void ZipReader::read_stored(const ZipMember& member, const std::string& label,
                            const std::function<void(std::span<const std::byte>)>& take) const {
  auto at = content_of(member, label);
  if (member.method != zip::stored || member.size != member.stored_size)
    throw file_failure("read", label, "it is compressed, or its size differs from the directory's");
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  uLong crc = 0;
  for (auto left = member.size; left > 0;) {
    const auto bytes = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size())));
    read_at(at, bytes);
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    take(bytes);
    at += bytes.size(), left -= bytes.size();
  }
  require_sum(member, label, crc);
}

void ZipReader::require_sum(const ZipMember& member, const std::string& label, std::uint64_t crc) {
  if (crc != member.crc)
    throw file_failure("read", label, "it is damaged: its checksum does not match");
}

// Returns the offset of a member's bytes, after its local header, which repeats the name.
std::uint64_t ZipReader::content_of(const ZipMember& member, const std::string& label) const {
  const auto damaged = [&] {
    return file_failure("read", label,
                        "the archive is damaged: its directory does not match the member headers");
  };
  const auto head = zip::member_header.size + member.name.size();
  if (member.offset > directory_ || directory_ - member.offset < head) throw damaged();
  const auto header = text_at(member.offset, head);
  if (!is(header, zip::member_header) || number(header, 26, 2) != member.name.size() ||
      !header.ends_with(member.name))
    throw damaged();
  const auto at = member.offset + head + number(header, 28, 2);
  if (at > directory_ || member.stored_size > directory_ - at) throw damaged();
  return at;
}

void ZipReader::inflate(const ZipMember& member, const std::string& label, std::uint64_t at,
                        std::span<std::byte> content) const {
  constexpr std::size_t max_chunk = std::size_t{1} << 30;  // zlib's counters have 32 bits
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, End> end(&stream);
  std::vector<std::byte> input(std::size_t{1} << 16);
  auto left = member.stored_size;
  std::byte more{};
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0 && left > 0) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, input.size()));
      read_at(at, std::span(input).first(size));
      at += size, left -= size;
      stream.next_in = reinterpret_cast<Bytef*>(input.data());
      stream.avail_in = static_cast<uInt>(size);
    }
    const auto capacity = std::min(content.size(), max_chunk);
    stream.next_out = reinterpret_cast<Bytef*>(capacity > 0 ? content.data() : &more);
    stream.avail_out = static_cast<uInt>(std::max<std::size_t>(capacity, 1));
    const auto before = stream.avail_out;
    status = ::inflate(&stream, Z_NO_FLUSH);
    const std::size_t produced = before - stream.avail_out;
    if (produced > capacity)
      throw file_failure("read", label, "it has more bytes than the directory declares");
    content = content.subspan(produced);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
  }
  if (status != Z_STREAM_END && status != Z_BUF_ERROR)
    throw file_failure("read", label, "it is damaged: it cannot be decompressed");
  if (status == Z_BUF_ERROR || !content.empty())
    throw file_failure("read", label, "it has fewer bytes than the directory declares");
}

void ZipReader::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto bytes_read =
        pread(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) throw file_failure("read", path_, system_reason(errno));
    if (bytes_read == 0) refuse("it is truncated");
    bytes = bytes.subspan(static_cast<std::size_t>(bytes_read));
    offset += static_cast<std::uint64_t>(bytes_read);
  }
}

std::string ZipReader::text_at(std::uint64_t offset, std::size_t size) const {
  std::string text(size, '\0');
  read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

void ZipReader::refuse(const std::string& reason) const {
  throw file_failure("read", path_, "the archive is damaged: " + reason);
}

}  // namespace tenon
