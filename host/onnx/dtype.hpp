// ONNX element types by number.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tenon/dtype.hpp>

namespace tenon::onnx {

/// The TensorProto field that holds an element type's values if raw_data does not.
enum class TypedField : std::uint8_t {
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  double_data = 10,
  uint64_data = 11
};

struct ElementType {
  const char* name;  ///< numpy's name, or ONNX's in lower case
  TypedField typed;
  int bits;                     ///< per element in raw_data; 0 for strings, which have no raw form
  int numbers = 1;              ///< entries per element in the typed field; 2 for complex types
  DType dtype = unknown_dtype;  ///< unknown_dtype if Tenon has no matching dtype

  /// Size in bytes of `count` elements; `count` is at most 2^63 / 16.
  std::uint64_t raw_bytes(std::int64_t count) const {
    const auto many = static_cast<std::uint64_t>(count), each = static_cast<std::uint64_t>(bits);
    return many / 8 * each + (many % 8 * each + 7) / 8;
  }
};

inline constexpr std::int32_t string_type = 8, int64_type = 7;

/// Returns null if ONNX has no element type with this number, including 0 (undefined).
const ElementType* element_type(std::int32_t number);
/// `float32`, `float8e4m3fn`, `element type 99`; `?` for 0.
std::string element_type_name(std::int32_t number);

}  // namespace tenon::onnx
