// What com.microsoft's attention operators share.
#pragma once
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

/// The outputs of tenon.attention of the inputs that are not empty, with the node's scale; the first becomes the node's.
std::vector<Operand> attend(NodeImport& node, Importer::Named inputs, Attributes attributes);

/// An int64 scalar.
Operand number(NodeImport& node, std::int64_t value);
/// int64 scalar: known where the size is, else computed when a run is planned.
Operand size_along(NodeImport& node, const Operand& x, int axis);
/// int64 [end]: 0, 1 ... where end is an int64 scalar.
Operand count_below(NodeImport& node, const Operand& end);

/// [batch, steps, heads size], turned by the rows that the positions, [batch, steps], name of inputs `cos` and `cos` + 1.
Operand turned_by(NodeImport& node, const Operand& x, std::size_t cos, std::int64_t heads, const Operand& positions, bool interleaved,
                  std::int64_t rotary_size);

}  // namespace tenon::onnx
