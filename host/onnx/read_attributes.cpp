// Reads attributes of nodes and functions.
#include "onnx/fields.hpp"
#include "onnx/reader.hpp"

namespace tenon::onnx {
namespace {

using proto::AttributeKind;

/// The field that holds the value, by attribute kind.
constexpr std::uint32_t value_fields[] = {
    0,
    field::attribute::f,
    field::attribute::i,
    field::attribute::s,
    field::attribute::t,
    field::attribute::g,
    field::attribute::floats,
    field::attribute::ints,
    field::attribute::strings,
    field::attribute::tensors,
    field::attribute::graphs,
    field::attribute::sparse_tensor,
    field::attribute::sparse_tensors,
    field::attribute::tp,
    field::attribute::type_protos,
};

/// The result of a first pass over an attribute, apart from its names.
struct Outline {
  std::int64_t kind = 0;
  std::uint32_t values = 0;  // bit set of the value fields that are present
  std::size_t count = 0;     // list entries in all value fields
};

Outline outline(Wire wire, proto::Attribute& attribute) {
  constexpr auto all = [] {
    std::uint32_t bits = 0;
    for (const auto number : value_fields) bits |= number == 0 ? 0 : 1U << number;
    return bits;
  }();
  Outline found;
  while (wire.next()) {
    const auto number = wire.field();
    if (number == field::attribute::name) attribute.name = wire.text("name");
    if (number == field::attribute::ref_attr_name)
      attribute.ref_attr_name = wire.text("ref_attr_name");
    if (number == field::attribute::type) found.kind = wire.integer("type");
    if (number >= 32 || (all >> number & 1U) == 0) continue;
    found.values |= 1U << number;
    found.count += number == field::attribute::floats ? wire.count_reals<float>("floats")
                   : number == field::attribute::ints ? wire.count_integers("ints")
                                                      : 1;
  }
  return found;
}

}  // namespace

void MessageReader::read(Wire wire, proto::Attribute& attribute) {
  const auto found = outline(wire, attribute);
  if (found.kind < 0 || found.kind >= static_cast<std::int64_t>(std::size(value_fields)))
    wire.refuse("unknown attribute type {}", found.kind);
  attribute.kind = static_cast<AttributeKind>(found.kind);
  check(wire, attribute, found.values);
  if (attribute.ref_attr_name.empty()) read_value(wire, attribute, found.count);
}

void MessageReader::check(const Wire& wire, const proto::Attribute& attribute,
                          std::uint32_t values) const {
  const auto what = [&] { return shown(attribute.name); };
  if (attribute.name.empty()) wire.refuse("it has no name");
  if (attribute.kind == AttributeKind::undefined) wire.refuse("attribute '{}' has no type", what());
  const auto own = 1U << value_fields[static_cast<std::size_t>(attribute.kind)];
  if ((values & ~own) != 0)
    wire.refuse("the value of attribute '{}' does not match its type", what());
  if (attribute.ref_attr_name.empty()) return;
  if (values != 0)
    wire.refuse("attribute '{}' has both a value and a reference to another attribute", what());
  if (!in_function_)
    wire.refuse("attribute '{}' refers to function attribute '{}' outside of a function", what(),
                shown(attribute.ref_attr_name));
}

void MessageReader::read_value(Wire& wire, proto::Attribute& attribute, std::size_t count) {
  const auto number = value_fields[static_cast<std::size_t>(attribute.kind)];
  // Calls take() with the wire positioned at each field of the value.
  const auto each = [&](const auto& take) {
    while (wire.next())
      if (wire.field() == number) take();
  };
  const auto list = [&]<class T>(const char* what, const auto& take) {
    auto entries = fill<T>(wire, count, what);
    each([&] { take(entries); });
    attribute.value = List<T>(entries);
  };
  const auto messages = [&]<class T>(const char* name, const char* what, const char* kind) {
    list.template operator()<T>(
        what, [&](Filling<T>& entries) { read(wire.message(name, kind), entries.next()); });
  };
  const auto message = [&]<class T>(const char* name, const char* kind) {
    const T* value = nullptr;
    each([&] { value = read_one(wire, value, name, kind); });
    if (value == nullptr) wire.refuse("attribute '{}' has no value", shown(attribute.name));
    attribute.value = value;
  };
  switch (attribute.kind) {
    case AttributeKind::undefined:
      break;
    case AttributeKind::f:  // a missing value is 0, as in protobuf
      attribute.value = 0.0F;
      return each([&] { attribute.value = wire.real("f"); });
    case AttributeKind::i:
      attribute.value = std::int64_t{0};
      return each([&] { attribute.value = wire.integer("i"); });
    case AttributeKind::s:
      attribute.value = std::string_view();
      return each([&] { attribute.value = wire.bytes("s"); });
    case AttributeKind::floats:
      return list.operator()<float>("numbers", [&](auto& to) {
        wire.reals<float>("floats", [&](float value) { to.next() = value; });
      });
    case AttributeKind::ints:
      return list.operator()<std::int64_t>("numbers", [&](auto& to) {
        wire.integers("ints",
                      [&](std::uint64_t value) { to.next() = static_cast<std::int64_t>(value); });
      });
    case AttributeKind::strings:
      return list.operator()<std::string_view>(
          "texts", [&](auto& to) { to.next() = wire.bytes("strings"); });
    case AttributeKind::tensor:
      return message.operator()<proto::Tensor>("t", "a tensor");
    case AttributeKind::graph:
      return message.operator()<proto::Graph>("g", "a graph");
    case AttributeKind::sparse_tensor:
      return message.operator()<proto::SparseTensor>("sparse_tensor", "a sparse tensor");
    case AttributeKind::type:
      return message.operator()<proto::Type>("tp", "a type");
    case AttributeKind::tensors:
      return messages.operator()<proto::Tensor>("tensors", "tensors", "a tensor");
    case AttributeKind::graphs:
      return messages.operator()<proto::Graph>("graphs", "graphs", "a graph");
    case AttributeKind::sparse_tensors:
      return messages.operator()<proto::SparseTensor>("sparse_tensors", "sparse tensors",
                                                      "a sparse tensor");
    case AttributeKind::types:
      return messages.operator()<proto::Type>("type_protos", "types", "a type");
  }
}

}  // namespace tenon::onnx
