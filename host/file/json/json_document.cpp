#include "file/json/json_document.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/catalog.hpp>

#include "file/json/json_text.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr const char* kinds[] = {"null", "true or false", "a whole number", "a number", "a text", "a list", "an object"};

}  // namespace

std::string place_of(const JsonDocument& document, std::size_t offset) {
  const auto before = document.text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto last = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto column = 1 + std::count_if(last.begin(), last.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return fmt::format("{}:{}:{}", document.label, line, column);
}

void JsonField::refuse_kind(std::string_view what, const char* needed) const {
  refuse("{} is {} but must be {}", what, kinds[value_->content.index()], needed);
}

const std::string& JsonField::text(std::string_view what) const {
  const auto* text = get<std::string>();
  if (text == nullptr) refuse_kind(what, "a text");
  return *text;
}

std::int64_t JsonField::integer(std::string_view what) const {
  const auto* integer = get<std::int64_t>();
  if (integer == nullptr) refuse_kind(what, "a whole number of 64 bits");
  return *integer;
}

double JsonField::number(std::string_view what) const {
  if (const auto* integer = get<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* number = get<double>()) return *number;
  const auto* text = get<std::string>();
  const auto special = text == nullptr ? std::nullopt : special_number(*text);
  if (!special) refuse_kind(what, R"(a number, "inf", "-inf" or "nan")");
  return *special;
}

std::vector<JsonField> JsonField::list(std::string_view what) const {
  const auto* items = get<JsonValue::List>();
  if (items == nullptr) refuse_kind(what, "a list");
  std::vector<JsonField> fields;
  for (const auto& item : *items) fields.emplace_back(*document_, item);
  return fields;
}

std::vector<JsonField::Entry> JsonField::object(std::string_view what, std::initializer_list<std::string_view> known) const {
  const auto* members = get<JsonValue::Object>();
  if (members == nullptr) refuse_kind(what, "an object");
  std::vector<Entry> entries;
  for (const auto& member : *members) {
    if (known.size() != 0 && std::find(known.begin(), known.end(), member.key) == known.end()) {
      const auto near = near_names(member.key, {known.begin(), known.end()});
      throw Failure(
          FailureKind::file, fmt::format("{}: {} has no '{}'", place_of(*document_, member.offset), what, printable(member.key)),
          near.empty() ? fmt::format("it has {}", fmt::join(known, ", ")) : fmt::format("did you mean {}?", fmt::join(near, " or ")));
    }
    entries.push_back({member.key, member.offset, JsonField(*document_, member.value)});
  }
  return entries;
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  for (const auto& member : std::get<JsonValue::Object>(value_->content))
    if (member.key == key) return JsonField(*document_, member.value);
  return std::nullopt;
}

JsonField JsonField::need(std::string_view key, std::string_view what) const {
  const auto found = find(key);
  if (!found) refuse("{} lacks '{}'", what, key);
  return *found;
}

}  // namespace tenon
