#include "train/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

namespace tenon {
namespace {

template <class T>
std::vector<std::int64_t> argmax(const Tensor& scores) {
  const auto rows = scores.shape()[0], classes = scores.shape()[1];
  const auto* row = scores.data<T>();
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < rows; ++i, row += classes) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (row[c] > row[best]) best = c;
    indices.push_back(best);
  }
  return indices;
}

/// `where` names the set of examples in messages.
void require_classes(const std::vector<std::int64_t>& labels, std::int64_t classes,
                     const char* where) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      throw Failure(FailureKind::usage,
                    fmt::format("label {} of example {}{} is not one of the {} classes", labels[i],
                                i, where, classes));
}

}  // namespace

std::vector<std::int64_t> predicted_classes(const Tensor& scores, const Tensor& labels,
                                            const char* what) {
  const bool fit = scores.shape().rank() == 2 && labels.shape().rank() == 1 &&
                   scores.shape()[0] == labels.shape()[0];
  if (!fit || !floating.has(scores.dtype()) || !integral.has(labels.dtype()))
    throw Failure(FailureKind::usage,
                  fmt::format("{} cannot be computed from {} {} scores and {} {} labels", what,
                              name_of(scores.dtype()), to_string(scores.shape()),
                              name_of(labels.dtype()), to_string(labels.shape())),
                  "scores must be floating-point [examples, classes], labels integers [examples]");
  return visit<floating>(scores.dtype(),
                         [&]<class T>() { return argmax<T>(scores.make_contiguous()); });
}

std::vector<std::int64_t> classes_of(const Tensor& labels) {
  return visit<integral>(labels.dtype(), [contiguous = labels.make_contiguous()]<class T>() {
    const auto values = contiguous.values<T>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  });
}

std::int64_t count_right(const Tensor& scores, const Tensor& labels) {
  const auto predicted = predicted_classes(scores, labels, "accuracy"),
             expected = classes_of(labels);
  require_classes(expected, scores.shape()[1], " of the batch");
  std::int64_t right = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) right += expected[i] == predicted[i];
  return right;
}

Tensor confusion(const Tensor& scores, const Tensor& labels) {
  const auto predicted = predicted_classes(scores.to("cpu"), labels.to("cpu"), "confusion"),
             expected = classes_of(labels.to("cpu"));
  const auto classes = scores.shape()[1];
  require_classes(expected, classes, "");
  auto counts = Tensor::zeros(DType::i64, {classes, classes});
  for (std::size_t i = 0; i < expected.size(); ++i)
    ++counts.data<std::int64_t>()[expected[i] * classes + predicted[i]];
  return counts;
}

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
