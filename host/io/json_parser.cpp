// Builds a JsonDocument from nlohmann's events. The depth is checked when a list or object begins,
// because the CBOR parser is recursive and could otherwise exhaust the stack.
#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/json_document.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

/// Counts the characters that the lexer has read, because the events do not include positions.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& left, const CountingIterator& right) {
    return left.at_ == right.at_;
  }

 private:
  const char* at_;
  std::size_t* count_;
};

class TreeBuilder {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  TreeBuilder(JsonDocument& document, const std::size_t& read) : document_(document), read_(read) {}

  bool null() { return add(nullptr, read_ - 4); }
  bool boolean(bool value) { return add(value, read_ - (value ? 4 : 5)); }
  bool number_integer(std::int64_t value) {
    if (value == 0) return add(-0.0, start_of_number());  // only negative numbers arrive here
    return add(value, start_of_number());
  }
  bool number_unsigned(std::uint64_t value) {
    if (value > std::numeric_limits<std::int64_t>::max() && is_cbor())
      refuse(read_, "an integer is above 2^63 - 1");
    if (value > std::numeric_limits<std::int64_t>::max())
      return add(static_cast<double>(value), start_of_number());
    return add(static_cast<std::int64_t>(value), start_of_number());
  }
  bool number_float(double value, const std::string&) { return add(value, start_of_number()); }
  bool string(std::string& value) { return add(std::move(value), start_of_text()); }
  bool binary(binary_t&) { refuse(read_, "found a byte string, but a text string is needed"); }

  bool start_object(std::size_t length) { return open(JsonValue::Object(), length); }
  bool start_array(std::size_t length) { return open(JsonValue::List(), length); }
  bool key(std::string& key) {
    std::get<JsonValue::Object>(open_.back()->content)
        .push_back({std::move(key), start_of_text(), {}});
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool end_object() {
    require_once(std::get<JsonValue::Object>(open_.back()->content));
    open_.pop_back();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
    std::string_view reason = error.what();
    // strip the library's error number and position
    for (const std::string_view before : {"] ", "column ", ": "})
      if (const auto found = reason.find(before); found != std::string_view::npos)
        reason = reason.substr(found + before.size());
    if (is_cbor()) refuse(position, fmt::format("invalid CBOR: {}", printable(reason)));
    refuse(read_ == 0 ? 0 : read_ - 1, fmt::format("invalid JSON: {}", printable(reason)));
  }

 private:
  bool is_cbor() const { return document_.text.empty(); }

  [[noreturn]] void refuse(std::size_t offset, const std::string& sentence) const {
    throw Failure(is_cbor() ? FailureKind::plugin : FailureKind::file,
                  fmt::format("{}: {}", location_of(document_, offset), sentence));
  }

  JsonValue& value_slot() {
    if (open_.empty()) return document_.root;
    if (auto* object = std::get_if<JsonValue::Object>(&open_.back()->content))
      return object->back().value;
    return std::get<JsonValue::List>(open_.back()->content).emplace_back();
  }

  template <class Content>
  bool add(Content content, std::size_t offset) {
    auto& value = value_slot();
    value.content = std::move(content);
    value.offset = offset;
    return true;
  }

  template <class Content>
  bool open(Content content, std::size_t length) {
    const std::size_t depth_limit = is_cbor() ? 6 : 64;
    if (open_.size() == depth_limit)
      refuse(read_ - 1, fmt::format("nested deeper than {} lists and objects", depth_limit));
    if (is_cbor() && length == std::numeric_limits<std::size_t>::max())
      refuse(read_, "found a list or map of indefinite length");
    auto& value = value_slot();
    value.content = std::move(content);
    value.offset = read_ - 1;
    open_.push_back(&value);
    return true;
  }

  // The closing quote was read last; the opening one is the first unescaped quote before it.
  std::size_t start_of_text() const {
    if (is_cbor()) return read_;
    const auto& text = document_.text;
    for (auto i = read_ - 1; i-- > 0;) {
      if (text[i] != '"') continue;
      std::size_t escapes = 0;
      while (escapes < i && text[i - 1 - escapes] == '\\') ++escapes;
      if (escapes % 2 == 0) return i;
    }
    return 0;
  }

  // One character after the number has been read, unless the text ends with it.
  std::size_t start_of_number() const {
    const auto belongs = [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    };
    auto i = std::min(read_, document_.text.size());
    if (i > 0 && !belongs(document_.text[i - 1])) --i;
    while (i > 0 && belongs(document_.text[i - 1])) --i;
    return i;
  }

  void require_once(const JsonValue::Object& members) const {
    std::vector<const JsonValue::Member*> sorted;
    for (const auto& member : members) sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* left, const auto* right) { return left->key < right->key; });
    const auto twice = std::adjacent_find(
        sorted.begin(), sorted.end(),
        [](const auto* left, const auto* right) { return left->key == right->key; });
    if (twice != sorted.end())
      refuse((*(twice + 1))->offset, fmt::format("duplicate key '{}'", printable((*twice)->key)));
  }

  JsonDocument& document_;
  const std::size_t& read_;
  std::vector<JsonValue*> open_;
};

void parse(JsonDocument& document, const char* begin, std::size_t size,
           nlohmann::json::input_format_t format) {
  std::size_t read = 0;
  TreeBuilder builder(document, read);
  nlohmann::json::sax_parse(CountingIterator(begin, &read), CountingIterator(begin + size, &read),
                            &builder, format);
}

}  // namespace

JsonDocument parse_json(std::string_view text, std::string label) {
  JsonDocument document{std::move(label), text, {}};
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw Failure(FailureKind::file,
                  fmt::format("{}: the file is empty, but JSON is needed", document.label));
  parse(document, text.data(), text.size(), nlohmann::json::input_format_t::json);
  return document;
}

JsonDocument parse_cbor(std::span<const std::byte> bytes) {
  JsonDocument document;
  parse(document, reinterpret_cast<const char*>(bytes.data()), bytes.size(),
        nlohmann::json::input_format_t::cbor);
  return document;
}

}  // namespace tenon
