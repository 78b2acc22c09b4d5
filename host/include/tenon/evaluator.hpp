// How well a graph does on examples.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tenon/session.hpp>
#include <vector>

namespace tenon {

struct EvaluatorOptions {
  std::string loss;           ///< an output or value of one floating element, the mean over a batch's examples; empty: none
  std::string scores, label;  ///< an output [examples, classes] and an integer input [examples] to count right answers by; or neither
  std::int64_t batch = 64;    ///< examples that are run at once
  std::uint64_t seed = 0;     ///< of random operators
  std::string device{};       ///< as SessionOptions has it
};

struct Evaluation {
  std::int64_t examples = 0;
  std::optional<double> loss;         ///< mean over the examples, where a loss is named
  std::optional<std::int64_t> right;  ///< how many answers are right, where scores and label are named
  std::optional<double> accuracy() const {
    return right ? std::optional(static_cast<double>(*right) / static_cast<double>(examples)) : std::nullopt;
  }
};

/// Measures a graph as it runs outside of training, a batch at a time; each batch, the smaller last one too, counts by its examples. Only
/// what loss and scores need is computed. Threads: one at a time.
class Evaluator {
 public:
  /// The graph is left as it is. Throws Failure (usage) for names that the graph does not have, and where there is nothing to measure.
  Evaluator(const Graph& graph, EvaluatorOptions options);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;

  /// The inputs whose examples are needed.
  const std::vector<std::string>& inputs() const;
  /// data: one tensor for each of inputs(), dense or csr, the first dimension counting the examples. Throws Failure.
  Evaluation evaluate(const NamedTensors& data);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
