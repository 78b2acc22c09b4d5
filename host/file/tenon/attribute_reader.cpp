#include "file/tenon/attribute_reader.hpp"

#include <tenon/visit.hpp>
#include <utility>

#include "file/tenon/table_columns.hpp"
#include "graph/strings.hpp"

namespace tenon {
namespace {

static_assert(static_cast<int>(format::AttributeKind::boolean) == TENON_ATTR_BOOL &&
              static_cast<int>(format::AttributeKind::integer) == TENON_ATTR_INT &&
              static_cast<int>(format::AttributeKind::real) == TENON_ATTR_FLOAT &&
              static_cast<int>(format::AttributeKind::text) == TENON_ATTR_TEXT &&
              static_cast<int>(format::AttributeKind::integers) == TENON_ATTR_INTS &&
              static_cast<int>(format::AttributeKind::reals) == TENON_ATTR_FLOATS &&
              static_cast<int>(format::AttributeKind::texts) == TENON_ATTR_TEXTS &&
              static_cast<int>(format::AttributeKind::tensor) == TENON_ATTR_TENSOR);

const format::Attributes& require(const ReadContext& reading, const format::Attributes* attributes,
                                  const char* owner) {
  if (attributes == nullptr) reading.refuse("{} has no attributes", owner);
  return *attributes;
}

}  // namespace

AttributeReader::AttributeReader(ReadContext& reading, const format::Attributes* attributes,
                                 const char* owner)
    : reading_(reading),
      from_(require(reading, attributes, owner)),
      names_(reading, from_.names(), count_of(from_.names()), "attributes.names"),
      kinds_(reading, from_.kinds(), count_of(from_.names()), "attributes.kinds"),
      has_parameters_feature_(names_feature(reading, layout::parameters_feature)),
      count_(count_of(from_.names())),
      seen_in_(reading.model.strings.size()) {
  require_aligned(reading, from_.integers(), "attributes.integers");
  require_aligned(reading, from_.reals(), "attributes.reals");
  reading.model.attributes.reserve(count_);
}

void AttributeReader::refuse_end(const Owner& owner, const char* what) const {
  reading_.refuse("the {} end before those of {} '{}'", what, owner.kind, owner.name);
}

std::int64_t AttributeReader::integer(const Owner& owner) {
  if (next_integer_ >= count_of(from_.integers())) refuse_end(owner, "attributes' integers");
  return from_.integers()->Get(next_integer_++);
}

double AttributeReader::real(const Owner& owner) {
  if (next_real_ >= count_of(from_.reals())) refuse_end(owner, "attributes' reals");
  return from_.reals()->Get(next_real_++);
}

std::uint32_t AttributeReader::length(const Owner& owner, std::uint32_t total,
                                      const std::uint32_t& next) {
  const auto length = integer(owner);
  if (length < 0 || length > std::int64_t{total} - next) refuse_end(owner, "attributes' lists");
  return static_cast<std::uint32_t>(length);
}

AttributeRecord AttributeReader::read_one(const Owner& owner) {
  AttributeRecord attribute;
  attribute.name = reading_.index(names_[next_], reading_.model.strings.size(),
                                  "the name of an attribute of {} '{}'", owner.kind, owner.name);
  attribute.kind = static_cast<std::uint32_t>(kinds_[next_++]);
  const bool is_new = attribute.kind == TENON_ATTR_TEXTS || attribute.kind == TENON_ATTR_TENSOR;
  if (is_new && !has_parameters_feature_)
    refuse(owner, attribute, "has the kind {}, but the file does not name \"{}\" as a feature",
           attribute.kind, layout::parameters_feature);
  if (attribute.kind == TENON_ATTR_TENSOR)
    read_table(owner, attribute);
  else if (attribute.kind == TENON_ATTR_INTS || attribute.kind == TENON_ATTR_FLOATS)
    read_list(owner, attribute);
  else
    read_scalar(owner, attribute);
  return attribute;
}

void AttributeReader::read_scalar(const Owner& owner, AttributeRecord& attribute) {
  if (attribute.kind == TENON_ATTR_FLOAT) {
    attribute.f = real(owner);
    return;
  }
  const auto texts = static_cast<std::int64_t>(reading_.model.strings.size());
  const bool text = attribute.kind == TENON_ATTR_TEXT || attribute.kind == TENON_ATTR_TEXTS;
  const bool integer_kind =
      attribute.kind == TENON_ATTR_BOOL || attribute.kind == TENON_ATTR_INT || text;
  if (!integer_kind) refuse(owner, attribute, "has the unknown kind {}", attribute.kind);
  attribute.i = integer(owner);
  if (attribute.kind == TENON_ATTR_BOOL && attribute.i != 0 && attribute.i != 1)
    refuse(owner, attribute, "is {} but must be 0 or 1", attribute.i);
  if (text && (attribute.i < 0 || attribute.i >= texts))
    refuse(owner, attribute, "is text {}, but there are {}", attribute.i, texts);
  if (attribute.kind == TENON_ATTR_TEXTS &&
      !are_joined_texts(reading_.text(static_cast<StringId>(attribute.i))))
    refuse(owner, attribute, "is a list whose last text does not end with a zero byte");
}

Shape AttributeReader::read_shape(const Owner& owner, const AttributeRecord& attribute) {
  const auto rank = integer(owner);
  if (rank < 0 || rank > TENON_MAX_RANK)
    refuse(owner, attribute, "has {} dimensions but must have 0 to {}", rank, TENON_MAX_RANK);
  Shape shape = Shape::of_rank(static_cast<int>(rank));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto dim = integer(owner);
    if (dim < 0) refuse(owner, attribute, "has the dimension {}", dim);
    shape.set(axis, dim);
  }
  const auto size = element_count(type_of(f32, shape));
  if (size < 0 || size > TENON_MAX_TABLE)
    refuse(owner, attribute, "has the shape {}, but a tensor parameter holds at most {} elements",
           to_string(shape), TENON_MAX_TABLE);
  return shape;
}

