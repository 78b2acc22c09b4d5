#include "file/array/npy_header.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tenon/host/failure.hpp>
#include <vector>

#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

// Parses a Python dictionary of one string, one bool and one tuple of integers, and nothing else.
class HeaderParser {
 public:
  HeaderParser(const std::string& name, std::string_view text, std::size_t offset)
      : name_(name), text_(text), offset_(offset) {}

  NpyFields parse() {
    expect('{');
    while (!accept('}')) {
      entry(string("a quoted key"));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) broken("nothing but spaces");
    if (!header_.dtype || !header_.fortran_order || !header_.shape) {
      fail(std::string("its header lacks '") +
           (!header_.dtype           ? "descr"
            : !header_.fortran_order ? "fortran_order"
                                     : "shape") +
           "'");
    }
    return {*header_.dtype, *header_.fortran_order, *header_.shape, offset_ + text_.size()};
  }

 private:
  void entry(std::string_view key) {
    expect(':');
    if (key == "descr") {
      once(header_.dtype, key, dtype());
    } else if (key == "fortran_order") {
      once(header_.fortran_order, key, boolean());
    } else if (key == "shape") {
      once(header_.shape, key, shape());
    } else {
      fail("its header has an entry '" + printable(std::string_view(key).substr(0, 40)) +
           "', which is not part of the format");
    }
  }

  template <class Value>
  void once(std::optional<Value>& field, std::string_view key, Value value) {
    if (field) fail("its header has '" + std::string(key) + "' twice");
    field = value;
  }

  std::string dtype() {
    skip_space();
    if (peek() == '[')
      fail("its elements are records of several fields",
           "save each field as its own array: array['field']");
    return std::string(string("a quoted dtype"));
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    broken("True or False");
  }

  Shape shape() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      dims.push_back(dimension());
      if (dims.size() > max_rank) fail("it has more than 8 dimensions, the maximum");
      if (accept(',')) continue;
      if (dims.size() == 1) broken("a comma");  // (3) is a number, (3,) a shape
      expect(')');
      break;
    }
    return {dims.data(), static_cast<int>(dims.size())};
  }

  std::int64_t dimension() {
    skip_space();
    std::uint64_t value = 0;  // unsigned, so that -0 is refused, too
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range || value > INT64_MAX)
      fail("one of its dimensions does not fit 64 bits");
    if (error != std::errc()) broken("a dimension");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (peek() == 'L') ++at_;  // Python 2's suffix of long integers
    return static_cast<std::int64_t>(value);
  }

  std::string_view string(const char* what) {
    skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') broken(what);
    const std::size_t end = text_.find_first_of(quote == '"' ? "\"\\\n" : "'\\\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] != quote)
      broken("a string on one line, without backslashes");
    const std::string_view result = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return result;
  }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char expected) {
    skip_space();
    if (peek() != expected || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char expected) {
    if (!accept(expected)) broken(std::string("'") + expected + "'");
  }

  [[noreturn]] void broken(const std::string& expected) const {
    fail("its header is broken at byte " + std::to_string(offset_ + at_) + ": expected " +
         expected);
  }
  [[noreturn]] void fail(const std::string& reason, const char* hint = "") const {
    throw file_failure("read", name_, reason, hint);
  }

  struct {
    std::optional<std::string> dtype;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
  } header_;
  const std::string& name_;
  const std::string_view text_;
  const std::size_t offset_;  // of text_ in the file
  std::size_t at_ = 0;
};

}  // namespace

namespace {

// The dtypes that numpy has, too: "bool, uint8 ... or float64".
std::string names_of_numpy_dtypes() {
  std::string names, last;
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (numpy_letter(dtype) == 'V') continue;
    if (!last.empty()) names += (names.empty() ? "" : ", ") + last;
    last = name_of(dtype);
  }
  return names + " or " + last;
}

}  // namespace

