#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <tenon/host/failure.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>
#include <tenon/visit.hpp>
#include <utility>

#include "graph/model.hpp"
#include "graph/name_mapping.hpp"
#include "io/counted.hpp"
#include "run/impl_access.hpp"
#include "run/one_thread.hpp"
#include "run/shared_values.hpp"
#include "tensor/add_elements.hpp"
#include "tensor/finite.hpp"
#include "train/batches.hpp"
#include "train/checkpoint.hpp"
#include "train/consistency.hpp"
#include "train/step_gradients.hpp"
#include "train/step_state_backup.hpp"
#include "train/tally.hpp"
#include "train/training_graphs.hpp"

namespace tenon {
namespace {

Metrics metrics_of(const Evaluation& evaluation) {
  return {evaluation.loss.value(), evaluation.accuracy()};
}

bool has_tensors(const Graph& graph) {
  const auto& values = model_of(graph).values;
  return std::all_of(values.begin(), values.end(), [](const ValueRecord& value) {
    return (value.role != Role::variable && value.role != Role::state) || value.tensor != none;
  });
}

/// Returns a copy in which every variable and state has its own elements. Runs one batch if their
/// shapes depend on the inputs.
Graph initialized(const Graph& graph, Batches& batches, const TrainerOptions& options) {
  const BackingFiles files(model_of(graph).tensors);
  auto own = graph.clone();
  edit_model(own).training.reset();
  own.initialize(options.seed);
  if (!has_tensors(own)) {
    Session session(own, {.seed = options.seed,
                          .training = false,
                          .device = options.device,
                          .optimize = Optimize::none});
    session.run(batches.take(0, 0));
    own = session.graph();
  }
  set_tensors(own, [&](ValueId id) {
    const auto& value = model_of(own).values[id];
    return value.role == Role::variable && value.tensor != none
               ? model_of(own).tensors[value.tensor].clone()
               : Tensor();
  });
  files.require_unchanged();
  return own;
}

std::vector<std::string> variables_of(const std::vector<TrainedVariable>& trained) {
  std::vector<std::string> names;
  names.reserve(trained.size());
  for (const auto& one : trained) names.push_back(one.variable);
  return names;
}

std::vector<std::string> states_of(const GraphModel& model) {
  std::vector<std::string> names;
  for (const auto& value : model.values)
    if (value.role == Role::state) names.emplace_back(model.strings[value.name]);
  return names;
}

}  // namespace

struct Trainer::Impl {
  Impl(const Graph& graph, NamedTensors data, TrainerOptions requested)
      : options(checked(graph, data, std::move(requested))),
        batches(std::move(data), options.batch, options.seed, options.shuffle),
        forward(initialized(graph, batches, options)),
        gradient_graph(make_gradient_graph(forward, batches.take(0, 0), options)),
        update(make_update_graph(forward, gradient_graph.trained, options), session_options()),
        gradient(shared_gradient_graph(), session_options(options.precision)),
        states(SharedValues(gradient)),
        processes(options.distributed ? Processes(forward.host(), options.comm_timeout)
                                      : Processes(forward.host())),
        gradients(gradient, gradient_graph, options, states, exchange_with_others()) {
    SharedValues(gradient).skip_sum_restore();
    SharedValues(update).share_with(forward, variables_of(gradient_graph.trained));
    SharedValues(gradient).share_with(forward, states_of(model_of(forward)));
    if (options.schedule.total == 0)
      options.schedule.total = std::max<std::uint64_t>(1, options.epochs * steps_per_epoch());
  }

  static TrainerOptions checked(const Graph& graph, const NamedTensors& data,
                                TrainerOptions options) {
    const auto refuse = [](const std::string& what) { throw Failure(FailureKind::usage, what); };
    options = without_old_names(std::move(options));
    options.schedule.check();
    if (options.accumulate < 1)
      refuse(fmt::format("accumulate is {} but must be at least 1", options.accumulate));
    if (options.micro_batches < 1)
      refuse(fmt::format("micro_batches is {} but must be at least 1", options.micro_batches));
    if (!(options.comm_timeout > 0))
      refuse(fmt::format("comm_timeout is {} but must be above 0", options.comm_timeout));
    if (!(options.clip_norm >= 0))
      refuse(fmt::format("clip_norm is {} but must be 0 or more", options.clip_norm));
    if (options.memory_budget < 0)
      refuse(fmt::format("memory_budget is {} but must be 0 or more", options.memory_budget));
    options.label = graph_input_name(model_of(graph), options.label);
    check_accuracy(graph, options.scores, options.label);
    check_data(graph, data);
    return options;
  }

