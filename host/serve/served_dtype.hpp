// The dtypes of the Open Inference Protocol, and bfloat16, which Triton adds.
#pragma once
#include <optional>
#include <string_view>
#include <tenon/dtype.hpp>

namespace tenon::serve {

struct ServedDType {
  DType dtype;
  int number;                 ///< in Triton's C interface
  std::string_view datatype;  ///< in the protocol and clients; configurations prefix it with TYPE_
};

inline constexpr ServedDType served_dtypes[] = {
    {boolean, 1, "BOOL"}, {u8, 2, "UINT8"},  {u16, 3, "UINT16"}, {u32, 4, "UINT32"},
    {u64, 5, "UINT64"},   {i8, 6, "INT8"},   {i16, 7, "INT16"},  {i32, 8, "INT32"},
    {i64, 9, "INT64"},    {f16, 10, "FP16"}, {f32, 11, "FP32"},  {f64, 12, "FP64"},
    {bf16, 14, "BF16"},
};

/// Returns null for dtypes that clients cannot send.
constexpr const ServedDType* served(DType dtype) {
  for (const auto& each : served_dtypes)
    if (each.dtype == dtype) return &each;
  return nullptr;
}

/// The name of a dtype in a request. 13 is text, which Tenon's tensors do not support.
constexpr std::string_view datatype_of(int number) {
  for (const auto& each : served_dtypes)
    if (each.number == number) return each.datatype;
  return number == 13 ? "BYTES" : "a dtype that is not in the protocol";
}

}  // namespace tenon::serve