NpyHeader parse_npy_header(const std::string& name, std::span<const std::byte> bytes) {
  const NpyFields fields = parse_npy_fields(name, bytes);
  if (fields.dtype.size() >= 2 && fields.dtype[1] == 'O') {
    throw file_failure(
        "read", name,
        "its elements are Python objects, which are not loaded because unpickling could run code",
        "save numbers: numpy.save(file, array.astype('float32'))");
  }
  const std::optional<NpyDtype> dtype = npy_dtype_from(fields.dtype);
  if (!dtype) {
    if (fields.dtype.ends_with("V1") || fields.dtype.ends_with("f1"))  // f1: ml_dtypes' float8_e5m2
      throw file_failure(
          "read", name,
          "its elements are bytes of a dtype that numpy lacks, which the file does not name",
          "save array.view('uint8') and bit_cast it, or save array.astype('float32')");
    throw file_failure("read", name,
                       "its elements have numpy's type '" +
                           printable(std::string_view(fields.dtype).substr(0, 40)) +
                           "', which Tenon does not support",
                       "convert it by array.astype(...) to " + names_of_numpy_dtypes());
  }
  return {dtype->dtype, dtype->big_endian, fields.fortran_order, fields.shape, fields.size};
}

NpyFields parse_npy_fields(const std::string& name, std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto fail = [&](const std::string& reason, const char* hint = "") {
    return file_failure("read", name, reason, hint);
  };
  if (file.empty()) throw fail("it is empty");
  if (file.starts_with("PK"))
    throw fail("it is an archive, not an array", "archives of arrays need the suffix .npz");
  if (!file.starts_with(magic.substr(0, file.size())))
    throw fail("it is not a .npy file: it does not begin with \\x93NUMPY");

  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(std::to_integer<unsigned>(bytes[i]));
  };
  const std::size_t length_at = magic.size() + 2;
  if (file.size() < length_at) throw fail("it is truncated within its first 8 bytes");
  const std::size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    throw fail("it has format version " + std::to_string(major) + "." + std::to_string(minor) +
               " but must be 1.0 to 3.0");
  }
  const std::size_t text_at = length_at + (major == 1 ? 2 : 4);
  if (file.size() < text_at) throw fail("it is truncated before its header");
  std::size_t length = byte(length_at) | byte(length_at + 1) << 8;
  if (major > 1) length |= byte(length_at + 2) << 16 | byte(length_at + 3) << 24;
  if (length > file.size() - text_at) {
    throw fail("it is truncated: its header ends at byte " + std::to_string(text_at + length) +
               " but the file at " + std::to_string(file.size()));
  }
  return HeaderParser(name, file.substr(text_at, length), text_at).parse();
}

std::string npy_header(DType dtype, const Shape& shape) {
  return npy_header(npy_dtype_text(dtype), shape);
}

std::string npy_header(const std::string& dtype, const Shape& shape) {
  auto text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", dtype);
  for (int axis = 0; axis < shape.rank(); ++axis)
    text += fmt::format("{}{},", axis == 0 ? "" : " ", shape[axis]);
  if (shape.rank() > 1) text.pop_back();  // only a one-tuple needs the trailing comma
  text += "), }";
  const std::size_t before = magic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return header + text;
}

static_assert(std::endian::native == std::endian::little,
              "elements are mapped from little-endian files");

static std::string kind_of(DType dtype) {
  return numpy_letter(dtype) + std::to_string(size_of(dtype));
}

// Like numpy.dtype(text): a missing or '|' byte order means the machine's, and types may be named.
std::optional<NpyDtype> npy_dtype_from(std::string_view text) {
  const bool ordered = text.find_first_of("<>=|") == 0;
  const auto type = text.substr(ordered ? 1 : 0);
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (low_bit.has(dtype)) continue;  // ten of them are `V1`
    const bool named = !ordered && numpy_letter(dtype) != 'V' && type == name_of(dtype);
    if (type == kind_of(dtype) || named || (dtype == boolean && type == "?"))
      return NpyDtype{dtype, ordered && text[0] == '>' && size_of(dtype) > 1};
  }
  return std::nullopt;
}

std::string npy_dtype_text(DType dtype) {
  return (size_of(dtype) == 1 ? "|" : "<") + kind_of(dtype);
}

}  // namespace tenon
