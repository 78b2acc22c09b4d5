#include "file/array/npy_text.hpp"

#include <charconv>
#include <tenon/failure.hpp>

#include "file/array/npy_header.hpp"
#include "io/system_reason.hpp"

namespace tenon {

std::optional<std::string> text_from_npy(const std::string& name, std::span<const std::byte> bytes) {
  const NpyFields fields = parse_npy_fields(name, bytes);
  const std::string& type = fields.dtype;  // `|S3`: three bytes; `<U3`: three letters of four bytes
  const bool wide = type.size() > 2 && type[1] == 'U' && (type[0] == '<' || type[0] == '>');
  if (!wide && !type.starts_with("|S")) return std::nullopt;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), length);
  if (error != std::errc() || end != type.data() + type.size() || fields.shape != Shape::scalar()) return std::nullopt;

  const std::span<const std::byte> content = bytes.subspan(fields.size);
  const std::size_t unit = wide ? 4 : 1;
  if (content.size() % unit != 0 || content.size() / unit != length)
    throw file_failure("read", name, join("its text of ", length, " letters has ", content.size(), " bytes"));
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    unsigned letter = 0;
    for (std::size_t k = 0; k < unit; ++k) {
      const std::size_t at = type[0] == '>' ? k : unit - 1 - k;  // the highest byte first
      letter = letter << 8 | std::to_integer<unsigned>(content[i * unit + at]);
    }
    if (letter != 0) text += letter >= ' ' && letter <= '~' ? static_cast<char>(letter) : '?';  // numpy fills up with zeros
  }
  return text;
}

std::string npy_of_text(const std::string& text) {
  return npy_header("|S" + std::to_string(text.size()), Shape::scalar()) + text;
}

}  // namespace tenon
