// ONNX's numbering of dtypes.
#pragma once
#include <tenon/dtype.hpp>

/// Names the values of parameter `dtype` for an ONNX form whose attribute is a TensorProto dtype
/// number. The parameter must accept all dtypes; of the low-bit ones, those in `low_bit` are named.
constexpr void name_onnx_dtypes(auto& form, tenon::Types low_bit) {
  using namespace tenon;
  constexpr DType dtypes[] = {
      unknown_dtype, f32,    u8,         i8,  u16, i16,      i32,       i64,  unknown_dtype,
      boolean,       f16,    f64,        u32, u64, c64,      c128,      bf16, f8e4m3fn,
      f8e4m3fnuz,    f8e5m2, f8e5m2fnuz, u4,  i4,  f4e2m1fn, f8e8m0fnu, u2,   i2};
  int number = 0;
  for (const DType dtype : dtypes) {
    if ((every_type + low_bit).has(dtype)) form.value("dtype", number, name_of(dtype));
    ++number;
  }
}