  StepExchange* exchange_with_others() {
    if (!processes.several()) return nullptr;
    if (options.micro_batches < processes.size())
      throw Failure(FailureKind::usage,
                    fmt::format("micro_batches is {} but must be at least "
                                "{}, the number of processes",
                                options.micro_batches, processes.size()),
                    "set micro_batches to the number of processes or a multiple of it");
    return &exchange.emplace(processes, forward.host(), gradient_graph.trained, forward, states,
                             options.device.empty() ? "cpu" : options.device);
  }

  // Results of a step stay on the device, because gradients go from one session to the other.
  SessionOptions session_options(DType precision = f32) const {
    return {.seed = options.seed,
            .training = true,
            .device = options.device,
            .capture = options.capture,
            .keep_on_device = true,
            .precision = precision};
  }

  const Graph& shared_gradient_graph() {
    SharedValues(update).share_with(gradient_graph.graph, variables_of(gradient_graph.trained));
    return gradient_graph.graph;
  }

  /// The number of examples of a whole step; at most the examples of an epoch.
  std::int64_t examples_of_step() const {
    auto count = std::min(options.batch, batches.examples());
    for (const auto times : {options.accumulate, options.micro_batches})
      count = times > batches.examples() / count ? batches.examples() : count * times;
    return count;
  }
  std::uint64_t steps_per_epoch() const {
    const auto group = examples_of_step();
    return static_cast<std::uint64_t>((batches.examples() + group - 1) / group);
  }

  StepReport apply(const Evaluation& sums, std::int64_t examples) {
    const double rate = options.schedule.at(step);
    auto inputs = gradients.gradients();
    inputs[rate_input] = filled(DType::f32, Shape::scalar(), rate);
    update.run(inputs);
    return {metrics_of(means_of(sums)), ++step, epoch, examples, rate, exchange && exchange->stops};
  }

  std::vector<std::pair<std::string, Tensor>> what_steps_change() const {
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& value : model_of(forward).values)
      if (value.role == Role::variable || value.role == Role::state)
        tensors.emplace_back(model_of(forward).strings[value.name],
                             model_of(forward).tensors[value.tensor]);
    for (const auto& one : gradient_graph.trained)
      for (const auto& [name, state] : tenon::states_of(SharedValues(update).graph(), one))
        tensors.emplace_back(state, SharedValues(update).tensor(state));
    return tensors;
  }

  /// To be called before each step; compares at the first step and every `check_replicas` steps.
  void compare_processes() {
    if (!exchange) return;
    exchange->requests_stop = stop_requested.exchange(false);
    if (!std::exchange(agreed, true)) {
      Configuration configuration;
      add_configuration(configuration, model_of(forward), options, batches.data(),
                        batches.examples());
      configuration.emplace_back(
          "state of the training",
          fmt::format("step {}, epoch {}, example {}", step, epoch, position));
      check_consistent(processes, configuration);
    } else if (options.check_replicas == 0 || step % options.check_replicas != 0) {
      return;
    }
    check_consistent_elements(processes, what_steps_change(),
                              step == agreed_at
                                  ? "before the first step"
                                  : fmt::format("they agreed after step {}", agreed_at));
    agreed_at = step;
  }

  /// A step that fails leaves random numbers and states as they were, for the next step.
  template <class Step>
  StepReport try_step(const Step& take) {
    const auto random_step = gradient.step();
    states.save();
    const auto undo = [&] {
      gradient.set_step(random_step);
      states.put_back();
    };
    try {
      return take();
    } catch (const WaitFailure& failure) {
      undo();
      throw Failure(failure.kind(), fmt::format("step {}: {}", step + 1, failure.what()),
                    failure.hint());
    } catch (...) {
      undo();
      throw;
    }
  }

  StepReport take_step(NamedTensors batch) {
    if (exchange)
      throw Failure(
          FailureKind::usage,
          "step(batch) is a single micro-batch, which cannot be distributed over processes",
          "use step()");
    batch = by_input_names(model_of(forward), std::move(batch));
    check_data(forward, batch);
    Batches source(std::move(batch), std::numeric_limits<std::int64_t>::max(), options.seed, false);
    const auto count = source.examples();
    return apply(gradients.find(source, {step + 1, epoch, 0, count, count}), count);
  }

  StepReport take_step() {
    compare_processes();
    const auto count = std::min(examples_of_step(), batches.examples() - position);
    const auto report =
        apply(gradients.find(batches, {step + 1, epoch, position, count, options.batch}), count);
    position += count;
    if (position == batches.examples()) {
      position = 0;
      ++epoch;
    }
    return report;
  }

  Metrics evaluate(const NamedTensors& data) const {
    Evaluator evaluator(forward, {options.loss, options.scores, options.label, options.batch,
                                  options.seed, options.device, true});  // no step runs meanwhile
    return metrics_of(evaluator.evaluate(data));
  }

