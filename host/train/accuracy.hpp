// Counts right answers.
#pragma once
#include <cstdint>
#include <tenon/tensor.hpp>

namespace tenon {

/// How many rows of scores [examples, classes] are largest where labels [examples] say; of equal ones the first counts. Throws Failure
/// (usage) for other shapes and dtypes.
std::int64_t count_right(const Tensor& scores, const Tensor& labels);

}  // namespace tenon
