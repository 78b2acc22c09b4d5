#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/failure.hpp>

#include "graph/name_mapping.hpp"
#include "graph/requested_outputs.hpp"
#include "run/impl_access.hpp"
#include "run/one_thread.hpp"
#include "train/batches.hpp"
#include "train/tally.hpp"
#include "train/training_graphs.hpp"

namespace tenon {
namespace {

/// Returns a copy of the graph with loss and scores as its only outputs.
Graph measured(const Graph& graph, const EvaluatorOptions& options) {
  if (options.loss.empty() && options.scores.empty())
    throw Failure(FailureKind::usage, "nothing to measure: name a loss, or scores and a label");
  if (options.batch < 1)
    throw Failure(FailureKind::usage,
                  fmt::format("batch is {} but must be at least 1", options.batch));
  check_accuracy(graph, options.scores, options.label);
  auto own = graph.clone();
  own.bind();
  const auto loss = options.loss.empty() ? Value() : named_value(own, options.loss, "loss");
  const auto scores = options.scores.empty() ? Value() : named_value(own, options.scores, "scores");
  if (!loss.empty()) require_loss(own, loss, options.loss);
  edit_model(own).clear_outputs();
  if (!loss.empty()) own.output(loss_output, loss);
  if (!scores.empty()) own.output(scores_output, scores);
  return own;
}

std::vector<std::string> names_of(const GraphModel& model, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto id : values) names.emplace_back(model.strings[model.values[id].name]);
  return names;
}

EvaluatorOptions with_own_label(const Graph& graph, EvaluatorOptions options) {
  options.label = graph_input_name(model_of(graph), options.label);
  return options;
}

}  // namespace

struct Evaluator::Impl {
  Impl(const Graph& original, EvaluatorOptions how)
      : options(with_own_label(original, std::move(how))),
        graph(measured(original, options)),
        session(graph, {.seed = options.seed,
                        .training = false,
                        .device = options.device,
                        .precision = options.precision,
                        .constant_weights = options.constant_weights}) {
    const auto& model = model_of(graph);
    for (const auto& [name, value] : model.outputs)
      request.outputs.emplace_back(model.strings[name]);
    inputs = names_of(model, needed_inputs(model, request.outputs, false));
    if (!options.label.empty() &&
        std::find(inputs.begin(), inputs.end(), options.label) == inputs.end())
      inputs.push_back(options.label);
  }

  Evaluation evaluate(const NamedTensors& examples) {
    const auto data = by_input_names(model_of(graph), examples);
    for (const auto& name : inputs)
      if (!data.contains(name))
        throw Failure(FailureKind::usage,
                      fmt::format("there are no examples for input '{}'", name));
    Batches batches(data, options.batch, options.seed, false);
    Evaluation sums;
    for (std::int64_t at = 0; at < batches.examples(); at += options.batch) {
      const auto batch = batches.take(0, at);
      count_batch(sums, examples_of(batch), session.run(batch, request), batch, options.label);
    }
    return means_of(sums);
  }

  /// Held while evaluate() runs.
  struct Use : OneThread::Use {
    explicit Use(const std::unique_ptr<Impl>& evaluator)
        : OneThread::Use(deref(evaluator, "the evaluator").used, "the evaluator",
                         "make an evaluator for each thread") {}
  };

  OneThread used;
  EvaluatorOptions options;
  Graph graph;
  Session session;
  RunOptions request;
  std::vector<std::string> inputs;
};

Evaluator::Evaluator(const Graph& graph, EvaluatorOptions options)
    : impl_(std::make_unique<Impl>(graph, std::move(options))) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;

const std::vector<std::string>& Evaluator::inputs() const {
  return deref(impl_, "the evaluator").inputs;
}

Evaluation Evaluator::evaluate(const NamedTensors& data) {
  const Impl::Use use(impl_);
  return impl_->evaluate(data);
}

}  // namespace tenon
