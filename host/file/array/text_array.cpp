#include "file/array/text_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <tenon/host/failure.hpp>

#include "file/array/npy_header.hpp"
#include "io/atomic_file.hpp"
#include "io/counted.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"
#include "tensor/element_count.hpp"

namespace tenon {
namespace {

void append_utf8(std::string& text, std::uint32_t letter) {
  const auto next = [&](int shift) { text += static_cast<char>(0x80 | (letter >> shift & 0x3f)); };
  if (letter < 0x80) {
    text += static_cast<char>(letter);
  } else if (letter < 0x800) {
    text += static_cast<char>(0xc0 | letter >> 6), next(0);
  } else if (letter < 0x10000) {
    text += static_cast<char>(0xe0 | letter >> 12), next(6), next(0);
  } else {
    text += static_cast<char>(0xf0 | letter >> 18), next(12), next(6), next(0);
  }
}

// The text must be UTF-8.
std::u32string letters_of(std::string_view text) {
  std::u32string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      letters += byte;
    else if (byte < 0xc0)
      letters.back() = letters.back() << 6 | (byte & 0x3fU);
    else
      letters += byte & (byte < 0xe0 ? 0x1fU : byte < 0xf0 ? 0x0fU : 0x07U);
  }
  return letters;
}

/// Texts of equal size, padded with zeros.
class TextElements {
 public:
  TextElements(const std::string& name, const NpyFields& fields, std::span<const std::byte> bytes)
      : name_(name), bytes_(bytes), big_endian_(fields.dtype[0] == '>') {
    const auto kind = fields.dtype[1];
    unit_ = kind == 'U' ? 4 : 1;
    const auto digits = std::string_view(fields.dtype).substr(2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), length_);
    const auto count = element_count(fields.shape).value_or(INT64_MAX);
    if (error != std::errc() || end != digits.data() + digits.size() || length_ == 0 ||
        length_ > INT32_MAX)
      throw file_failure("read", name,
                         fmt::format("its texts have the type '{}', which is not a "
                                     "number of characters",
                                     printable(fields.dtype.substr(0, 40))));
    const auto size = length_ * unit_;
    if (static_cast<std::uint64_t>(count) > bytes.size() / size ||
        static_cast<std::uint64_t>(count) * size != bytes.size())
      throw file_failure("read", name,
                         fmt::format("it has {} for {} of {}", counted(bytes.size(), "byte"),
                                     counted(count, "text"), counted(size, "byte")));
  }

  std::string at(std::size_t i) const {
    std::string text;
    const auto element = bytes_.subspan(i * length_ * unit_, length_ * unit_);
    for (std::size_t k = 0; k < element.size(); k += unit_) {
      const auto letter = this->letter(element.subspan(k, unit_));
      if (unit_ == 1)
        text += static_cast<char>(letter);
      else
        append_utf8(text, letter > 0x10ffff ? 0xd800 : letter);  // a surrogate is refused below
    }
    text.resize(text.find_last_not_of('\0') + 1);
    if (!is_utf8(text)) throw file_failure("read", name_, fmt::format("text {} is not Unicode", i));
    return text;
  }

 private:
  std::uint32_t letter(std::span<const std::byte> bytes) const {
    std::uint32_t letter = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      letter = letter << 8 |
               std::to_integer<std::uint32_t>(bytes[big_endian_ ? i : bytes.size() - 1 - i]);
    return letter;
  }

  const std::string& name_;
  std::span<const std::byte> bytes_;
  bool big_endian_;
  std::size_t unit_ = 1, length_ = 0;
};

// The position in Fortran order of the i-th element in C order.
std::size_t in_fortran_order(const Shape& shape, std::size_t i) {
  std::size_t at = 0, stride = static_cast<std::size_t>(element_count(shape).value_or(0));
  for (int axis = shape.rank(); axis-- > 0;) {
    const auto dim = static_cast<std::size_t>(shape[axis]);
    stride /= dim;
    at += i % dim * stride;
    i /= dim;
  }
  return at;
}

}  // namespace

std::optional<TextArray> texts_from_npy(const std::string& name, std::span<const std::byte> bytes) {
  const auto fields = parse_npy_fields(name, bytes);
  const auto& type = fields.dtype;
  if (type.size() < 3 || std::string_view("<>=|").find(type[0]) == std::string_view::npos ||
      (type[1] != 'U' && type[1] != 'S'))
    return std::nullopt;
  const TextElements elements(name, fields, bytes.subspan(fields.size));
  TextArray made{fields.shape, {}};
  const auto count = static_cast<std::size_t>(element_count(fields.shape).value_or(0));
  made.texts.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    made.texts.push_back(elements.at(fields.fortran_order ? in_fortran_order(fields.shape, i) : i));
  return made;
}

void write_npy(const std::filesystem::path& path, std::span<const std::string_view> texts,
               const Shape& shape) {
  std::size_t longest = 1;
  std::vector<std::u32string> all;
  all.reserve(texts.size());
  for (const auto text : texts)
    longest = std::max(longest, all.emplace_back(letters_of(text)).size());
  AtomicFile file(path);
  file.write(npy_header(fmt::format("<U{}", longest), shape));
  for (auto& letters : all) {
    letters.resize(longest);
    file.write(std::as_bytes(std::span(letters)));
  }
  file.commit();
}

}  // namespace tenon
