// Views of tensors as matrices, and matrix products of any dtype.
#pragma once
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

/// Reshapes `x` to known or computed sizes, int64 [rank].
Operand reshaped(NodeImport& node, const Operand& x, const Operand& sizes);

/// Sizes of `x` along the axes from `begin` to `end`, as int64 [n]; indices work as in Python
/// slices. The rank may be unknown.
Operand sizes_along(NodeImport& node, const Operand& x, std::int64_t begin, std::int64_t end);

/// The axes before `axis` become rows, the others columns. Rank and sizes of `x` may be unknown,
/// and sizes may be 0.
Operand as_matrix(NodeImport& node, const Operand& x, std::int64_t axis);

/// int64 [size] with 0, 1 and so on; the size is known or computed.
Operand arange(NodeImport& node, const Operand& size);

/// a b as in numpy.matmul, in the dtype of both. float16 and bfloat16 are multiplied in float32,
/// which is also the result's dtype, so that the caller rounds once; integers wrap around.
Operand matrix_product(NodeImport& node, const Operand& a, const Operand& b);

}  // namespace tenon::onnx
