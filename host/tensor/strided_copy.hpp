// Brings strided elements into row-major order.
#pragma once
#include <tenon/abi.h>

#include <cstddef>

namespace tenon {

/// Writes the elements of `from` to `to`, contiguous in row-major order. `to` has room for all of them and does not overlap `from`.
/// Transposes of any axes go tile by tile.
void copy_to_contiguous(const tenon_dense& from, std::byte* to);

}  // namespace tenon
