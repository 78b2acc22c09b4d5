#include "train/step_gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>
#include <type_traits>
#include <utility>

#include "run/impl_access.hpp"
#include "tensor/finite.hpp"
#include "train/micro_batches.hpp"
#include "train/tally.hpp"

namespace tenon {
namespace {

/// Ceiling division; both are at least 1.
std::int64_t times(std::int64_t count, std::int64_t each) {
  return (count - 1) / each + 1;
}

bool is_dense(const Tensor& tensor) {
  return tensor.storage() == Storage::dense;
}

template <class Thrown = Failure>
[[noreturn]] void refuse(const StepGradients::Examples& examples, const std::string& what) {
  throw Thrown(FailureKind::failed,
               fmt::format("step {} of epoch {}: {}", examples.step, examples.epoch, what),
               "try a smaller learning rate or gradient clipping; the variables are unchanged");
}

}  // namespace

Tensor filled(DType dtype, const Shape& shape, double value) {
  auto tensor = Tensor::empty(dtype, shape);
  visit<floating>(dtype, [&]<class T>() {
    for (auto& element : tensor.values<T>())
      element = static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(value));
  });
  return tensor;
}

StepGradients::StepGradients(Session& session, const GradientGraph& gradient_graph,
                             const TrainerOptions& options, const StepStateBackup& states,
                             StepExchange* exchange)
    : session_(session),
      gradient_graph_(gradient_graph),
      options_(options),
      states_(states),
      exchange_(exchange) {}

Evaluation StepGradients::find(Batches& source, const Examples& examples) {
  const auto batches = times(examples.count, examples.max_batch),
             micro_batches = times(batches, options_.accumulate);
  random_step_ = session_.step();
  auto sum = exchange_ == nullptr
                 ? run_micro_batches(source, examples, micro_batches, {0, micro_batches})
                 : run_own_micro_batches(source, examples, micro_batches);
  if (micro_batches > 1 || exchange_ != nullptr)
    if (auto what = not_finite(sum.gradients); !what.empty()) {
      what += why_not_finite();
      exchange_ == nullptr
          ? refuse(examples, what)
          : refuse<SharedFailure>(examples, what);  // all processes have the same sum
    }
  session_.set_step(random_step_ + static_cast<std::uint64_t>(batches));
  states_.set_to_means(sum.states, micro_batches);
  gradients_ = std::move(sum.gradients);
  Evaluation sums;
  for (const auto& batch : sum.batches) add_counts(sums, batch);
  return sums;
}

MicroBatchSum StepGradients::run_micro_batches(Batches& source, const Examples& examples,
                                               std::int64_t micro_batches,
                                               StepExchange::Range own) {
  bool begun = false;
  return sum_micro_batches(
      own.begin, own.end - own.begin,
      [&](std::int64_t micro_batch, std::size_t slot) {
        if (std::exchange(begun, true)) states_.restore();
        if (memory_.size() <= slot) memory_.resize(slot + 1);
        auto made = run_micro_batch(source, examples, micro_batch, memory_[slot]);
        if (micro_batches > 1 || exchange_ != nullptr) made.states = states_.copies();
        return made;
      },
      [&](MicroBatchSum& left, const MicroBatchSum& right) { add(left, right); });
}

/// The cause of a non-finite sum, the same in all processes.
std::string StepGradients::why_not_finite() {
  auto culprit =
      adds_early_ && !last_batch_.empty() ? session_.first_non_finite(last_batch_) : std::string();
  if (exchange_ != nullptr) culprit = exchange_->first_of(culprit);
  return culprit.empty() ? "; the sum over the step's micro-batches is too large"
                         : "; first " + culprit;
}

