#include "onnx/dtype.hpp"

namespace tenon::onnx {
namespace {

using enum TypedField;

constexpr ElementType types[] = {
    {"undefined", unknown_dtype, float_data, 0},
    {"float32", f32, float_data, 32},
    {"uint8", u8, int32_data, 8},
    {"int8", i8, int32_data, 8},
    {"uint16", u16, int32_data, 16},
    {"int16", i16, int32_data, 16},
    {"int32", i32, int32_data, 32},
    {"int64", i64, int64_data, 64},
    {"string", unknown_dtype, string_data, 0},
    {"bool", boolean, int32_data, 8},
    {"float16", f16, int32_data, 16},
    {"float64", f64, double_data, 64},
    {"uint32", u32, uint64_data, 32},
    {"uint64", u64, uint64_data, 64},
    {"complex64", c64, float_data, 64, 2},
    {"complex128", c128, double_data, 128, 2},
    {"bfloat16", bf16, int32_data, 16},
    {"float8e4m3fn", unknown_dtype, int32_data, 8},
    {"float8e4m3fnuz", unknown_dtype, int32_data, 8},
    {"float8e5m2", unknown_dtype, int32_data, 8},
    {"float8e5m2fnuz", unknown_dtype, int32_data, 8},
    {"uint4", unknown_dtype, int32_data, 4},
    {"int4", unknown_dtype, int32_data, 4},
    {"float4e2m1", unknown_dtype, int32_data, 4},
    {"float8e8m0", unknown_dtype, int32_data, 8},
    {"uint2", unknown_dtype, int32_data, 2},
    {"int2", unknown_dtype, int32_data, 2},
    {"float6e2m3", unknown_dtype, int32_data, 6},
    {"float6e3m2", unknown_dtype, int32_data, 6},
};

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
