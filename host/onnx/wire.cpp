#include "onnx/wire.hpp"

#include <algorithm>

#include "io/counted.hpp"
#include "io/utf8.hpp"

namespace tenon::onnx {

std::string shown(std::string_view text) {
  constexpr std::size_t max_length = 200;
  return printable(text.substr(0, max_length)) + (text.size() > max_length ? "..." : "");
}

std::uint64_t Wire::long_varint(const char*& at, const char* end) const {
  try {
    return protozero::decode_varint(&at, end);
  } catch (const protozero::exception&) {
    refuse("a varint {}: the file is truncated or damaged",
           end - at < protozero::max_varint_length ? "extends past the end of its message"
                                                   : "has more than 10 bytes");
  }
}

void Wire::refuse_key(std::uint64_t key) const {
  if (key >> 32U != 0 || key >> 3U == 0)
    refuse("invalid field number {}: the file is damaged or not an ONNX file", key >> 3U);
  refuse(
      "field {} has wire type {}, which ONNX does not use: the file is damaged or not an ONNX file",
      field_, key & 7U);
}

void Wire::refuse_size(std::uint64_t size) const {
  const auto left = end_ - next_;
  refuse("field {} has {}, but {} left: the file is truncated or damaged", field_,
         counted(size, "byte"), left == 1 ? "1 is" : std::to_string(left) + " are");
}

std::string_view Wire::text(const char* name) const {
  if (!is_utf8(bytes(name))) refuse("{} '{}' is not valid UTF-8", name, shown(bytes_));
  return bytes_;
}

std::size_t Wire::count_integers(const char* name) const {
  if (type_ == protozero::pbf_wire_type::varint) return 1;
  return static_cast<std::size_t>(std::count_if(bytes(name).begin(), bytes_.end(),
                                                [](char byte) { return (byte & 0x80) == 0; }));
}

void Wire::refuse_type(const char* name) const {
  static constexpr const char* written[] = {"an integer", "64 bits", "bytes", "", "", "32 bits"};
  refuse("{} (field {}) has the wrong wire type ({}): the file is damaged or not an ONNX file",
         name, field_, written[static_cast<std::size_t>(type_)]);
}

}  // namespace tenon::onnx
