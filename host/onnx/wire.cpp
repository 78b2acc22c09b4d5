#include "onnx/wire.hpp"

#include <algorithm>

#include "io/counted.hpp"
#include "io/utf8.hpp"

namespace tenon::onnx {

std::uint64_t Wire::varint(const char*& at, const char* end) const {
  try {
    return protozero::decode_varint(&at, end);
  } catch (const protozero::exception&) {
    refuse("a number {}: the file is cut off or damaged",
           end - at < protozero::max_varint_length ? "does not end before its message" : "has more than 10 bytes");
  }
}

std::uint64_t Wire::varint() {
  return varint(next_, end_);
}

bool Wire::next() {
  if (next_ == end_) return false;
  const auto key = varint();
  if (key >> 32U != 0 || key >> 3U == 0) refuse("field number {} does not exist: the file is damaged or no ONNX file", key >> 3U);
  field_ = static_cast<std::uint32_t>(key >> 3U);
  type_ = static_cast<protozero::pbf_wire_type>(key & 7U);
  std::uint64_t size = 0;
  switch (type_) {
    case protozero::pbf_wire_type::varint:
      number_ = varint();
      return true;
    case protozero::pbf_wire_type::fixed64:
      size = 8;
      break;
    case protozero::pbf_wire_type::fixed32:
      size = 4;
      break;
    case protozero::pbf_wire_type::length_delimited:
      size = varint();
      break;
    default:
      refuse("field {} has wire type {}, which ONNX does not use: the file is damaged or no ONNX file", field_, key & 7U);
  }
  const auto left = static_cast<std::uint64_t>(end_ - next_);
  if (size > left)
    refuse("field {} has {}, but {} left: the file is cut off or damaged", field_, counted(size, "byte"),
           left == 1 ? "1 is" : std::to_string(left) + " are");
  bytes_ = {next_, static_cast<std::size_t>(size)};
  next_ += size;
  return true;
}

std::string_view Wire::text(const char* name) const {
  if (!is_utf8(bytes(name))) refuse("its {} '{}' is not UTF-8", name, printable(bytes_.substr(0, 80)));
  return bytes_;
}

std::size_t Wire::count_integers(const char* name) const {
  if (type_ == protozero::pbf_wire_type::varint) return 1;
  return static_cast<std::size_t>(std::count_if(bytes(name).begin(), bytes_.end(), [](char byte) { return (byte & 0x80) == 0; }));
}

void Wire::refuse_type(const char* name) const {
  static constexpr const char* written[] = {"an integer", "64 bits", "bytes", "", "", "32 bits"};
  refuse("its {} (field {}) is written as {}, which it cannot be: the file is damaged or no ONNX file", name, field_,
         written[static_cast<std::size_t>(type_)]);
}

}  // namespace tenon::onnx
