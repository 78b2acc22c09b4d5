#include "file/array/zip_writer.hpp"

#include <zlib.h>

#include <algorithm>
#include <initializer_list>

#include "file/array/zip_format.hpp"

namespace tenon {
namespace {

struct Field {
  std::uint64_t value;
  int bytes;
};

void append(std::string& record, std::initializer_list<Field> fields) {
  for (const auto& field : fields)
    for (int i = 0; i < field.bytes; ++i)
      record += i < 8 ? static_cast<char>(field.value >> (8 * i)) : '\0';
}

std::string wide_field(std::initializer_list<std::uint64_t> numbers) {
  std::string field;
  append(field, {{zip::wide_field, 2}, {8 * numbers.size(), 2}});
  for (const auto value : numbers) append(field, {{value, 8}});
  return field;
}

// zlib returns the initial checksum if the pointer is null.
std::uint64_t crc_of(std::uint64_t before, std::span<const std::byte> bytes) {
  return bytes.empty()
             ? before
             : crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

constexpr std::uint64_t plain_version = 20, wide_version = 45;  // version needed to extract
constexpr std::uint64_t first_day =
    0x210000;  // a constant date and time make archives reproducible

}  // namespace

void ZipWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  if (also_) also_(bytes);
}

void ZipWriter::add(const std::string& name, std::string_view head,
                    std::span<const std::byte> rest) {
  const auto offset = file_.size(), size = std::uint64_t{head.size()} + rest.size();
  const bool wide_size = size >= largest_, wide = wide_size || offset >= largest_;
  const auto crc = crc_of(crc_of(0, std::as_bytes(std::span(head))), rest);
  const bool ascii = std::none_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) > 0x7f;
  });
  const auto said = wide_size ? std::uint64_t{zip::in_wide_field} : size;

  // The fields that both records of a member have.
  const auto append_fields = [&](std::string& record, bool is_wide, std::size_t extra) {
    append(record, {{is_wide ? wide_version : plain_version, 2},
                    {ascii ? 0U : zip::utf8_flag, 2},
                    {zip::stored, 2},
                    {first_day, 4},
                    {crc, 4},
                    {said, 4},
                    {said, 4},
                    {name.size(), 2},
                    {extra, 2}});
  };
  const auto sizes = wide_size ? wide_field({size, size}) : std::string();
  std::string header(zip::member_header.signature);
  append_fields(header, wide_size, sizes.size());
  write(header + name + sizes + std::string(head));
  write(rest);

  const auto numbers =
      wide ? wide_size ? wide_field({size, size, offset}) : wide_field({offset}) : std::string();
  directory_ += zip::directory_entry.signature;
  append(directory_, {{wide_version, 2}});
  append_fields(directory_, wide, numbers.size());
  append(directory_, {{0, 10}, {wide ? std::uint64_t{zip::in_wide_field} : offset, 4}});
  directory_ += name + numbers;
  ++count_;
}

void ZipWriter::finish() {
  const auto offset = file_.size(), size = std::uint64_t{directory_.size()};
  write(directory_);
  std::string end;
  const bool wide = count_ >= 0xffff || offset >= largest_ || size >= largest_;
  if (wide) {
    end += zip::directory_end64.signature;
    append(end, {{zip::directory_end64.size - 12, 8},
                 {wide_version, 2},
                 {wide_version, 2},
                 {0, 8},
                 {count_, 8},
                 {count_, 8},
                 {size, 8},
                 {offset, 8}});
    end += zip::directory_end64_place.signature;
    append(end, {{0, 4}, {offset + size, 8}, {1, 4}});
  }
  const auto narrow = [&](std::uint64_t value, std::uint64_t instead) {
    return wide ? instead : value;
  };
  end += zip::directory_end.signature;
  append(end, {{0, 4},
               {narrow(count_, 0xffff), 2},
               {narrow(count_, 0xffff), 2},
               {narrow(size, zip::in_wide_field), 4},
               {narrow(offset, zip::in_wide_field), 4},
               {0, 2}});
  write(end);
}

}  // namespace tenon
