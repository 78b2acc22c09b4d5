// JSON, and CBOR as its binary form, as a tree with source positions.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host/failure.hpp>
#include <variant>
#include <vector>

namespace tenon {

struct JsonValue {
  struct Member;
  using List = std::vector<JsonValue>;
  using Object = std::vector<Member>;
  /// Integers that do not fit into 64 bits become doubles.
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> content;
  std::size_t offset = 0;  // of the value's first character in the text
};
struct JsonValue::Member {
  std::string key;
  std::size_t offset = 0;  // of the key
  JsonValue value;
};

struct JsonDocument {
  std::string label;      // name of the text in messages: a path
  std::string_view text;  // not owned; empty for CBOR
  JsonValue root;
};

/// Throws Failure (file) with line and column for invalid JSON, repeated keys, and nesting deeper
/// than 64.
JsonDocument parse_json(std::string_view text, std::string label);

/// Parses a single value that fills `bytes`. Throws Failure (plugin) with the byte offset for what
/// parse_json() refuses, for nesting deeper than 6, for byte strings, and for lists of indefinite
/// length.
JsonDocument parse_cbor(std::span<const std::byte> bytes);

/// Returns `graph.json:3:14`, where columns count characters; for CBOR `its CBOR, byte 7`.
std::string location_of(const JsonDocument& document, std::size_t offset);

/// A value of a document. `what` names the value in messages: "'shape' of 'image'". Values of CBOR
/// are identified by their path instead: "inputs[1].types[0]".
class JsonField {
 public:
  JsonField(const JsonDocument& document, const JsonValue& value)
      : document_(&document), value_(&value) {}
  explicit JsonField(const JsonDocument& document) : JsonField(document, document.root) {}

  /// Throws Failure: (file) `graph.json:3:14: sentence`; for CBOR (plugin) `inputs[1].types[0]
  /// sentence`.
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    refuse_text(fmt::format(text, std::forward<Args>(args)...));
  }
  /// Returns `graph.json:3:14`, or `inputs[1].types[0]` for CBOR (`it` for the root).
  std::string location() const;
  const JsonDocument& document() const { return *document_; }

  const JsonValue& value() const { return *value_; }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_->content); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value_->content);
  }

  bool boolean(std::string_view what = {}) const;
  const std::string& text(std::string_view what = {}) const;
  std::int64_t integer(std::string_view what = {}) const;
  std::int64_t integer(std::string_view what, std::int64_t lowest, std::int64_t highest) const;
  /// Accepts numbers; in a text also "inf", "-inf" and "nan" (see append_json_number of
  /// json_text.hpp).
  double number(std::string_view what = {}) const;
  std::vector<JsonField> list(std::string_view what = {}) const;
  /// Returns the length of a list.
  std::size_t size() const { return require<JsonValue::List>({}, "a list").size(); }
  JsonField at(std::size_t i) const;

  /// Returns the members; throws, with similar names, for keys that are not in `known`. An empty
  /// `known` accepts any key.
  struct Entry;
  std::vector<Entry> object(std::string_view what,
                            const std::vector<std::string_view>& known = {}) const;
  /// Returns a member of an object.
  std::optional<JsonField> find(std::string_view key) const;
  JsonField need(std::string_view key, std::string_view what) const;
  JsonField operator[](std::string_view key) const { return need(key, {}); }

 private:
  template <class T>
  const T& require(std::string_view what, const char* needed) const {
    if (const auto* content = get<T>()) return *content;
    refuse_kind(what, needed);
  }
  [[noreturn]] void refuse_kind(std::string_view what, const char* needed) const;
  [[noreturn]] void refuse_text(const std::string& sentence) const;

  const JsonDocument* document_;
  const JsonValue* value_;
};
struct JsonField::Entry {
  std::string_view key;
  std::size_t key_offset;
  JsonField value;
};

}  // namespace tenon
