// Element types that ONNX operators accept.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/operator_info.hpp>

namespace tenon::onnx {

/// The first opset that has the dtype; 1 for those older than opset 13.
std::int64_t first_opset(DType dtype);

/// Whether an operator of ONNX's default domain accepts data of this dtype in that opset (13 or
/// newer).
bool accepts_dtype(std::string_view type, std::int64_t opset, DType dtype);

/// Whether QuantizeLinear or DequantizeLinear accepts this combination. `numbers` is the dtype of
/// the data; unknown_dtype means the same as `scales`.
bool accepts_scales(std::int64_t opset, DType numbers, DType integers, DType scales);

/// Whether RandomNormal and similar operators can produce this dtype.
bool supports_random(std::int64_t opset, DType dtype);

}  // namespace tenon::onnx