// The other processes wait for this one's contribution, and must be informed if it fails.
MicroBatchSum StepGradients::run_own_micro_batches(Batches& source, const Examples& examples,
                                                   std::int64_t micro_batches) {
  const auto own = exchange_->own(micro_batches);
  std::optional<MicroBatchSum> sum;
  std::exception_ptr failure;
  micro_batches_ = micro_batches;
  adds_early_ = own.end - own.begin == 1 && !exchange_->destinations().empty();
  try {
    if (own.begin < own.end) sum = run_micro_batches(source, examples, micro_batches, own);
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  auto joined = exchange_->join(std::move(sum), failure, micro_batches);
  if (memory_.empty()) memory_.resize(1);
  for (const auto& [name, gradient] : joined.gradients)
    if (is_dense(gradient)) memory_[0][name] = gradient;  // the next step writes there directly
  return joined;
}

// Micro-batch m has the m-th group of `accumulate` batches of the step.
MicroBatchSum StepGradients::run_micro_batch(Batches& source, const Examples& examples,
                                             std::int64_t micro_batch, NamedTensors& memory) {
  MicroBatchSum sum;
  const auto first = micro_batch * options_.accumulate,
             count = times(examples.count, examples.max_batch);
  const auto end = first + std::min(options_.accumulate, count - first);
  for (auto number = first; number < end; ++number) {
    const auto taken = number * examples.max_batch;
    session_.set_step(random_step_ + static_cast<std::uint64_t>(number));
    auto batch = source.take(examples.epoch, examples.begin + taken,
                             std::min(examples.max_batch, examples.count - taken));
    run_batch(sum, std::move(batch), examples, memory, adds_early_ && number + 1 == end);
  }
  for (const auto& [name, tensor] : sum.gradients)
    if (is_dense(tensor)) memory[name] = tensor;
  return sum;
}

void StepGradients::run_batch(MicroBatchSum& sum, NamedTensors batch, const Examples& examples,
                              const NamedTensors& memory, bool adds_early) {
  const bool first = sum.batches.empty();
  const auto rows = examples_of(batch);
  if (!gradient_graph_.weight_input.empty()) {
    const auto seed = gradient_graph_.graph.find(gradient_graph_.weight_input);
    batch[gradient_graph_.weight_input] =
        filled(gradient_graph_.graph.dtype(seed), gradient_graph_.graph.shape(seed),
               static_cast<double>(rows) / static_cast<double>(examples.count));
  }
  Destinations destinations;
  for (const auto& [name, tensor] : first ? memory : sum.gradients)
    if (is_dense(tensor)) destinations[name] = {tensor, first ? Write::to : Write::add};
  RunOptions request{.destinations = std::move(destinations)};
  if (adds_early) {
    exchange_->begin(micro_batches_);
    request.on_output_ready = [this](const std::string& output) { exchange_->ready(output); };
  }
  last_batch_ = batch;
  const auto outputs = session_.run(batch, request);
  accumulate(sum.gradients, outputs);
  count_batch(sum.batches.emplace_back(), rows, outputs, batch, options_.label);
  const double loss = one_number(outputs.at(loss_output));
  const auto what =
      std::isfinite(loss)  // gradients that are being added are checked afterwards
          ? (adds_early ? std::string() : not_finite(sum.gradients))
          : fmt::format("the loss is {}",
                        std::isnan(loss) ? std::abs(loss) : loss);  // the sign of NaN is irrelevant
  if (what.empty()) return;
  const auto culprit = session_.first_non_finite(batch);
  refuse(examples, what + (culprit.empty() ? "; the sum over the accumulated batches is too large"
                                           : "; first " + culprit));
}

// Sparse gradients are new in each run, because their size depends on the batch.
void StepGradients::accumulate(NamedTensors& sums, const NamedTensors& outputs) const {
  for (const auto& [name, made] : outputs) {
    if (name == loss_output || name == scores_output) continue;
    auto& sum = sums[name];
    if (sum && is_dense(made) && is_dense(sum) && sum.data() == made.data())
      continue;  // the run accumulated into it
    sum = sum ? gradient_graph_.graph.host().call("tenon.sum_gradients", {sum, made}) : made;
  }
}

void StepGradients::add(MicroBatchSum& left, const MicroBatchSum& right) {
  for (auto& [name, sum] : left.gradients) add(name, sum, right.gradients.at(name));
  states_.add(left.states, right.states);
  left.batches.insert(left.batches.end(), right.batches.begin(), right.batches.end());
}

void StepGradients::add(const std::string& name, Tensor& left, const Tensor& right) {
  auto& host = gradient_graph_.graph.host();
  if (!is_dense(left) || !is_dense(right)) {
    left = host.call("tenon.sum_gradients", {left, right});
    return;
  }
  auto found = additions_.find(name);
  if (found == additions_.end())
    found = additions_
                .emplace(name, host.prepare("tenon.sum_gradients",
                                            {Argument::like(left), Argument::like(right)}, {},
                                            {.device = left.device()}))
                .first;
  found->second.forward(std::vector{left, right}, std::span(&left, 1));
}

/// A sentence about the first variable with a non-finite gradient; empty if all are finite.
std::string StepGradients::not_finite(const NamedTensors& sums) const {
  std::vector<Tensor> values;
  for (const auto& one : gradient_graph_.trained)
    values.push_back(sums.at(one.gradient).stored_values());
  const auto wrong = first_non_finite(values, threads_of(gradient_graph_.graph.host()));
  if (wrong < 0) return {};
  return fmt::format("the gradient of '{}' is not finite",
                     gradient_graph_.trained[static_cast<std::size_t>(wrong)].variable);
}

}  // namespace tenon
