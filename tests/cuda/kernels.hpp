// Kernels for these tests, as a plugin's would be: launched by another copy of the runtime, on streams of Tenon's.
#pragma once
#include <cstdint>

/// data[i] += 1 for n numbers. `stream` is a cudaStream_t.
void launch_add_one(std::uint32_t* data, std::int64_t n, void* stream);

/// Writes where nobody has memory.
void launch_wild_write(void* stream);
