// Counts correct predictions, and sums losses and correct predictions over batches.
#pragma once
#include <cstdint>
#include <string>
#include <tenon/host/evaluator.hpp>
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

/// Output names of graphs whose batches are counted.
inline constexpr const char *loss_output = "loss", *scores_output = "scores";

/// The number in a floating-point tensor of one element, on any device.
double one_number(const Tensor& tensor);

/// The number of examples in the batch.
std::int64_t examples_of(const NamedTensors& batch);

/// Adds the results of a batch of `examples` examples; `label` names the input with the labels.
void count_batch(Evaluation& sums, std::int64_t examples, const NamedTensors& outputs,
                 const NamedTensors& batch, const std::string& label);

/// Adds the sums of further batches.
void add_counts(Evaluation& sums, const Evaluation& more);

/// Converts the summed loss to the mean over all examples.
Evaluation means_of(Evaluation sums);

}  // namespace tenon
