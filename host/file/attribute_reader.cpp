#include "file/attribute_reader.hpp"

#include <utility>

namespace tenon {
namespace {

static_assert(static_cast<int>(format::AttributeKind::boolean) == TENON_ATTR_BOOL &&
              static_cast<int>(format::AttributeKind::integer) == TENON_ATTR_INT &&
              static_cast<int>(format::AttributeKind::real) == TENON_ATTR_FLOAT &&
              static_cast<int>(format::AttributeKind::text) == TENON_ATTR_TEXT &&
              static_cast<int>(format::AttributeKind::integers) == TENON_ATTR_INTS &&
              static_cast<int>(format::AttributeKind::reals) == TENON_ATTR_FLOATS);

const format::Attributes& attributes_of(const Reading& reading, const format::Graph& graph) {
  if (graph.attributes() == nullptr) reading.refuse("its graph has no attributes");
  return *graph.attributes();
}

}  // namespace

AttributeReader::AttributeReader(Reading& reading, const format::Graph& graph)
    : reading_(reading),
      from_(attributes_of(reading, graph)),
      names_(reading, from_.names(), count_of(from_.names()), "attributes.names"),
      kinds_(reading, from_.kinds(), count_of(from_.names()), "attributes.kinds"),
      count_(count_of(from_.names())),
      seen_in_(reading.model.strings.size()) {
  require_aligned(reading, from_.integers(), "attributes.integers");
  require_aligned(reading, from_.reals(), "attributes.reals");
  reading.model.attributes.reserve(count_);
}

void AttributeReader::refuse_end(const NodeRecord& node, const char* what) const {
  reading_.refuse("the {} end before those of node '{}' do", what, reading_.text(node.name));
}

std::int64_t AttributeReader::integer(const NodeRecord& node) {
  if (next_integer_ >= count_of(from_.integers())) refuse_end(node, "attributes' integers");
  return from_.integers()->Get(next_integer_++);
}

std::uint32_t AttributeReader::length(const NodeRecord& node, std::uint32_t total, const std::uint32_t& next) {
  const auto length = integer(node);
  if (length < 0 || length > std::int64_t{total} - next) refuse_end(node, "attributes' lists");
  return static_cast<std::uint32_t>(length);
}

AttributeRecord AttributeReader::read_one(const NodeRecord& node) {
  AttributeRecord attribute;
  attribute.name =
      reading_.index(names_[next_], reading_.model.strings.size(), "the name of an attribute of node '{}'", reading_.text(node.name));
  attribute.kind = static_cast<std::uint32_t>(kinds_[next_++]);
  if (attribute.kind == TENON_ATTR_INTS || attribute.kind == TENON_ATTR_FLOATS)
    read_list(node, attribute);
  else
    read_scalar(node, attribute);
  return attribute;
}

void AttributeReader::read_scalar(const NodeRecord& node, AttributeRecord& attribute) {
  if (attribute.kind == TENON_ATTR_FLOAT) {
    if (next_real_ >= count_of(from_.reals())) refuse_end(node, "attributes' reals");
    attribute.f = from_.reals()->Get(next_real_++);
    return;
  }
  const auto texts = static_cast<std::int64_t>(reading_.model.strings.size());
  const bool integer_kind = attribute.kind == TENON_ATTR_BOOL || attribute.kind == TENON_ATTR_INT || attribute.kind == TENON_ATTR_TEXT;
  if (!integer_kind) refuse(node, attribute, "has kind {}, which is none", attribute.kind);
  attribute.i = integer(node);
  if (attribute.kind == TENON_ATTR_BOOL && attribute.i != 0 && attribute.i != 1)
    refuse(node, attribute, "is {}, where only 0 and 1 can be", attribute.i);
  if (attribute.kind == TENON_ATTR_TEXT && (attribute.i < 0 || attribute.i >= texts))
    refuse(node, attribute, "is text {}, but there are {}", attribute.i, texts);
}

void AttributeReader::read_list(const NodeRecord& node, AttributeRecord& attribute) {
  auto& model = reading_.model;
  const bool whole = attribute.kind == TENON_ATTR_INTS;
  attribute.first = static_cast<std::uint32_t>(whole ? model.ints.size() : model.floats.size());
  attribute.count = whole ? length(node, count_of(from_.integers()), next_integer_) : length(node, count_of(from_.reals()), next_real_);
  for (std::uint32_t i = 0; i < attribute.count; ++i) {
    if (whole)
      model.ints.push_back(integer(node));
    else
      model.floats.push_back(from_.reals()->Get(next_real_++));
  }
}

void AttributeReader::read(const NodeRecord& node) {
  if (node.attribute_count > count_ - next_) refuse_end(node, "attributes");
  ++round_;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto attribute = read_one(node);
    if (std::exchange(seen_in_[attribute.name], round_) == round_) refuse(node, attribute, "is there twice");
    reading_.model.attributes.push_back(attribute);
  }
}

void AttributeReader::finish() const {
  if (next_ != count_ || next_integer_ != count_of(from_.integers()) || next_real_ != count_of(from_.reals()))
    reading_.refuse("it has attributes that belong to no node");
}

}  // namespace tenon
