// Copies strided elements to contiguous memory.
#pragma once
#include <tenon/abi.h>

#include <cstddef>

namespace tenon {

/// Copies the elements of `from` to `to`, contiguous in row-major order. `to` must be large enough
/// and not overlap `from`. Transpositions are tiled.
void copy_to_contiguous(const tenon_dense& from, std::byte* to);

}  // namespace tenon
