// tenon train: a graph, data and an optimizer give a trained graph.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <tenon/host/arrays.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/print/parameter_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/print/train_log.hpp"

namespace tenon::cli {
namespace {

constexpr int interrupted_code = 130;
volatile std::sig_atomic_t interrupted = 0;

/// The first signal lets the step come to its end; a second one ends the program at once.
void note_signal(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
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
  options.parameters = parse_parameters(*find_optimizer(context.host(), options.optimizer), arguments.named("set"));
  options.schedule = parse_schedule(arguments);
  options.epochs = arguments.count("epochs");
  options.batch = arguments.integer("batch");
  options.accumulate = arguments.integer("accumulate");
  options.clip_norm = arguments.real("clip-norm");
  options.memory_budget = arguments.integer("memory-budget");
  options.shuffle = !arguments.has("no-shuffle");
  options.seed = arguments.count("seed");
  options.device = context.device();
  options.capture = !arguments.has("no-capture");
  if (const auto pairs = arguments.named("accuracy"); !pairs.empty()) {
    options.scores = pairs.begin()->first;
    options.label = pairs.begin()->second;
  }
  return options;
}

/// Where files go. Without --checkpoint, an interrupted training is kept beside the output.
struct Files {
  explicit Files(const Arguments& arguments)
      : output(arguments.get("output")),
        checkpoint(arguments.get("checkpoint")),
        plot(arguments.get("plot")),
        every(arguments.count("checkpoint-every")) {
    if (output.empty() && checkpoint.empty())
      throw Failure(FailureKind::usage, "there is no --output to write to", "tenon train graph.json --data x=x.npy -o model.tenon");
    for (const auto& path : {output, checkpoint}) {
      if (!path.empty() && path.extension() != ".tenon")
        throw Failure(FailureKind::usage, fmt::format("'{}' must end in .tenon to be written", path.string()));
      if (const auto folder = path.parent_path(); !folder.empty() && !std::filesystem::is_directory(folder))
        throw Failure(FailureKind::file, fmt::format("{} cannot be written: there is no folder {}", path.string(), folder.string()));
    }
    if (!plot.empty()) check_plot_path("--plot", plot);
    always = !checkpoint.empty();
    if (checkpoint.empty()) checkpoint = std::filesystem::path(output).replace_extension(".checkpoint.tenon");
  }
  std::filesystem::path output, checkpoint, plot;
  std::uint64_t every;
  bool always = false;  // the checkpoint was asked for
};

class Training {
 public:
  Training(Context& context, const Arguments& arguments)
      : files_(arguments),
        options_(parse_options(context, arguments)),
        graph_(Graph::load(context.host(), arguments.get("GRAPH"))),
        validation_(arguments.has("validate") ? std::optional(read_dataset(graph_, arguments, "validate")) : std::nullopt),
        trainer_(graph_, read_dataset(graph_, arguments, "data"), options_) {
    if (arguments.has("resume")) resume();
    const auto metrics = arguments.get("metrics");
    metrics_.emplace(metrics, trainer_.steps());
    if (!metrics.empty() && trainer_.steps() > 0) curves_ = read_curves(metrics);
    progress_.emplace(options_.epochs, trainer_.steps_per_epoch(), trainer_.steps());
  }

  /// False where it was interrupted.
  bool run() {
    while (trainer_.epoch() < options_.epochs && interrupted == 0) take_step();
    progress_->end();
    const bool done = trainer_.epoch() >= options_.epochs;
    if (files_.always || files_.every > 0 || !done) checkpoint();
    return done;
  }

  void finish(bool json) {
    if (!files_.output.empty()) trainer_.graph().save(files_.output, options_.seed);
    const auto last = validated_ || !validation_ ? validated_ : std::optional(trainer_.evaluate(*validation_));
    if (json)
      print(json_object("epochs", trainer_.epoch(), "steps", trainer_.steps(), "train", trained_ ? json_of(*trained_) : JsonItem::null(),
                        "validation", last ? json_of(*last) : JsonItem::null()));
    else if (trained_ || last)
      fmt::print("{}{}\n", trained_ ? text_of(*trained_) : "", last ? (trained_ ? "  validation " : "validation ") + text_of(*last) : "");
    if (!files_.output.empty()) fmt::print(stderr, "wrote {}\n", files_.output.string());
  }

  void tell_interrupted() const {
    fmt::print(stderr, "interrupted after step {}, in epoch {}; {} keeps everything\n", trainer_.steps(), trainer_.epoch() + 1,
               files_.checkpoint.string());
    fmt::print(stderr, "hint: the same command with --resume goes on from there\n");
  }

 private:
  void resume() {
    if (!std::filesystem::exists(files_.checkpoint)) {
      fmt::print(stderr, "there is no {} yet: beginning at the start\n", files_.checkpoint.string());
      return;
    }
    trainer_.resume(files_.checkpoint);
    fmt::print(stderr, "going on after step {}, in epoch {}\n", trainer_.steps(), trainer_.epoch() + 1);
  }

  void checkpoint() {
    metrics_->flush();
    trainer_.save_checkpoint(files_.checkpoint);
  }

