// A JSON text as a tree that knows where everything stands in it.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/failure.hpp>
#include <variant>
#include <vector>

namespace tenon {

struct JsonValue {
  struct Member;
  using List = std::vector<JsonValue>;
  using Object = std::vector<Member>;
  /// Whole numbers that 64 bits do not hold are doubles.
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> content;
  std::size_t offset = 0;  // of its first character in the text
};
struct JsonValue::Member {
  std::string key;
  std::size_t offset = 0;  // of the key
  JsonValue value;
};

struct JsonDocument {
  std::string label;      // what messages call the text: a path
  std::string_view text;  // somebody else's
  JsonValue root;
};

/// Throws Failure (file) with line and column: for what is not JSON, for keys given twice, for nesting deeper than 64.
JsonDocument parse_json(std::string_view text, std::string label);

/// `graph.json:3:14`; columns count characters.
std::string place_of(const JsonDocument& document, std::size_t offset);

/// One value of a document, with the document. `what` names the value in messages: "'shape' of 'image'".
class JsonField {
 public:
  JsonField(const JsonDocument& document, const JsonValue& value) : document_(&document), value_(&value) {}

  /// Throws Failure (file): `graph.json:3:14: sentence`.
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw Failure(FailureKind::file, fmt::format("{}: {}", place(), fmt::format(text, std::forward<Args>(args)...)));
  }
  std::string place() const { return place_of(*document_, value_->offset); }
  const JsonDocument& document() const { return *document_; }

  const JsonValue& value() const { return *value_; }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_->content); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value_->content);
  }

  const std::string& text(std::string_view what) const;
  std::int64_t integer(std::string_view what) const;
  /// Numbers, and "inf", "-inf", "nan" (see append_json of json_text.hpp).
  double number(std::string_view what) const;
  std::vector<JsonField> list(std::string_view what) const;

  /// The members; throws where one is none of `known`, with near names. Empty `known`: any key.
  struct Entry;
  std::vector<Entry> object(std::string_view what, std::initializer_list<std::string_view> known = {}) const;
  /// A member of an object.
  std::optional<JsonField> find(std::string_view key) const;
  JsonField need(std::string_view key, std::string_view what) const;

 private:
  [[noreturn]] void refuse_kind(std::string_view what, const char* needed) const;

  const JsonDocument* document_;
  const JsonValue* value_;
};
struct JsonField::Entry {
  std::string_view key;
  std::size_t key_offset;
  JsonField value;
};

}  // namespace tenon
