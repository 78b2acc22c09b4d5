// tenon train: trains a graph's variables on data and writes the trained graph.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <tenon/host/arrays.hpp>
#include <tenon/host/launcher.hpp>
#include <type_traits>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/output/training_files.hpp"
#include "cli/print/parameter_text.hpp"
#include "cli/print/report.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/print/train_log.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

// Signals that end training like Ctrl-C: a closed terminal or connection, or a batch system's time
// limit.
constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1};
volatile std::sig_atomic_t interrupted = 0;  // the signal number; 0 if there was none

std::atomic<std::int64_t> interrupted_at = 0;  // milliseconds, monotonic clock

/// The first signal lets the current step finish; a second one ends the program at once. Signals
/// within 100 ms count as one, because `timeout` signals both the process and its group.
void note_signal(int signal) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  if (interrupted == 0) {
    interrupted_at = now;
    interrupted = signal;
  } else if (now - interrupted_at > 100) {
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
}

/// Signals that were ignored at startup, for example by nohup, stay ignored.
void note_signals() {
  for (const int signal : ending_signals)
    if (std::signal(signal, note_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
}

Schedule parse_schedule(const Arguments& arguments) {
  Schedule schedule;
  schedule.kind = static_cast<Schedule::Kind>(arguments.integer("schedule"));
  schedule.rate = arguments.real("learning-rate");
  schedule.warm_up = arguments.count("warm-up");
  schedule.every = arguments.count("decay-every");
  schedule.factor = arguments.real("decay");
  schedule.end = arguments.real("end-rate");
  return schedule;
}

TrainerOptions parse_options(Context& context, const Arguments& arguments) {
  TrainerOptions options;
  options.loss = arguments.get("loss");
  options.optimizer = arguments.get("optimizer");
  options.parameters =
      parse_parameters(*find_optimizer(context.host(), options.optimizer), arguments.named("set"));
  options.schedule = parse_schedule(arguments);
  options.epochs = arguments.count("epochs");
  options.batch = arguments.integer("batch");
  options.accumulate = arguments.integer("accumulate");
  options.micro_batches = arguments.integer("micro-batches");
  options.distributed = true;
  options.comm_timeout = arguments.real("comm-timeout");
  options.check_replicas = arguments.count("check-replicas");
  options.clip_norm = arguments.real("clip-norm");
  options.memory_budget = arguments.integer("memory-budget");
  options.shuffle = !arguments.has("no-shuffle");
  options.seed = arguments.count("seed");
  options.device = context.device();
  options.precision = read_precision(arguments);
  options.capture = !arguments.has("no-capture");
  if (const auto pairs = arguments.named("accuracy"); !pairs.empty()) {
    options.scores = pairs.begin()->first;
    options.label = pairs.begin()->second;
  }
  return options;
}

class Training {
 public:
  Training(Context& context, const Arguments& arguments)
      : json_(context.json()),
        files_(arguments, launcher().rank == 0),
        options_(parse_options(context, arguments)),
        graph_(load_graph(context, arguments.get("GRAPH"))),
        validation_(arguments.has("validate")
                        ? std::optional(read_dataset(graph_, arguments, "validate"))
                        : std::nullopt),
        trainer_(graph_, read_dataset(graph_, arguments, "data"), options_) {
    if (arguments.has("resume")) resume();
    metrics_.emplace(files_.metrics(), trainer_.steps());
    if (!files_.metrics().empty() && trainer_.steps() > 0) curves_ = read_curves(files_.metrics());
    first_step_ = trainer_.steps();
    progress_.emplace(options_.epochs, trainer_.steps_per_epoch(), trainer_.steps());
  }

  /// The exit code.
  int run() {
    while (!is_done() && !stops()) take_step();
    progress_->end();
    if (is_done()) return finish();
    if (trainer_.rank() > 0) return 0;
    const bool saved = save_unfinished("interrupted");
    draw(true);
    return saved ? 128 + (interrupted != 0 ? interrupted : SIGTERM)
                 : static_cast<int>(FailureKind::failed);
  }

 private:
  bool is_done() const { return trainer_.epoch() >= options_.epochs; }

  /// All processes stop after the same step.
  bool stops() {
    if (trainer_.processes() == 1) return interrupted != 0;
    if (interrupted != 0) trainer_.request_stop();
    return stopped_;
  }

  void resume() {
    if (!std::filesystem::exists(files_.checkpoint())) {
      write_message("checkpoint {} does not exist yet; starting from the beginning\n",
                    files_.checkpoint().string());
      return;
    }
    trainer_.resume(files_.checkpoint());
    write_message("resuming after step {}, in epoch {}\n", trainer_.steps(), trainer_.epoch() + 1);
  }

  /// Runs an optional write. A failure is reported once, and again if it recurs after a success.
  template <class Write>
  void attempt(bool& failing, const char* then, Write&& write) {
    try {
      write();
      failing = false;
    } catch (const std::exception& failure) {
      progress_->end();
      if (!failing) write_message("warning: {}; {}\n", failure.what(), then);
      failing = true;
    }
  }

  template <class Write>
  void log(Write&& write) {
    if (!metrics_failing_) attempt(metrics_failing_, "training continues without metrics", write);
  }

  void checkpoint() {
    attempt(checkpoint_failing_, "training continues",
            [&] { trainer_.save_checkpoint(files_.checkpoint()); });
  }

  /// Draws at the end, or if the last drawing is at least a second old, because drawing takes
  /// longer than many epochs.
  void draw(bool end) {
    const auto now = std::chrono::steady_clock::now();
    if (files_.plot().empty() || (!end && now - drawn_ < std::chrono::seconds(1))) return;
    drawn_ = now;
    attempt(plot_failing_, "training continues", [&] { write_plot(files_.plot(), curves_); });
  }

  void take_step() {
    const auto report = save_if_failing([&] { return trainer_.step(); });
    stopped_ = report.stop;
    log([&] { metrics_->write(report); });
    curves_.add_step(report);
    progress_->step(report);
    if (trainer_.epoch() != report.epoch) end_epoch(report);
    if (files_.checkpoint_is_due(trainer_.steps())) checkpoint();
    if (trainer_.epoch() != report.epoch) draw(false);
  }

  void end_epoch(const StepReport& report) {
    trained_ = progress_->means();
    if (validation_) {
      validated_ = save_if_failing([&] { return trainer_.evaluate(*validation_); });
      log([&] { metrics_->write_validation(report.step, report.epoch, *validated_); });
      curves_.add_validation(report.epoch, *validated_);
    }
    progress_->epoch(report.step, trainer_.epoch(), validated_);
  }

  /// If `work` fails, saves a checkpoint of the steps before it.
  template <class Work>
  std::invoke_result_t<Work> save_if_failing(Work&& work) {
    try {
      return work();
    } catch (const std::exception&) {
      progress_->end();
      if (trainer_.rank() > 0) throw;
      if (trainer_.steps() > first_step_) save_unfinished("failed");
      throw;
    }
  }

  /// Writes a checkpoint for --resume. Returns false if it cannot be written.
  bool save_unfinished(const char* how) {
    try {
      const auto path = files_.save_unfinished(trainer_);
      write_message("{} after step {}, in epoch {}; saved {}\n", how, trainer_.steps(),
                    trainer_.epoch() + 1, path.string());
      write_message("hint: run the same command with --resume to continue\n");
      return true;
    } catch (const Failure& failure) {
      report(failure, json_);
      return false;
    }
  }

  int finish() {
    if (files_.always_checkpoint()) checkpoint();
    const bool written = save();
    draw(true);
    print_metrics();
    if (written && !files_.output().empty()) write_message("wrote {}\n", files_.output().string());
    const bool failed = !written || metrics_failing_ || plot_failing_ || checkpoint_failing_;
    return failed ? static_cast<int>(FailureKind::failed) : 0;
  }

  /// Writes the trained graph. If that fails, saves a checkpoint instead.
  bool save() {
    if (files_.output().empty()) return true;
    try {
      trainer_.graph().save(files_.output(), options_.seed);
      return true;
    } catch (const std::exception& failure) {  // including std::bad_alloc
      report({FailureKind::failed, failure.what()}, json_);
      if (!files_.always_checkpoint()) checkpoint();
      if (!checkpoint_failing_)
        write_message(
            "hint: the trained variables are saved in {}; write the graph from it with tenon "
            "build\n",
            files_.checkpoint().string());
      return false;
    }
  }

  void print_metrics() {
    const auto last =
        validated_ || !validation_ ? validated_ : std::optional(trainer_.evaluate(*validation_));
    if (json_)
      print(json_object("epochs", trainer_.epoch(), "steps", trainer_.steps(), "train",
                        trained_ ? json_of(*trained_) : JsonItem::null(), "validation",
                        last ? json_of(*last) : JsonItem::null()));
    else if (trained_ || last)
      write_result("{}{}\n", trained_ ? text_of(*trained_) : "",
                   last ? (trained_ ? "  validation " : "validation ") + text_of(*last) : "");
  }

  bool json_;
  TrainingFiles files_;
  TrainerOptions options_;
  Graph graph_;
  std::optional<NamedTensors> validation_;
  Trainer trainer_;
  std::optional<MetricsFile> metrics_;
  LearningCurves curves_;
  std::optional<Progress> progress_;
  std::uint64_t first_step_ = 0;                // steps done before this run
  std::optional<Metrics> trained_, validated_;  // of the last complete epoch
  std::chrono::steady_clock::time_point drawn_{};
  bool stopped_ = false;  // a process requested to stop
  bool metrics_failing_ = false, plot_failing_ = false, checkpoint_failing_ = false;
};

int train(Context& context, const Arguments& arguments) {
  Training training(context, arguments);
  note_signals();
  const int code = training.run();
  flush_results();
  return code;
}

/// In distributed training, rank 0 writes files and reports. Other ranks report only failures of
/// their own; a failure that all ranks share is reported by rank 0, while the others exit with 0 so
/// that the launcher lets it finish.
int run_train(Context& context, const Arguments& arguments) {
  const int rank = launcher().rank;
  if (rank == 0) return train(context, arguments);
  try {
    const Quiet quiet;
    return train(context, arguments);
  } catch (const SharedFailure&) {
    return 0;
  } catch (const Failure& failure) {
    throw Failure(failure.kind(), fmt::format("rank {}: {}", rank, failure.what()), failure.hint());
  }
}

std::vector<Option> train_options() {
  const TrainerOptions defaults;
  const auto& schedule = defaults.schedule;
  const auto text = [](auto number) { return fmt::to_string(number); };
  constexpr Integer steps{0, INT64_MAX / 2}, some_steps{1, INT64_MAX / 2}, some{1, INT32_MAX};
  return {
      {"data", "NAME=FILE", fmt::format("examples for an input, from a {} file", array_suffixes()),
       Named{"image=image.npy"}},
      {"validate", "NAME=FILE",
       "validation examples for an input; their loss and accuracy are printed after each epoch",
       Named{"image=image.npy"}},
      {"output", "FILE", "the .tenon file to write at the end", Text{}, "", 'o'},
      {"loss", "NAME", "output or value to minimize", Text{}, "loss"},
      {"accuracy", "SCORES=LABEL",
       "measure accuracy: the output with scores, the input with labels",
       Named{"scores=label", false}},
      {"optimizer", "NAME", "operator that updates the variables", Text{}, defaults.optimizer},
      {"set", "NAME=VALUE", "optimizer parameter (tenon inspect NAME lists them)",
       Named{"beta1=0.9"}},
      {"learning-rate", "R", "learning rate after the warm-up", Real{0}, text(schedule.rate)},
      {"schedule", "KIND", "learning rate schedule", Choice{{"constant", "step", "cosine"}},
       "constant"},
      {"warm-up", "STEPS", "number of steps of linear learning rate warm-up", steps,
       text(schedule.warm_up)},
      {"decay-every", "STEPS", "step schedule: number of steps between decays", some_steps,
       text(schedule.every)},
      {"decay", "FACTOR", "step schedule: factor applied at each decay", Real{0},
       text(schedule.factor)},
      {"end-rate", "R", "cosine schedule: final learning rate", Real{0}, text(schedule.end)},
      {"epochs", "N", "number of passes over all examples", steps, text(defaults.epochs)},
      {"batch", "N", "number of examples per batch", some, text(defaults.batch)},
      {"accumulate", "N",
       "gradient accumulation: number of batches whose gradients each micro-batch averages in a "
       "step",
       some, text(defaults.accumulate)},
      {"micro-batches", "S",
       "number of micro-batches per step; each accumulates the gradients of its own batches in "
       "order, and a fixed balanced tree adds "
       "the micro-batches, so the result does not depend on the number of processes",
       some, text(defaults.micro_batches), 0, "lanes"},
      {"comm-timeout", "SECONDS",
       "distributed training: how long a process waits for another one before all of them fail",
       Real{0}, text(defaults.comm_timeout)},
      {"check-replicas", "STEPS",
       "distributed training: compare the processes' variables every STEPS steps; 0: never", steps,
       text(defaults.check_replicas)},
      precision_option(),
      {"no-capture", "", "launch kernels individually instead of as captured CUDA graphs"},
      {"clip-norm", "X", "maximum global gradient norm; 0: no clipping", Real{0},
       text(defaults.clip_norm)},
      {"memory-budget", "BYTES",
       "memory for the activations of one batch, for example 64M; values that do not fit are "
       "recomputed",
       Bytes{}},
      {"seed", "N", "seed for initial values, shuffling and random operators", steps,
       text(defaults.seed)},
      {"no-shuffle", "", "use the examples in file order"},
      {"metrics", "FILE", "write the loss and accuracy of each step as JSON lines"},
      {"plot", "FILE",
       "plot loss and accuracy to an .svg file, at most once per second and at the end; a resumed "
       "training plots earlier epochs only "
       "with --metrics"},
      {"checkpoint", "FILE",
       "checkpoint (.tenon) to write at the end and when interrupted (default: next to the output, "
       "only if interrupted)"},
      {"checkpoint-every", "STEPS", "also write the checkpoint every STEPS steps", some_steps},
      {"resume", "", "continue from the checkpoint if there is one"}};
}

const bool added_train = add_command(
    {.name = "train",
     .doc = "train a graph's variables on examples",
     .details = "Every input needs an array whose first dimension is the number of examples; "
                "FILE[BEGIN:END] selects rows. FILE.svm is the "
                "features of an svmlight or libsvm text file, FILE.svm:labels its labels (see "
                "tenon run --help). The same seed gives "
                "bit-identical "
                "results on any number of threads, even if training was interrupted and resumed. "
                "Ctrl-C and the signals TERM, HUP, XCPU and USR1 "
                "finish the current step and save a checkpoint; --resume continues from it. If a "
                "metrics file, plot or checkpoint cannot be "
                "written, training reports it and continues; the exit code is then 1. During "
                "training, FILE.lock next to each file being written "
                "keeps other trainings from writing it. If a step fails, the steps before it are "
                "saved as a checkpoint. `mpirun -n N tenon train "
                "...` trains with N processes that share the micro-batches: --micro-batches "
                "must be N or more. The output has the same bytes for every N, "
                "and --resume continues with any N; only the first process writes files.",
     .positionals = {{"GRAPH", "a .tenon or graph.json file that computes a loss"}},
     .options = train_options(),
     .run = run_train,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