  // Copies the tensors that the next step changes.
  Graph graph_now() const {
    auto graph = forward.clone();
    set_tensors(graph, [&](ValueId id) {
      const auto& value = model_of(forward).values[id];
      const bool changes = value.role == Role::variable || value.role == Role::state;
      return changes && value.tensor != none ? model_of(forward).tensors[value.tensor].clone()
                                             : Tensor();
    });
    return graph;
  }

  void save_checkpoint(const std::filesystem::path& path) const {
    auto graph = forward.clone();
    TrainingRecord record;
    record.step = step;
    record.epoch = epoch;
    record.data_position = static_cast<std::uint64_t>(position);
    record.random_step = gradient.step();
    add_record(graph, update, gradient_graph.trained, options, batches.examples(),
               std::move(record));
    graph.save(path, options.seed);
  }

  void resume(const std::filesystem::path& path) {
    auto checkpoint = Graph::load(forward.host(), path);
    checkpoint.initialize(options.seed);  // adds what newer versions of its operators need
    check_record(checkpoint, forward, SharedValues(update).graph(), gradient_graph.trained, options,
                 path);
    const auto& record = *model_of(checkpoint).training;
    if (record.data_position >= static_cast<std::uint64_t>(batches.examples()))
      throw Failure(
          FailureKind::file,
          fmt::format("{}: cannot resume: it stopped after {} of an epoch, but the data has {}",
                      path.string(), counted(record.data_position, "example"), batches.examples()));
    std::vector<RestoredTensor> restored;  // all are checked before the first one is copied
    find_values(checkpoint, forward, path, restored);
    find_slots(checkpoint, update, gradient_graph.trained, path, restored);
    for (const auto& [from, to] : restored) copy_elements(from, to);
    BackingFiles(model_of(checkpoint).tensors).require_unchanged();
    step = record.step;
    epoch = record.epoch;
    position = static_cast<std::int64_t>(record.data_position);
    gradient.set_step(record.random_step);
    agreed = false;
    agreed_at = step;
    warn_of_changes(checkpoint, options, batches.examples(), path);
  }

  /// Held while one of the trainer's functions runs.
  struct Use : OneThread::Use {
    explicit Use(const std::unique_ptr<Impl>& trainer)
        : OneThread::Use(deref(trainer, "the trainer").used, "the trainer",
                         "use the trainer from one thread and pass its reports to the others") {}
  };

  OneThread used;
  TrainerOptions options;
  Batches batches;
  Graph forward;  // shares the sessions' variables and states
  GradientGraph gradient_graph;
  Session update, gradient;
  StepStateBackup states;
  Processes processes;
  std::optional<StepExchange> exchange;  // only in distributed training
  StepGradients gradients;
  std::uint64_t step = 0, epoch = 0;
  std::int64_t position = 0;
  bool agreed = false;  // the processes were compared and agreed
  std::uint64_t agreed_at = 0;
  std::atomic<bool> stop_requested = false;
};

Trainer::Trainer(const Graph& graph, NamedTensors data, TrainerOptions options)
    : impl_(std::make_unique<Impl>(graph, by_input_names(model_of(graph), std::move(data)),
                                   std::move(options))) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

StepReport Trainer::step() {
  const Impl::Use use(impl_);
  return impl_->try_step([&] { return impl_->take_step(); });
}
StepReport Trainer::step(NamedTensors batch) {
  const Impl::Use use(impl_);
  return impl_->try_step([&] { return impl_->take_step(std::move(batch)); });
}
Metrics Trainer::evaluate(const NamedTensors& data) {
  const Impl::Use use(impl_);
  return impl_->evaluate(data);
}
int Trainer::rank() const {
  const Impl::Use use(impl_);
  return impl_->processes.rank();
}
int Trainer::processes() const {
  const Impl::Use use(impl_);
  return impl_->processes.size();
}
void Trainer::request_stop() {
  deref(impl_, "the trainer").stop_requested = true;
}
std::uint64_t Trainer::steps() const {
  const Impl::Use use(impl_);
  return impl_->step;
}
std::uint64_t Trainer::epoch() const {
  const Impl::Use use(impl_);
  return impl_->epoch;
}
std::int64_t Trainer::position() const {
  const Impl::Use use(impl_);
  return impl_->position;
}
std::int64_t Trainer::examples() const {
  const Impl::Use use(impl_);
  return impl_->batches.examples();
}
std::uint64_t Trainer::steps_per_epoch() const {
  const Impl::Use use(impl_);
  return impl_->steps_per_epoch();
}
Graph Trainer::graph() const {
  const Impl::Use use(impl_);
  return impl_->graph_now();
}
bool Trainer::can_be_saved() const {
  const Impl::Use use(impl_);
  return true;
}
void Trainer::save_checkpoint(const std::filesystem::path& path) const {
  const Impl::Use use(impl_);
  impl_->save_checkpoint(path);
}
void Trainer::resume(const std::filesystem::path& path) {
  const Impl::Use use(impl_);
  impl_->resume(path);
}

}  // namespace tenon
