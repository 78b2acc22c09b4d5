#include "plugin/discovery/manifest_field.hpp"

#include <algorithm>
#include <cmath>
#include <tenon/failure.hpp>

#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr const char* kind_names[] = {"null", "a boolean", "an integer", "a number", "a text", "a list", "a map"};

}  // namespace

std::string in_quotes(const std::string& text) {
  return text.size() <= 60 ? "'" + text + "'" : "a text of " + std::to_string(text.size()) + " bytes";
}

ManifestField ManifestField::next(const CborValue& value, Step step) const {
  ManifestField field = *this;
  field.value_ = &value;
  field.way_.at(field.depth_++) = step;
  return field;
}

void ManifestField::fail(const std::string& what) const {
  std::string where;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (way_[i].key) {
      where += (where.empty() ? "" : ".") + std::string(way_[i].key);
    } else {
      where += "[" + std::to_string(way_[i].index) + "]";
    }
  }
  throw Failure(FailureKind::plugin, (where.empty() ? "it" : where) + " " + what);
}

const CborValue& ManifestField::expect(CborValue::Kind kind, const char* needed) const {
  if (value_->kind != kind) fail(std::string("is ") + kind_names[static_cast<int>(value_->kind)] + "; needed is " + needed);
  return *value_;
}

ManifestField ManifestField::operator[](const char* key) const {
  const CborValue& map = expect(CborValue::Kind::map, "a map");
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i] == key) return next(map.items[i], {key, 0});
  }
  fail(std::string("lacks the key '") + key + "'");
}

bool ManifestField::has(const char* key) const {
  const auto& keys = expect(CborValue::Kind::map, "a map").keys;
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::size_t ManifestField::size() const {
  return expect(CborValue::Kind::list, "a list").items.size();
}

ManifestField ManifestField::at(std::size_t i) const {
  const CborValue& list = expect(CborValue::Kind::list, "a list");
  if (i >= list.items.size()) fail("has " + std::to_string(list.items.size()) + " entries; needed are " + std::to_string(i + 1));
  return next(list.items[i], {nullptr, i});
}

bool ManifestField::boolean() const {
  return expect(CborValue::Kind::boolean, "a boolean").boolean;
}

std::int64_t ManifestField::integer(std::int64_t lowest, std::int64_t highest) const {
  const std::int64_t found = expect(CborValue::Kind::integer, "an integer").integer;
  if (found < lowest || found > highest) {
    fail("is " + std::to_string(found) + "; needed is " + std::to_string(lowest) + " to " + std::to_string(highest));
  }
  return found;
}

double ManifestField::number() const {
  const double found = number_or_nan();
  if (std::isnan(found)) fail("is not a number (NaN)");
  return found;
}

double ManifestField::finite_number() const {
  const double found = number();
  if (std::isinf(found)) fail("is infinite");
  return found;
}

double ManifestField::number_or_nan() const {
  if (value_->kind == CborValue::Kind::integer) return static_cast<double>(value_->integer);
  return expect(CborValue::Kind::number, "a number").number;
}

std::optional<double> ManifestField::optional_number() const {
  return is_null() ? std::nullopt : std::optional(number());
}

std::string ManifestField::text() const {
  const std::string& found = expect(CborValue::Kind::text, "a text").text;
  if (!is_plain_text(found)) fail("is not plain UTF-8 text");
  return found;
}

std::string ManifestField::identifier() const {
  std::string found = text();
  if (!is_identifier(found)) {
    fail("is " + in_quotes(found) + "; needed is a name: letters, digits and underscores, no digit first, at most 128");
  }
  return found;
}

}  // namespace tenon
