// Matrices of other tensors, and products of any numbers.
#pragma once
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

/// Reshapes `x` to sizes that are known or computed: int64 [rank].
Operand reshaped(NodeImport& node, const Operand& x, const Operand& sizes);

/// Sizes of `x` along the axes from `begin` to `end`, as a slice of Python: int64 [n]. Its rank need not be known.
Operand sizes_along(NodeImport& node, const Operand& x, std::int64_t begin, std::int64_t end);

/// The axes before `axis` as rows, the others as columns. Rank and sizes of `x` need not be known, and may be 0.
Operand as_matrix(NodeImport& node, const Operand& x, std::int64_t axis);

/// int64 [size]: 0, 1 ... up to a number that is known or computed.
Operand count_to(NodeImport& node, const Operand& size);

/// a b as numpy.matmul, in the dtype of both: float16 and bfloat16 are multiplied in float32, which is what it returns, so that the caller
/// rounds once; integers wrap around.
Operand matrix_product(NodeImport& node, const Operand& a, const Operand& b);

}  // namespace tenon::onnx
