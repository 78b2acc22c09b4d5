// Counts correct predictions.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// The class with the largest score for each row of scores [examples, classes]; the first one of
/// equal scores. Throws Failure (usage) if scores and labels [examples] have other shapes or
/// dtypes; `what` names the quantity that needs them.
std::vector<std::int64_t> predicted_classes(const Tensor& scores, const Tensor& labels,
                                            const char* what);

/// The labels as int64.
std::vector<std::int64_t> classes_of(const Tensor& labels);

/// The number of rows of scores [examples, classes] whose largest score is at the label's class;
/// the first one of equal scores counts. Throws Failure (usage) for other shapes and dtypes, and
/// for labels that are not classes.
std::int64_t count_right(const Tensor& scores, const Tensor& labels);

}  // namespace tenon
