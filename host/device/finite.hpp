// Looks for what spoils a training: NaN and infinities.
#pragma once
#include <cstdint>
#include <tenon/dtype.hpp>

namespace tenon {

/// Which of n elements is the first that is NaN or infinite; -1 where none is, as in every dtype that has no such numbers.
std::int64_t first_non_finite(DType dtype, const void* elements, std::int64_t n);

}  // namespace tenon
