// Measures loss and accuracy of a graph on examples.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/session.hpp>
#include <vector>

namespace tenon {

struct EvaluatorOptions {
  std::string loss;  ///< an output or value with one floating element, the mean over a batch;
                     ///< empty: no loss
  std::string scores, label;  ///< for accuracy: an output [examples, classes] and an integer input
                              ///< [examples]; or neither
  std::int64_t batch = 64;    ///< examples in one run
  std::uint64_t seed = 0;     ///< seed for random operators
  std::string device{};       ///< as in SessionOptions
  bool constant_weights = false;  ///< as in SessionOptions
  DType precision = f32;          ///< as in SessionOptions
};

struct Evaluation {
  std::int64_t examples = 0;
  std::optional<double> loss;  ///< mean over the examples, if a loss is set
  /// number of correct predictions, if scores and label are set
  std::optional<std::int64_t> right;
  std::optional<double> accuracy() const {
    return right ? std::optional(static_cast<double>(*right) / static_cast<double>(examples))
                 : std::nullopt;
  }
};

/// Measures a graph as it runs outside of training, batch by batch; batches are weighted by their
/// numbers of examples, since the last one may be smaller. Computes only what loss and scores need.
/// Threads: one at a time.
class TENON_API Evaluator {
 public:
  /// Does not change the graph. Throws Failure (usage) if the graph lacks one of the names, if
  /// neither loss nor scores are set, and if batch is below 1.
  Evaluator(const Graph& graph, EvaluatorOptions options);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;

  /// The inputs that evaluate() needs.
  const std::vector<std::string>& inputs() const;
  /// data: a tensor for each of inputs(), dense or csr, whose first dimension is the number of
  /// examples. Throws Failure, (usage) for a label that is not a class.
  Evaluation evaluate(const NamedTensors& data);

 private:
  struct TENON_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

/// The confusion matrix [classes, classes] of int64: how often examples of each class (row) got the
/// highest score for each class (column). `scores`: [examples, classes], floating; `labels`:
/// [examples], integer. The first of equal scores counts. Throws Failure (usage) for other tensors,
/// and for labels that are not a class. draw_confusion() in draw.hpp draws it.
TENON_API Tensor confusion(const Tensor& scores, const Tensor& labels);

}  // namespace tenon
