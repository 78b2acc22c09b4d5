// Sums of losses and correct predictions over batches.
#pragma once
#include <string>
#include <tenon/host/evaluator.hpp>

namespace tenon {

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
