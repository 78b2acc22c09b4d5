// Dtypes of the Open Inference Protocol, and bfloat16, which Triton has besides.
#pragma once
#include <optional>
#include <string_view>
#include <tenon/dtype.hpp>

namespace tenon::serve {

struct ServedDType {
  DType dtype;
  int number;             ///< of Triton's C interface
  std::string_view word;  ///< as protocol and clients write it; TYPE_ stands before it in configurations
};

inline constexpr ServedDType served_dtypes[] = {
    {boolean, 1, "BOOL"}, {u8, 2, "UINT8"},  {u16, 3, "UINT16"}, {u32, 4, "UINT32"}, {u64, 5, "UINT64"},
    {i8, 6, "INT8"},      {i16, 7, "INT16"}, {i32, 8, "INT32"},  {i64, 9, "INT64"},  {f16, 10, "FP16"},
    {f32, 11, "FP32"},    {f64, 12, "FP64"}, {bf16, 14, "BF16"},
};

/// Null for dtypes that clients cannot send.
constexpr const ServedDType* served(DType dtype) {
  for (const auto& each : served_dtypes)
    if (each.dtype == dtype) return &each;
  return nullptr;
}

/// Of a dtype in a request: 13 are texts, which no tensor of Tenon's holds.
constexpr std::string_view word_of(int number) {
  for (const auto& each : served_dtypes)
    if (each.number == number) return each.word;
  return number == 13 ? "BYTES" : "a dtype of number beyond those of the protocol";
}

}  // namespace tenon::serve
