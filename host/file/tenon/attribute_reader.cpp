#include "file/tenon/attribute_reader.hpp"

#include <utility>

namespace tenon {
namespace {

static_assert(static_cast<int>(format::AttributeKind::boolean) == TENON_ATTR_BOOL &&
              static_cast<int>(format::AttributeKind::integer) == TENON_ATTR_INT &&
              static_cast<int>(format::AttributeKind::real) == TENON_ATTR_FLOAT &&
              static_cast<int>(format::AttributeKind::text) == TENON_ATTR_TEXT &&
              static_cast<int>(format::AttributeKind::integers) == TENON_ATTR_INTS &&
              static_cast<int>(format::AttributeKind::reals) == TENON_ATTR_FLOATS);

const format::Attributes& require(const ReadContext& reading, const format::Attributes* attributes, const char* whose) {
  if (attributes == nullptr) reading.refuse("{} has no attributes", whose);
  return *attributes;
}

}  // namespace

AttributeReader::AttributeReader(ReadContext& reading, const format::Attributes* attributes, const char* whose)
    : reading_(reading),
      from_(require(reading, attributes, whose)),
      names_(reading, from_.names(), count_of(from_.names()), "attributes.names"),
      kinds_(reading, from_.kinds(), count_of(from_.names()), "attributes.kinds"),
      count_(count_of(from_.names())),
      seen_in_(reading.model.strings.size()) {
  require_aligned(reading, from_.integers(), "attributes.integers");
  require_aligned(reading, from_.reals(), "attributes.reals");
  reading.model.attributes.reserve(count_);
}

void AttributeReader::refuse_end(const Owner& owner, const char* what) const {
  reading_.refuse("the {} end before those of {} '{}' do", what, owner.kind, owner.name);
}

std::int64_t AttributeReader::integer(const Owner& owner) {
  if (next_integer_ >= count_of(from_.integers())) refuse_end(owner, "attributes' integers");
  return from_.integers()->Get(next_integer_++);
}

std::uint32_t AttributeReader::length(const Owner& owner, std::uint32_t total, const std::uint32_t& next) {
  const auto length = integer(owner);
  if (length < 0 || length > std::int64_t{total} - next) refuse_end(owner, "attributes' lists");
  return static_cast<std::uint32_t>(length);
}

AttributeRecord AttributeReader::read_one(const Owner& owner) {
  AttributeRecord attribute;
  attribute.name =
      reading_.index(names_[next_], reading_.model.strings.size(), "the name of an attribute of {} '{}'", owner.kind, owner.name);
  attribute.kind = static_cast<std::uint32_t>(kinds_[next_++]);
  if (attribute.kind == TENON_ATTR_INTS || attribute.kind == TENON_ATTR_FLOATS)
    read_list(owner, attribute);
  else
    read_scalar(owner, attribute);
  return attribute;
}

void AttributeReader::read_scalar(const Owner& owner, AttributeRecord& attribute) {
  if (attribute.kind == TENON_ATTR_FLOAT) {
    if (next_real_ >= count_of(from_.reals())) refuse_end(owner, "attributes' reals");
    attribute.f = from_.reals()->Get(next_real_++);
    return;
  }
  const auto texts = static_cast<std::int64_t>(reading_.model.strings.size());
  const bool integer_kind = attribute.kind == TENON_ATTR_BOOL || attribute.kind == TENON_ATTR_INT || attribute.kind == TENON_ATTR_TEXT;
  if (!integer_kind) refuse(owner, attribute, "has the unknown kind {}", attribute.kind);
  attribute.i = integer(owner);
  if (attribute.kind == TENON_ATTR_BOOL && attribute.i != 0 && attribute.i != 1)
    refuse(owner, attribute, "is {}, where only 0 and 1 can be", attribute.i);
  if (attribute.kind == TENON_ATTR_TEXT && (attribute.i < 0 || attribute.i >= texts))
    refuse(owner, attribute, "is text {}, but there are {}", attribute.i, texts);
}

void AttributeReader::read_list(const Owner& owner, AttributeRecord& attribute) {
  auto& model = reading_.model;
  const bool whole = attribute.kind == TENON_ATTR_INTS;
  attribute.first = static_cast<std::uint32_t>(whole ? model.ints.size() : model.floats.size());
  attribute.count = whole ? length(owner, count_of(from_.integers()), next_integer_) : length(owner, count_of(from_.reals()), next_real_);
  for (std::uint32_t i = 0; i < attribute.count; ++i) {
    if (whole)
      model.ints.push_back(integer(owner));
    else
      model.floats.push_back(from_.reals()->Get(next_real_++));
  }
}

void AttributeReader::read(const Owner& owner, std::uint32_t count) {
  if (count > left()) refuse_end(owner, "attributes");
  ++round_;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto attribute = read_one(owner);
    if (std::exchange(seen_in_[attribute.name], round_) == round_) refuse(owner, attribute, "is there twice");
    reading_.model.attributes.push_back(attribute);
  }
}

void AttributeReader::finish() const {
  if (next_ != count_ || next_integer_ != count_of(from_.integers()) || next_real_ != count_of(from_.reals()))
    reading_.refuse("it has attributes that belong to no node");
}

}  // namespace tenon
