// Reads the types of values.
#include "onnx/dtype.hpp"
#include "onnx/fields.hpp"
#include "onnx/reader.hpp"

namespace tenon::onnx {
namespace {

std::int32_t read_element_type(const Wire& wire, const char* name) {
  const auto number = wire.integer(name);
  if (number != 0 && (number < 0 || number > INT32_MAX ||
                      element_type(static_cast<std::int32_t>(number)) == nullptr))
    wire.refuse("unknown element type: {} {}", name, number);
  return static_cast<std::int32_t>(number);
}

}  // namespace

void MessageReader::read(Wire wire, proto::Dim& dim) {
  while (wire.next()) {
    if (wire.field() == field::shape::dim_value) {
      dim = {wire.integer("dim_value"), {}};
      // some exporters write -1 for an unknown size
      if (dim.size < -1) wire.refuse("a dimension is {}", dim.size);
    } else if (wire.field() == field::shape::dim_param) {
      dim = {-1, wire.text("dim_param")};
    }
  }
}

void MessageReader::read_tensor_type(Wire wire, proto::Type& type) {
  while (wire.next()) {
    if (wire.field() == field::tensor_type::elem_type) {
      type.dtype = read_element_type(wire, "elem_type");
    } else if (wire.field() == field::tensor_type::shape) {
      if (type.has_shape) wire.refuse("it has two shapes");
      type.has_shape = true;
      auto shape = wire.message("shape", "a shape");
      auto dims = fill<proto::Dim>(shape, FieldCounts(shape)[field::shape::dim], "dimensions");
      while (shape.next())
        if (shape.field() == field::shape::dim)
          read(shape.message("dim", "a dimension"), dims.next());
      type.dims = dims;
    }
  }
}

// Sequences and optionals have their element type in field 1; maps have the key type in field 1 and
// the value type in field 2.
void MessageReader::read_element(Wire wire, proto::Type& type) {
  while (wire.next()) {
    const bool map = type.kind == proto::TypeKind::map;
    if (map && wire.field() == field::map_type::key_type)
      type.dtype = read_element_type(wire, "key_type");
    else if (wire.field() == (map ? std::uint32_t{field::map_type::value_type} : 1))
      type.element = read_one(wire, type.element, map ? "value_type" : "elem_type", "a type");
  }
}

void MessageReader::read(Wire wire, proto::Type& type) {
  if (++types_ > max_types) wire.refuse("types are nested more than {} levels deep", max_types);
  const auto set = [&](proto::TypeKind kind) {
    if (type.kind != proto::TypeKind::unknown) wire.refuse("it has two kinds at once");
    type.kind = kind;
  };
  while (wire.next()) {
    switch (wire.field()) {
      case field::type::tensor:
        set(proto::TypeKind::tensor);
        read_tensor_type(wire.message("tensor_type", "a type"), type);
        break;
      case field::type::sparse_tensor:
        set(proto::TypeKind::sparse_tensor);
        read_tensor_type(wire.message("sparse_tensor_type", "a type"), type);
        break;
      case field::type::sequence:
        set(proto::TypeKind::sequence);
        read_element(wire.message("sequence_type", "a type"), type);
        break;
      case field::type::optional:
        set(proto::TypeKind::optional);
        read_element(wire.message("optional_type", "a type"), type);
        break;
      case field::type::map:
        set(proto::TypeKind::map);
        read_element(wire.message("map_type", "a type"), type);
        break;
      case field::type::opaque:
        set(proto::TypeKind::opaque);
        break;
      default:
        break;
    }
  }
  --types_;
}

void MessageReader::read(Wire wire, proto::ValueInfo& value) {
  while (wire.next()) {
    if (wire.field() == field::value_info::name)
      value.name = wire.text("name");
    else if (wire.field() == field::value_info::type)
      value.type = read_one(wire, value.type, "type", "a type");
  }
  if (value.name.empty()) wire.refuse("it has no name");
}

}  // namespace tenon::onnx
