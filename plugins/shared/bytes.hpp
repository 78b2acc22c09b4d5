// Tensors as bytes, for kernels that move elements of any dtype without reading them.
#pragma once
#include <cstddef>
#include <tenon/operator.hpp>

namespace bytes {
inline std::byte* of(const tenon_tensor* tensor) {
  if (!tensor) throw tenon::Error("a tensor that this kernel copies is missing");
  return static_cast<std::byte*>(tensor->dense.data) + tensor->dense.byte_offset;
}

inline const std::byte* input(const tenon::Call& call, int i) {
  return of(call.raw().inputs[i]);
}
inline std::byte* output(const tenon::Call& call, int i) {
  return of(call.raw().outputs[i]);
}
inline const std::byte* output_grad(const tenon::Call& call, int i) {
  return of(call.raw().output_grads[i]);
}
inline std::byte* input_grad(const tenon::Call& call, int i) {
  return of(call.raw().input_grads[i]);
}
}  // namespace bytes
