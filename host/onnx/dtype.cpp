#include "onnx/dtype.hpp"

#include <array>

#include "tensor/dtype_traits.hpp"

namespace tenon::onnx {
namespace {

using enum TypedField;

// ONNX's element types in the order of their numbers; types_with_dtypes() adds Tenon's dtypes.
constexpr ElementType onnx_types[] = {
    {"undefined", float_data, 0},      {"float32", float_data, 32},
    {"uint8", int32_data, 8},          {"int8", int32_data, 8},
    {"uint16", int32_data, 16},        {"int16", int32_data, 16},
    {"int32", int32_data, 32},         {"int64", int64_data, 64},
    {"string", string_data, 0},        {"bool", int32_data, 8},
    {"float16", int32_data, 16},       {"float64", double_data, 64},
    {"uint32", uint64_data, 32},       {"uint64", uint64_data, 64},
    {"complex64", float_data, 64, 2},  {"complex128", double_data, 128, 2},
    {"bfloat16", int32_data, 16},      {"float8e4m3fn", int32_data, 8},
    {"float8e4m3fnuz", int32_data, 8}, {"float8e5m2", int32_data, 8},
    {"float8e5m2fnuz", int32_data, 8}, {"uint4", int32_data, 4},
    {"int4", int32_data, 4},           {"float4e2m1", int32_data, 4},
    {"float8e8m0", int32_data, 8},     {"uint2", int32_data, 2},
    {"int2", int32_data, 2},           {"float6e2m3", int32_data, 6},
    {"float6e3m2", int32_data, 6},
};

constexpr auto types_with_dtypes() {
  auto types = std::to_array(onnx_types);
  for (const auto& row : dtype_traits_table)
    if (row.onnx != 0) {
      auto& type = types.at(static_cast<std::size_t>(row.onnx));
      type.name = name_of(row.dtype), type.dtype = row.dtype;
    }
  return types;
}
constexpr auto types = types_with_dtypes();

constexpr bool sizes_agree() {
  for (const auto& type : types)
    if (type.dtype != unknown_dtype && type.bits != bits_of(type.dtype)) return false;
  return true;
}
static_assert(sizes_agree(),
              "DTypeTraits::onnx is the number of an element type of the dtype's size");

}  // namespace

const ElementType* element_type(std::int32_t number) {
  return number > 0 && static_cast<std::size_t>(number) < std::size(types) ? &types[number]
                                                                           : nullptr;
}

std::string element_type_name(std::int32_t number) {
  if (number == 0) return "?";
  const auto* const type = element_type(number);
  return type == nullptr ? "element type " + std::to_string(number) : type->name;
}

}  // namespace tenon::onnx