  void take_step() {
    const auto report = trainer_.step();
    metrics_->write(report);
    curves_.add_step(report);
    progress_->step(report);
    if (trainer_.epoch() != report.epoch) end_epoch(report);
    if (files_.every > 0 && trainer_.steps() % files_.every == 0) checkpoint();
  }

  void end_epoch(const StepReport& report) {
    trained_ = progress_->means();
    if (validation_) {
      validated_ = trainer_.evaluate(*validation_);
      metrics_->write_validation(report.step, report.epoch, *validated_);
      curves_.add_validation(report.epoch, *validated_);
    }
    if (!files_.plot.empty()) write_plot(files_.plot, curves_);
    progress_->epoch(report.step, trainer_.epoch(), validated_);
  }

  Files files_;
  TrainerOptions options_;
  Graph graph_;
  std::optional<NamedTensors> validation_;
  Trainer trainer_;
  std::optional<MetricsFile> metrics_;
  LearningCurves curves_;
  std::optional<Progress> progress_;
  std::optional<Metrics> trained_, validated_;  // of the last whole epoch
};

int run_train(Context& context, const Arguments& arguments) {
  Training training(context, arguments);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, note_signal);
  if (!training.run()) {
    training.tell_interrupted();
    return interrupted_code;
  }
  training.finish(context.json());
  return 0;
}

std::vector<Option> train_options() {
  const TrainerOptions defaults;
  const auto& schedule = defaults.schedule;
  const auto text = [](auto number) { return fmt::to_string(number); };
  constexpr Integer steps{0, INT64_MAX / 2}, some_steps{1, INT64_MAX / 2}, some{1, INT32_MAX};
  return {{"data", "NAME=FILE", fmt::format("an input's examples, from a {} file", array_suffixes()), Named{"image=image.npy"}},
          {"validate", "NAME=FILE", "the same for examples that are not trained on; loss and accuracy on them are printed after each epoch",
           Named{"image=image.npy"}},
          {"output", "FILE", "the .tenon file to write in the end", Text{}, "", 'o'},
          {"loss", "NAME", "output or value to minimize", Text{}, "loss"},
          {"accuracy", "SCORES=LABEL", "count right answers: the output with scores, the input with labels", Named{"scores=label", false}},
          {"optimizer", "NAME", "an operator that updates a variable", Text{}, defaults.optimizer},
          {"set", "NAME=VALUE", "a parameter of the optimizer (tenon inspect NAME lists them)", Named{"beta1=0.9"}},
          {"learning-rate", "R", "learning rate after the warm-up", Real{0}, text(schedule.rate)},
          {"schedule", "KIND", "how the learning rate changes", Choice{{"constant", "step", "cosine"}}, "constant"},
          {"warm-up", "STEPS", "steps over which the learning rate grows evenly", steps, text(schedule.warm_up)},
          {"decay-every", "STEPS", "step schedule: steps between decays", some_steps, text(schedule.every)},
          {"decay", "FACTOR", "step schedule: factor of each decay", Real{0}, text(schedule.factor)},
          {"end-rate", "R", "cosine schedule: the last learning rate", Real{0}, text(schedule.end)},
          {"epochs", "N", "how often all examples are used", steps, text(defaults.epochs)},
          {"batch", "N", "examples in a batch", some, text(defaults.batch)},
          {"accumulate", "N", "batches whose gradients are averaged for one step", some, text(defaults.accumulate)},
          {"no-capture", "", "launch kernels one by one instead of as captured CUDA graphs"},
          {"clip-norm", "X", "largest norm of all gradients together; 0: no limit", Real{0}, text(defaults.clip_norm)},
          {"memory-budget", "BYTES", "memory for the values of one batch, like 64M; values that do not fit are recomputed", Bytes{}},
          {"seed", "N", "seed of first values, shuffling and random operators", steps, text(defaults.seed)},
          {"no-shuffle", "", "take the examples in their order"},
          {"metrics", "FILE", "write loss and accuracy of each step as JSON lines"},
          {"plot", "FILE",
           "draw loss and accuracy as an .svg file after each epoch; a resumed training draws earlier epochs if it has --metrics"},
          {"checkpoint", "FILE",
           "the checkpoint, a .tenon file, written at the end and when interrupted (default: beside the output, if interrupted)"},
          {"checkpoint-every", "STEPS", "also write the checkpoint every STEPS steps", some_steps},
          {"resume", "", "continue from the checkpoint if there is one"}};
}

const bool added_train = add_command(
    {.name = "train",
     .doc = "train a graph's variables on examples",
     .details =
         "Every input gets an array whose first dimension counts the examples; FILE[BEGIN:END] takes some of its rows. "
         "FILE.svm is the features of a text of svmlight or libsvm, FILE.svm:labels its labels (tenon run --help says more). The same seed "
         "gives "
         "the same bits on any number of threads, also if the training was interrupted and resumed. Ctrl-C finishes the current step and "
         "saves a checkpoint; --resume continues from it.",
     .positionals = {{"GRAPH", "a .tenon or graph.json file that computes a loss"}},
     .options = train_options(),
     .run = run_train});

}  // namespace
}  // namespace tenon::cli