template <class T>
void AttributeReader::read_elements(const Owner& owner, const AttributeRecord& attribute,
                                    std::span<T> elements) {
  for (T& element : elements) {
    if constexpr (std::is_integral_v<T>) {
      const auto whole = integer(owner);
      if (!std::in_range<T>(whole))
        refuse(owner, attribute, "has the element {}, which does not fit {}", whole,
               name_of(dtype_of<T>));
      element = static_cast<T>(whole);
    } else if constexpr (std::is_same_v<T, float>) {
      const auto wide = real(owner);
      element = narrowed_bits(wide);
      if (std::bit_cast<std::uint64_t>(widened_bits(element)) != std::bit_cast<std::uint64_t>(wide))
        refuse(owner, attribute, "has the element {}, which is not a float32", wide);
    } else {
      element = real(owner);
    }
  }
}

void AttributeReader::read_table(const Owner& owner, AttributeRecord& attribute) {
  auto& model = reading_.model;
  const auto dtype = integer(owner);
  if (dtype < 0 || dtype >= TENON_DTYPE_COUNT || !table_types.has(static_cast<DType>(dtype)))
    refuse(owner, attribute, "has the dtype number {} but must be int32, int64, float32 or float64",
           dtype);
  const auto shape = read_shape(owner, attribute);
  const bool whole = any_integer.has(static_cast<DType>(dtype));
  const auto left =
      whole ? count_of(from_.integers()) - next_integer_ : count_of(from_.reals()) - next_real_;
  if (shape.size() > left) refuse_end(owner, "attributes' lists");
  const auto table = Tensor::empty(static_cast<DType>(dtype), shape);
  visit<table_types>(table.dtype(),
                     [&]<class T>() { read_elements(owner, attribute, table.values<T>()); });
  attribute.first = static_cast<std::uint32_t>(model.tables.size());
  model.tables.push_back(table);
}

void AttributeReader::read_list(const Owner& owner, AttributeRecord& attribute) {
  auto& model = reading_.model;
  const bool whole = attribute.kind == TENON_ATTR_INTS;
  attribute.first = static_cast<std::uint32_t>(whole ? model.ints.size() : model.floats.size());
  attribute.count = whole ? length(owner, count_of(from_.integers()), next_integer_)
                          : length(owner, count_of(from_.reals()), next_real_);
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
    if (std::exchange(seen_in_[attribute.name], round_) == round_)
      refuse(owner, attribute, "occurs twice");
    reading_.model.attributes.push_back(attribute);
  }
}

void AttributeReader::finish() const {
  if (next_ != count_ || next_integer_ != count_of(from_.integers()) ||
      next_real_ != count_of(from_.reals()))
    reading_.refuse("it has attributes that do not belong to a node");
}

}  // namespace tenon
