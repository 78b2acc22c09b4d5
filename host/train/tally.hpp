// Losses and right answers of batches, summed.
#pragma once
#include <string>
#include <tenon/host/evaluator.hpp>

namespace tenon {

/// Output names of graphs whose batches are counted.
inline constexpr const char *loss_output = "loss", *scores_output = "scores";

/// The number in a tensor of one floating element, on any device.
double one_number(const Tensor& tensor);

/// How many examples are in the batch.
std::int64_t examples_of(const NamedTensors& batch);

/// Adds what a run gave for a batch of so many examples; `label` names the input with the right answers.
void count_batch(Evaluation& sums, std::int64_t examples, const NamedTensors& outputs, const NamedTensors& batch, const std::string& label);

/// Adds the sums of further batches.
void add_counts(Evaluation& sums, const Evaluation& more);

/// The sums' loss is one of all examples, and becomes their mean.
Evaluation means_of(Evaluation sums);

}  // namespace tenon
