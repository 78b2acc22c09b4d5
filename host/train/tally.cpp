#include "train/tally.hpp"

#include <tenon/visit.hpp>

#include "train/accuracy.hpp"

namespace tenon {

double one_number(const Tensor& tensor) {
  const Tensor here = tensor.to("cpu");
  return visit<floating>(here.dtype(),
                         [&]<class T>() { return static_cast<double>(here.values<T>()[0]); });
}

std::int64_t examples_of(const NamedTensors& batch) {
  return batch.begin()->second.shape()[0];
}

void count_batch(Evaluation& sums, std::int64_t examples, const NamedTensors& outputs,
                 const NamedTensors& batch, const std::string& label) {
  sums.examples += examples;
  if (const auto loss = outputs.find(loss_output); loss != outputs.end())
    sums.loss = sums.loss.value_or(0) + one_number(loss->second) * static_cast<double>(examples);
  if (const auto scores = outputs.find(scores_output); scores != outputs.end())
    sums.right = sums.right.value_or(0) + count_right(scores->second.to("cpu"), batch.at(label));
}

void add_counts(Evaluation& sums, const Evaluation& more) {
  sums.examples += more.examples;
  if (more.loss) sums.loss = sums.loss.value_or(0) + *more.loss;
  if (more.right) sums.right = sums.right.value_or(0) + *more.right;
}

Evaluation means_of(Evaluation sums) {
  if (sums.loss) *sums.loss /= static_cast<double>(sums.examples);
  return sums;
}

}  // namespace tenon
