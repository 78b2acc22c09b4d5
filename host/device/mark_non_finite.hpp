// Looks for NaN and infinities where a GPU has them.
#pragma once
#include <cstdint>
#include <tenon/dtype.hpp>

namespace tenon {

class Stream;

/// On a GPU's stream: *found becomes 1 where one of n elements is NaN or infinite, else it stays as it is. In cuda/.
void mark_non_finite(DType dtype, const void* elements, std::int64_t n, std::int64_t* found, const Stream& stream);

}  // namespace tenon
