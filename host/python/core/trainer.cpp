#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <tenon/host/draw.hpp>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/trainer.hpp>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/bindings.hpp"
#include "python/core/graph.hpp"
#include "python/core/tensor.hpp"

namespace tenon::python {
namespace {

struct TrainerHandle : Closable<Trainer> {
  TrainerHandle() : Closable("trainer") {}
};

struct EvaluatorHandle {
  Evaluator evaluator;
  ExclusiveUse exclusive;
};

Schedule::Kind schedule_from(const std::string& name) {
  constexpr std::array<const char*, 3> kinds = {"constant", "step", "cosine"};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    if (name == kinds[kind]) return static_cast<Schedule::Kind>(kind);
  throw Failure(FailureKind::usage, "there is no schedule '" + name + "'",
                "schedules are constant, step and cosine");
}

std::uint64_t count_from(std::int64_t number, const char* name) {
  if (number < 0)
    throw Failure(FailureKind::usage,
                  std::string(name) + " is " + std::to_string(number) + " but must be 0 or more");
  return static_cast<std::uint64_t>(number);
}

void make_trainer(TrainerHandle* self, GraphHandle& graph, nb::dict data, const std::string& loss,
                  const std::string& optimizer, nb::dict parameters, const std::string& schedule,
                  double learning_rate, std::int64_t warm_up, std::int64_t decay_every,
                  double decay, double end_rate, std::int64_t total_steps, std::int64_t epochs,
                  std::int64_t batch, std::int64_t accumulate, std::int64_t micro_batches,
                  bool distributed, double comm_timeout, std::int64_t check_replicas,
                  double clip_norm, std::int64_t memory_budget, bool shuffle, std::int64_t seed,
                  const std::string& scores, const std::string& label, const std::string& device,
                  bool capture, nb::handle precision) {
  TrainerOptions options;
  options.loss = loss;
  options.optimizer = optimizer;
  const auto info = graph.use([&](Graph& core) { return find_optimizer(core.host(), optimizer); });
  options.parameters = attributes_from(info.get(), std::move(parameters));
  options.schedule = {schedule_from(schedule),
                      learning_rate,
                      count_from(warm_up, "warm_up"),
                      count_from(decay_every, "decay_every"),
                      decay,
                      count_from(total_steps, "total_steps"),
                      end_rate};
  options.epochs = count_from(epochs, "epochs");
  options.batch = batch;
  options.accumulate = accumulate;
  options.micro_batches = micro_batches;
  options.distributed = distributed;
  options.comm_timeout = comm_timeout;
  options.check_replicas = count_from(check_replicas, "check_replicas");
  options.clip_norm = clip_norm;
  options.memory_budget = memory_budget;
  options.shuffle = shuffle;
  options.seed = count_from(seed, "seed");
  options.scores = scores;
  options.label = label;
  options.device = device;
  options.capture = capture;
  options.precision = dtype_from(precision);
  auto tensors = named_tensors_from(std::move(data));
  new (self) TrainerHandle();
  try {
    self->open.emplace(graph.use(
        [&](Graph& core) { return Trainer(core, std::move(tensors), std::move(options)); }));
  } catch (...) {
    self->~TrainerHandle();
    throw;
  }
}

/// step, epoch, loss, accuracy, examples, learning rate.
nb::tuple report_to_python(const StepReport& report) {
  return nb::make_tuple(report.step, report.epoch, report.metrics.loss, report.metrics.accuracy,
                        report.examples, report.rate);
}

nb::tuple metrics_to_python(const Metrics& metrics) {
  return nb::make_tuple(metrics.loss, metrics.accuracy);
}

auto step(TrainerHandle& self) {
  return report_to_python(self.use([](Trainer& trainer) { return trainer.step(); }));
}

auto step_with(TrainerHandle& self, nb::dict batch) {
  auto tensors = named_tensors_from(std::move(batch));
  return report_to_python(
      self.use([&](Trainer& trainer) { return trainer.step(std::move(tensors)); }));
}

auto evaluate(TrainerHandle& self, nb::dict data) {
  const auto tensors = named_tensors_from(std::move(data));
  return metrics_to_python(self.use([&](Trainer& trainer) { return trainer.evaluate(tensors); }));
}

template <class Number>
auto getter(Number (Trainer::*number)() const) {
  return [number](TrainerHandle& self) {
    return self.use([&](Trainer& trainer) { return (trainer.*number)(); });
  };
}

void bind_trainer_class(nb::module_& module) {
  nb::class_<TrainerHandle>(module, "Trainer")
      .def("__init__", &make_trainer, nb::arg("graph"), nb::arg("data"), nb::kw_only(),
           nb::arg("loss"), nb::arg("optimizer"), nb::arg("parameters"), nb::arg("schedule"),
           nb::arg("learning_rate"), nb::arg("warm_up"), nb::arg("decay_every"), nb::arg("decay"),
           nb::arg("end_rate"), nb::arg("total_steps"), nb::arg("epochs"), nb::arg("batch"),
           nb::arg("accumulate"), nb::arg("micro_batches"), nb::arg("distributed"),
           nb::arg("comm_timeout"), nb::arg("check_replicas"), nb::arg("clip_norm"),
           nb::arg("memory_budget"), nb::arg("shuffle"), nb::arg("seed"), nb::arg("scores"),
           nb::arg("label"), nb::arg("device"), nb::arg("capture"), nb::arg("precision"))
      .def("step", &step)
      .def("step_with", &step_with, nb::arg("batch"))
      .def("evaluate", &evaluate, nb::arg("data"))
      .def_prop_ro("rank", getter(&Trainer::rank))
      .def_prop_ro("processes", getter(&Trainer::processes))
      .def_prop_ro("steps", getter(&Trainer::steps))
      .def_prop_ro("epoch", getter(&Trainer::epoch))
      .def_prop_ro("position", getter(&Trainer::position))
      .def_prop_ro("examples", getter(&Trainer::examples))
      .def_prop_ro("steps_per_epoch", getter(&Trainer::steps_per_epoch))
      .def_prop_ro("can_be_saved", getter(&Trainer::can_be_saved))
      .def("graph",
           [](TrainerHandle& self) {
             return self.use([](Trainer& trainer) { return GraphHandle(trainer.graph()); });
           })
      .def(
          "save_checkpoint",
          [](TrainerHandle& self, const std::string& path) {
            self.use([&](Trainer& trainer) { trainer.save_checkpoint(path); });
          },
          nb::arg("path"))
      .def(
          "resume",
          [](TrainerHandle& self, const std::string& path) {
            self.use([&](Trainer& trainer) { trainer.resume(path); });
          },
          nb::arg("path"))
      .def("close", [](TrainerHandle& self) { self.close(); })
      .def_prop_ro("closed", [](const TrainerHandle& self) { return !self.open; });
}

void bind_evaluator(nb::module_& module) {
  nb::class_<EvaluatorHandle>(module, "Evaluator")
      .def(
          "__init__",
          [](EvaluatorHandle* self, GraphHandle& graph, const std::string& loss,
             const std::string& scores, const std::string& label, std::int64_t batch,
             std::int64_t seed, const std::string& device) {
            const EvaluatorOptions options{loss,  scores, label, batch, count_from(seed, "seed"),
                                           device};
            new (self) EvaluatorHandle{
                graph.use([&](Graph& core) { return Evaluator(core, options); }), {}};
          },
          nb::arg("graph"), nb::kw_only(), nb::arg("loss"), nb::arg("scores"), nb::arg("label"),
          nb::arg("batch"), nb::arg("seed"), nb::arg("device"))
      .def_prop_ro("inputs", [](EvaluatorHandle& self) { return self.evaluator.inputs(); })
      .def(
          "evaluate",
          [](EvaluatorHandle& self, nb::dict data) {  // examples, loss, accuracy
            const auto tensors = named_tensors_from(std::move(data));
            const auto found =
                self.exclusive("evaluator", [&] { return self.evaluator.evaluate(tensors); });
            return nb::make_tuple(found.examples, found.loss, found.accuracy());
          },
          nb::arg("data"));
}

nb::dict epoch_to_python(const EpochMetrics& epoch) {
  nb::dict all;
  all["epoch"] = epoch.epoch;
  all["loss"] = epoch.training.loss;
  if (epoch.training.accuracy) all["accuracy"] = *epoch.training.accuracy;
  if (!epoch.validation) return all;
  all["validation_loss"] = epoch.validation->loss;
  if (epoch.validation->accuracy) all["validation_accuracy"] = *epoch.validation->accuracy;
  return all;
}

void bind_curves(nb::module_& module) {
  nb::class_<LearningCurves>(module, "LearningCurves")
      .def(nb::init<>())
      .def(
          "add_step",
          [](LearningCurves& self, std::uint64_t epoch, double loss, std::optional<double> accuracy,
             std::int64_t examples) {
            StepReport report;
            report.metrics = {loss, accuracy};
            report.epoch = epoch;
            report.examples = examples;
            self.add_step(report);
          },
          nb::arg("epoch"), nb::arg("loss"), nb::arg("accuracy").none(), nb::arg("examples"))
      .def(
          "add_validation",
          [](LearningCurves& self, std::uint64_t epoch, double loss,
             std::optional<double> accuracy) {
            self.add_validation(epoch, {loss, accuracy});
          },
          nb::arg("epoch"), nb::arg("loss"), nb::arg("accuracy").none())
      .def("epochs",
           [](const LearningCurves& self) {
             nb::list all;
             for (const auto& epoch : self.epochs()) all.append(epoch_to_python(epoch));
             return all;
           })
      .def("svg", [](const LearningCurves& self) { return draw_curves(self.epochs()); });
}

}  // namespace

void bind_trainer(nb::module_& module) {
  bind_trainer_class(module);
  bind_evaluator(module);
  bind_curves(module);
  module.def(
      "confusion",
      [](nb::handle scores, nb::handle labels) {
        const auto predicted = any_tensor_from(scores), expected = any_tensor_from(labels);
        return without_gil([&] { return confusion(predicted, expected); });
      },
      nb::arg("scores"), nb::arg("labels"));
  module.def(
      "draw_confusion",
      [](nb::handle counts, const std::vector<std::string>& names) {
        return draw_confusion(any_tensor_from(counts), names);
      },
      nb::arg("counts"), nb::arg("names"));
}

}  // namespace tenon::python
