#include "io/json_document.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/host/catalog.hpp>

#include "io/counted.hpp"
#include "io/json_text.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr const char* kinds[] = {"null",     "true or false", "an integer", "a number",
                                 "a string", "a list",        "an object"};

/// Returns the beginning of a sentence about a value without a name.
std::string named(std::string_view what) {
  return what.empty() ? "" : std::string(what) + ' ';
}

/// Appends `.key` and `[i]` for each step from `from` to `to`; returns false if `to` is not below
/// `from`.
bool append_path(std::string& path, const JsonValue& from, const JsonValue& to) {
  if (&from == &to) return true;
  const auto before = path.size();
  const auto leads = [&](const std::string& step, const JsonValue& next) {
    path += step;
    if (append_path(path, next, to)) return true;
    path.resize(before);
    return false;
  };
  std::size_t i = 0;
  if (const auto* items = std::get_if<JsonValue::List>(&from.content))
    return std::any_of(items->begin(), items->end(),
                       [&](const auto& item) { return leads(fmt::format("[{}]", i++), item); });
  if (const auto* members = std::get_if<JsonValue::Object>(&from.content))
    return std::any_of(members->begin(), members->end(), [&](const auto& member) {
      return leads((before == 0 ? "" : ".") + printable(member.key), member.value);
    });
  return false;
}

}  // namespace

std::string location_of(const JsonDocument& document, std::size_t offset) {
  if (document.text.empty()) return fmt::format("its CBOR, byte {}", offset);
  const auto before = document.text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto last = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto column = 1 + std::count_if(last.begin(), last.end(), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                      });
  return fmt::format("{}:{}:{}", document.label, line, column);
}

std::string JsonField::location() const {
  if (!document_->text.empty()) return location_of(*document_, value_->offset);
  std::string path;
  append_path(path, document_->root, *value_);
  return path.empty() ? "it" : path;
}

void JsonField::refuse_text(const std::string& sentence) const {
  if (document_->text.empty()) throw Failure(FailureKind::plugin, location() + ' ' + sentence);
  throw Failure(FailureKind::file, location() + ": " + sentence);
}

void JsonField::refuse_kind(std::string_view what, const char* needed) const {
  refuse("{}is {} but must be {}", named(what), kinds[value_->content.index()], needed);
}

bool JsonField::boolean(std::string_view what) const {
  return require<bool>(what, "true or false");
}

const std::string& JsonField::text(std::string_view what) const {
  return require<std::string>(what, "a string");
}

std::int64_t JsonField::integer(std::string_view what) const {
  return require<std::int64_t>(what, "a 64-bit integer");
}

std::int64_t JsonField::integer(std::string_view what, std::int64_t lowest,
                                std::int64_t highest) const {
  const auto found = integer(what);
  if (found < lowest || found > highest)
    refuse("{}is {} but must be from {} to {}", named(what), found, lowest, highest);
  return found;
}

double JsonField::number(std::string_view what) const {
  if (const auto* integer = get<std::int64_t>()) return static_cast<double>(*integer);
  if (document_->text.empty()) return require<double>(what, "a number");
  if (const auto* number = get<double>()) return *number;
  const auto* text = get<std::string>();
  const auto special = text == nullptr ? std::nullopt : special_number(*text);
  if (!special) refuse_kind(what, R"(a number, "inf", "-inf" or "nan")");
  return *special;
}

std::vector<JsonField> JsonField::list(std::string_view what) const {
  std::vector<JsonField> fields;
  for (const auto& item : require<JsonValue::List>(what, "a list"))
    fields.emplace_back(*document_, item);
  return fields;
}

JsonField JsonField::at(std::size_t i) const {
  const auto& items = require<JsonValue::List>({}, "a list");
  if (i >= items.size())
    refuse("has {} but needs {}", counted(items.size(), "entry", "entries"), i + 1);
  return {*document_, items[i]};
}

std::vector<JsonField::Entry> JsonField::object(std::string_view what,
                                                const std::vector<std::string_view>& known) const {
  std::vector<Entry> entries;
  for (const auto& member : require<JsonValue::Object>(what, "an object")) {
    if (!known.empty() && std::find(known.begin(), known.end(), member.key) == known.end()) {
      const auto near = similar_names(member.key, {known.begin(), known.end()});
      throw Failure(FailureKind::file,
                    fmt::format("{}: {} has no '{}'", location_of(*document_, member.offset), what,
                                printable(member.key)),
                    did_you_mean(near, fmt::format("available keys: {}", fmt::join(known, ", "))));
    }
    entries.push_back({member.key, member.offset, JsonField(*document_, member.value)});
  }
  return entries;
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  for (const auto& member : require<JsonValue::Object>({}, "an object"))
    if (member.key == key) return JsonField(*document_, member.value);
  return std::nullopt;
}

JsonField JsonField::need(std::string_view key, std::string_view what) const {
  const auto found = find(key);
  if (!found) refuse("{}lacks '{}'", named(what), key);
  return *found;
}

}  // namespace tenon
