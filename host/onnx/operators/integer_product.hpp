// Products of 8-bit integers, for the quantized operators of ONNX and com.microsoft.
#pragma once
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

/// Product of integers minus their zero points, which may be empty: exact, as float64.
Operand integer_product(NodeImport& node, const Operand& left, const Operand& right,
                        const Operand& left_zero, const Operand& right_zero);

/// The product times both scales, plus the bias, which may be empty, in the dtype of the scales.
/// The scale of the left operand must be a single number.
Operand rescaled(NodeImport& node, const Operand& product, const Operand& left_scale,
                 const Operand& right_scale, const Operand& bias);

/// x quantized to uint8 by the range of its own elements.
struct DynamicallyQuantized {
  Operand elements, scale, zero;
};
DynamicallyQuantized quantize_dynamically(NodeImport& node, const Operand& x);

/// Requires a scale or zero point to be a single number.
void require_single(NodeImport& node, const Operand& x);

}  // namespace tenon::onnx
