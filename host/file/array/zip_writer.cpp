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

std::string zip64_field(std::initializer_list<std::uint64_t> numbers) {
  std::string field;
  append(field, {{zip::zip64_field, 2}, {8 * numbers.size(), 2}});
  for (const auto value : numbers) append(field, {{value, 8}});
  return field;
}

// zlib returns the initial checksum if the pointer is null.
std::uint64_t crc_of(std::uint64_t before, std::span<const std::byte> bytes) {
  return bytes.empty()
             ? before
             : crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

constexpr std::uint64_t plain_version = 20, zip64_version = 45;  // version needed to extract
constexpr std::uint64_t first_day =
    0x210000;  // a constant date and time make archives reproducible

}  // namespace

void ZipWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  if (sink_) sink_(bytes);
}

void ZipWriter::add(const std::string& name, std::string_view head,
                    std::span<const std::byte> rest) {
  const auto offset = file_.size(), size = std::uint64_t{head.size()} + rest.size();
  const bool zip64_size = size >= zip64_threshold_,
             zip64 = zip64_size || offset >= zip64_threshold_;
  const auto crc = crc_of(crc_of(0, std::as_bytes(std::span(head))), rest);
  const bool ascii = std::none_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) > 0x7f;
  });
  const auto size_field = zip64_size ? std::uint64_t{zip::in_zip64_field} : size;

  // The fields that both records of a member have.
  const auto append_fields = [&](std::string& record, bool is_zip64, std::size_t extra) {
    append(record, {{is_zip64 ? zip64_version : plain_version, 2},
                    {ascii ? 0U : zip::utf8_flag, 2},
                    {zip::stored, 2},
                    {first_day, 4},
                    {crc, 4},
                    {size_field, 4},
                    {size_field, 4},
                    {name.size(), 2},
                    {extra, 2}});
  };
  const auto sizes = zip64_size ? zip64_field({size, size}) : std::string();
  std::string header(zip::member_header.signature);
  append_fields(header, zip64_size, sizes.size());
  write(header + name + sizes + std::string(head));
  write(rest);

  const auto numbers = zip64
                           ? zip64_size ? zip64_field({size, size, offset}) : zip64_field({offset})
                           : std::string();
  directory_ += zip::directory_entry.signature;
  append(directory_, {{zip64_version, 2}});
  append_fields(directory_, zip64, numbers.size());
  append(directory_, {{0, 10}, {zip64 ? std::uint64_t{zip::in_zip64_field} : offset, 4}});
  directory_ += name + numbers;
  ++count_;
}

void ZipWriter::finish() {
  const auto offset = file_.size(), size = std::uint64_t{directory_.size()};
  write(directory_);
  std::string end;
  const bool zip64 = count_ >= 0xffff || offset >= zip64_threshold_ || size >= zip64_threshold_;
  if (zip64) {
    end += zip::directory_end64.signature;
    append(end, {{zip::directory_end64.size - 12, 8},
                 {zip64_version, 2},
                 {zip64_version, 2},
                 {0, 8},
                 {count_, 8},
                 {count_, 8},
                 {size, 8},
                 {offset, 8}});
    end += zip::directory_end64_locator.signature;
    append(end, {{0, 4}, {offset + size, 8}, {1, 4}});
  }
  const auto narrow = [&](std::uint64_t value, std::uint64_t instead) {
    return zip64 ? instead : value;
  };
  end += zip::directory_end.signature;
  append(end, {{0, 4},
               {narrow(count_, 0xffff), 2},
               {narrow(count_, 0xffff), 2},
               {narrow(size, zip::in_zip64_field), 4},
               {narrow(offset, zip::in_zip64_field), 4},
               {0, 2}});
  write(end);
}

}  // namespace tenon
