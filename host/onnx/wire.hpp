// Reads the fields of a protobuf message, each checked before it is returned.
//
// Only protozero's varint functions are used: its pbf_reader truncates lengths to 32 bits, asserts
// on malformed input, and reads one byte past the end of truncated data.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <string_view>

#include "io/system_reason.hpp"

namespace tenon::onnx {

/// Makes a name printable and truncates it if it is long, for use in messages.
std::string shown(std::string_view text);

/// The file that contains a message, for error messages.
struct WireFile {
  std::filesystem::path path;
  const char* begin = nullptr;
};

/// Usage: `while (wire.next()) switch (wire.field()) ...`. Fields that are not read are skipped.
/// All functions throw Failure (file) with the byte offset. A copy starts at the current position.
class Wire {
 public:
  /// `kind`: the message's kind with its article, such as "a node".
  Wire(const WireFile& file, std::string_view message, const char* kind)
      : file_(file),
        kind_(kind),
        message_(message),
        next_(message.data()),
        end_(message.data() + message.size()) {}

  bool next();
  std::uint32_t field() const { return field_; }
  std::string_view message() const { return message_; }

  // These return the current field's value, or throw, naming the field `name`, if its wire type
  // does not match.
  std::string_view bytes(const char* name) const {
    return require(protozero::pbf_wire_type::length_delimited, name), bytes_;
  }
  std::string_view text(const char* name) const;  ///< UTF-8
  std::int64_t integer(const char* name) const {
    return require(protozero::pbf_wire_type::varint, name), static_cast<std::int64_t>(number_);
  }
  float real(const char* name) const {
    return require(protozero::pbf_wire_type::fixed32, name), from_bits<float>(bytes_.data());
  }
  /// Reads this message again, from its start.
  Wire again() const { return {file_, message_, kind_}; }
  Wire message(const char* name, const char* kind) const { return {file_, bytes(name), kind}; }

  // A repeated numeric field: one number, or many packed into one value. Count first, then read.
  // Callers that store the numbers must check the count again, because a mapped file may be
  // modified meanwhile.
  std::size_t count_integers(const char* name) const;
  template <class T>
  std::size_t count_reals(const char* name) const;
  template <class Take>
  void integers(const char* name, Take&& take) const;
  template <class T, class Take>
  void reals(const char* name, Take&& take) const;

  /// `PATH: SENTENCE (a node at byte 17)`
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    refuse_file(file_.path, "{} ({} at byte {})", fmt::format(text, std::forward<Args>(args)...),
                kind_, message_.data() - file_.begin);
  }

 private:
  template <class T>
  static constexpr auto wire_type_of = sizeof(T) == 4 ? protozero::pbf_wire_type::fixed32
                                                      : protozero::pbf_wire_type::fixed64;
  template <class T>
  static T from_bits(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  void require(protozero::pbf_wire_type type, const char* name) const {
    if (type_ != type) refuse_type(name);
  }
  std::uint64_t varint(const char*& at, const char* end) const {
    // most varints have one byte
    return at != end && *at >= 0 ? static_cast<std::uint64_t>(*at++) : long_varint(at, end);
  }
  std::uint64_t long_varint(const char*& at, const char* end) const;
  [[noreturn]] void refuse_key(std::uint64_t key) const;
  [[noreturn]] void refuse_size(std::uint64_t size) const;
  [[noreturn]] void refuse_type(const char* name) const;

  const WireFile& file_;
  const char* kind_;
  std::string_view message_;
  const char *next_, *end_;
  std::uint32_t field_ = 0;
  protozero::pbf_wire_type type_ = protozero::pbf_wire_type::unknown;
  std::uint64_t number_ = 0;  // value of a varint
  std::string_view bytes_;    // value of any other field
};

inline bool Wire::next() {
  if (next_ == end_) return false;
  const auto key = varint(next_, end_);
  if (key >> 32U != 0 || key >> 3U == 0) refuse_key(key);
  field_ = static_cast<std::uint32_t>(key >> 3U);
  type_ = static_cast<protozero::pbf_wire_type>(key & 7U);
  std::uint64_t size = 0;
  switch (type_) {
    case protozero::pbf_wire_type::varint:
      number_ = varint(next_, end_);
      return true;
    case protozero::pbf_wire_type::length_delimited:
      size = varint(next_, end_);
      break;
    case protozero::pbf_wire_type::fixed64:
      size = 8;
      break;
    case protozero::pbf_wire_type::fixed32:
      size = 4;
      break;
    default:
      refuse_key(key);
  }
  if (size > static_cast<std::uint64_t>(end_ - next_)) refuse_size(size);
  bytes_ = {next_, static_cast<std::size_t>(size)};
  next_ += size;
  return true;
}

template <class T>
std::size_t Wire::count_reals(const char* name) const {
  if (type_ == wire_type_of<T>) return 1;
  if (bytes(name).size() % sizeof(T) != 0)
    refuse("{} has {} bytes, not a multiple of {}: the file is damaged", name, bytes_.size(),
           sizeof(T));
  return bytes_.size() / sizeof(T);
}

template <class T, class Take>
void Wire::reals(const char* name, Take&& take) const {
  const auto count = count_reals<T>(name);
  for (std::size_t i = 0; i < count; ++i) take(from_bits<T>(bytes_.data() + i * sizeof(T)));
}

template <class Take>
void Wire::integers(const char* name, Take&& take) const {
  if (type_ == protozero::pbf_wire_type::varint) return take(number_);
  const char* at = bytes(name).data();
  for (const char* const end = at + bytes_.size(); at != end;) take(varint(at, end));
}

}  // namespace tenon::onnx
