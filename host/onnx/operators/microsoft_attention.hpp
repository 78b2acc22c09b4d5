// Code shared by com.microsoft's attention operators.
#pragma once
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

/// Calls tenon.attention with the non-empty inputs and the node's scale, and sets the node's first
/// output, of the given dtype or of its first input's. Returns all outputs.
std::vector<Operand> attend(NodeImport& node, Importer::Named inputs, Attributes attributes,
                            DType type);
std::vector<Operand> attend(NodeImport& node, Importer::Named inputs, Attributes attributes);

/// An int64 scalar.
Operand number(NodeImport& node, std::int64_t value);
/// int64 scalar: constant if the size is known, else computed by the plan.
Operand size_along(NodeImport& node, const Operand& x, int axis);
/// int64 [end] with 0, 1 and so on, for an int64 scalar `end`.
Operand arange_to(NodeImport& node, const Operand& end);

/// Applies rotary embedding to [batch, steps, heads * size]. `positions`, [batch, steps], index the
/// rows of inputs `cos` and `cos` + 1.
Operand apply_rotary_embedding(NodeImport& node, const Operand& x, std::size_t cos,
                               std::int64_t heads, const Operand& positions, bool interleaved,
                               std::int64_t rotary_size);

}  // namespace tenon::onnx
