// ONNX's element types by their numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tenon/dtype.hpp>

namespace tenon::onnx {

/// Of the field of a TensorProto that holds elements where raw_data does not.
enum class TypedField : std::uint8_t {
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  double_data = 10,
  uint64_data = 11
};

struct ElementType {
  const char* name;  ///< numpy's, or ONNX's in small letters
  DType dtype;       ///< unknown_dtype: Tenon has none of this kind
  TypedField typed;
  int bits;         ///< in raw data; 0: strings, which have none
  int numbers = 1;  ///< in the typed field, for one element: 2 for complex ones

  /// The bytes of so many elements; of at most 2^63 / 16.
  std::uint64_t raw_bytes(std::int64_t count) const {
    const auto many = static_cast<std::uint64_t>(count), each = static_cast<std::uint64_t>(bits);
    return many / 8 * each + (many % 8 * each + 7) / 8;
  }
};

inline constexpr std::int32_t string_type = 8, int64_type = 7;

/// Null where ONNX has no element type of this number; 0, undefined, is none.
const ElementType* element_type(std::int32_t number);
/// `float32`, `float8e4m3fn`, `element type 99`; `?` for 0.
std::string element_type_name(std::int32_t number);

}  // namespace tenon::onnx
