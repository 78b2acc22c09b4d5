// ONNX's numbering of dtypes.
#pragma once

/// Names the values of parameter `dtype` for an ONNX form whose attribute is a TensorProto dtype
/// number. The parameter must accept all dtypes.
constexpr void name_onnx_dtypes(auto& form) {
  constexpr const char* names[] = {
      "",     "float32", "uint8",   "int8",   "uint16", "int16",     "int32",      "int64",   "",
      "bool", "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16"};
  for (int number = 0; number < 17; ++number)
    if (*names[number]) form.value("dtype", number, names[number]);
}
