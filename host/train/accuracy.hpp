// Counts right answers.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// For each row of scores [examples, classes] the class with the largest; of equal ones the first. Throws Failure (usage) where scores and
/// labels [examples] have other shapes or dtypes: `what` cannot be computed from them.
std::vector<std::int64_t> predicted_classes(const Tensor& scores, const Tensor& labels, const char* what);

/// The labels as int64.
std::vector<std::int64_t> classes_of(const Tensor& labels);

/// How many rows of scores [examples, classes] are largest where labels [examples] say; of equal ones the first counts. Throws Failure
/// (usage) for other shapes and dtypes, and for labels that are no class.
std::int64_t count_right(const Tensor& scores, const Tensor& labels);

}  // namespace tenon
