// Which element types ONNX's operators take.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/operator_info.hpp>

namespace tenon::onnx {

/// Whether an operator of ONNX's own domain takes data of this dtype, in that opset, 13 or newer.
bool takes(std::string_view type, std::int64_t opset, DType dtype);

/// Whether QuantizeLinear or DequantizeLinear takes these numbers, integers and scales. numbers: unknown_dtype, if they are the scales'.
bool takes_scales(std::int64_t opset, DType numbers, DType integers, DType scales);

/// Whether RandomNormal and others make this dtype.
bool makes_random(std::int64_t opset, DType dtype);

}  // namespace tenon::onnx
