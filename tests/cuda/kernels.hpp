// Kernels for these tests, as a plugin's would be: launched by another copy of the runtime, on streams of Tenon's.
#pragma once
#include <cstdint>

/// data[i] += 1 for n numbers. `stream` is a cudaStream_t.
void launch_add_one(std::uint32_t* data, std::int64_t n, void* stream);

/// to[i] = 1,000 times the outer place of point i plus its inner one, in a box [outer, inner]. `wide`: counted as a box of more than 2^31
/// points is.
void launch_places(std::uint32_t* to, std::int64_t outer, std::int64_t inner, bool wide, void* stream);

/// Writes where nobody has memory.
void launch_wild_write(void* stream);
