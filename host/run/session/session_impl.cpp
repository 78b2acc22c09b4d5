#include "run/session/session_impl.hpp"

#include <fmt/format.h>

#include <utility>

#include "device/devices.hpp"
#include "graph/composed/expansion.hpp"
#include "io/crash/crash_handler.hpp"
#include "io/file_memory.hpp"
#include "run/session/renamed_run.hpp"
#include "run/session/run_transaction.hpp"
#include "run/session/session_run.hpp"
#include "run/session/watched_stop.hpp"

namespace tenon {
namespace {

SessionOptions checked(SessionOptions options) {
  const auto refuse = [](const std::string& what, const std::string& hint = {}) {
    throw Failure(FailureKind::usage, what, hint);
  };
  if (options.plans < 1)
    refuse(fmt::format("SessionOptions::plans is {} but must be at least 1", options.plans));
  if (options.precision != f32 && options.precision != bf16)
    refuse(fmt::format("SessionOptions::precision is {} but must be float32 or bfloat16",
                       name_of(options.precision)));
  if (options.debug && (options.profile || !options.trace.empty()))
    refuse(fmt::format("a session cannot {} and debug its runs at the same time",
                       options.profile ? "profile" : "trace"),
           "set only one of the two options");
  return options;
}

}  // namespace

Session::Impl::Impl(const Graph& source, SessionOptions user_options)
    : graph(impl_of(source).completed()),
      options(checked(std::move(user_options))),
      graphs(host(),
             expanded(impl_of(graph).current,
                      find_device(options.device.empty() ? "cpu" : options.device)),
             options, [this](const SessionGraph& dropped) { planner.drop(dropped); }),
      files(graphs.last().tensors),
      context{.call = {.threads = host().threads,
                       .seed = options.seed,
                       .training = options.training,
                       .log = &host().kernel_log,
                       .host = &host_table(),
                       .error = &error},
              .streams = &streams,
              .constant_weights = options.constant_weights,
              .session = this},
      plans(options.plans, options.plan_memory) {
  BackingFiles(graphs.snapshot()->tensors.of(model())).require_unchanged();
}

Session::Impl::Use::Use(const Session& session)
    : OneThread::Use(
          impl_of(session).used, "the session",
          "use one session per thread: sessions of one graph share what they do not change") {}

const Tensor& Session::Impl::tensor(ValueId value) const {
  static const Tensor empty;
  if (value == none) throw Failure(FailureKind::usage, "an empty value has no elements");
  const auto role = model().values[value].role;
  if (role == Role::output || role == Role::input)
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' is {}, but a session stores only variables, states and constants",
                    value_label(model(), value),
                    role == Role::input ? "an input" : "computed by a node"),
        "make the value an output of the graph; run() returns it");
  return graphs.last().tensors[value];
}

Tensor Session::Impl::copy_of(ValueId value) const {
  const auto& stored = tensor(value);
  if (!stored) return stored;
  const Tensor here = stored.to("cpu");
  return here.stored_values().data() == stored.stored_values().data() && changes(value)
             ? here.clone()
             : here;
}

Planned& Session::Impl::plan(const std::map<std::string, Shape>& shapes) {
  RunTransaction initialization(planner, backup, step);
  auto next = planner.first_stage({});
  const auto inputs_of = [&](const RunStage& stage) {
    return StageInputs{input_types(stage.graph->model(), shapes)};
  };
  auto& planned = planner.plan(next, inputs_of, initialization.initialized);
  initialization.commit();
  return planned;
}

NamedTensors Session::Impl::run(const NamedTensors& inputs, const RunOptions& request,
                                RunTransaction* parent) {
  const bool plain =
      request.outputs.empty() && request.destinations.empty() && !output_callback(request);
  if (plain)
    if (auto made = repeat(inputs, request.stop, parent)) return *std::move(made);
  if (const auto renamed = RenamedRun::of(model(), inputs, request)) {
    auto made = run(renamed->inputs, renamed->request, parent);
    renamed->name(made);
    return made;
  }
  SessionRun run(*this, inputs, request, parent);
  auto made = run.outputs();
  if (plain) cache_quick_run(run);
  return made;
}

void Session::Impl::run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                 const std::stop_token& stop) {
  const auto& names = model();
  const auto count = [](const char* what, std::size_t found, std::size_t needed) {
    if (found != needed)
      throw Failure(FailureKind::usage,
                    fmt::format("got {} {} but the graph has {}", found, what, needed));
  };
  count("inputs", inputs.size(), names.inputs.size());
  count("outputs", outputs.size(), names.outputs.size());
  if (repeat(inputs, outputs, stop, nullptr)) return;
  NamedTensors arguments;
  RunOptions request{.stop = stop};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) arguments.emplace(names.strings[names.values[names.inputs[i]].name], inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i])
      request.destinations.emplace(names.strings[names.outputs[i].first], Destination{outputs[i]});
  SessionRun run(*this, arguments, request);
  auto made = run.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = made.at(std::string(names.strings[names.outputs[i].first]));
  cache_quick_run(run);
}

std::string Session::Impl::first_non_finite(const NamedTensors& inputs) {
  const auto renamed = RenamedRun::of(model(), inputs, {});
  return SessionRun(*this, renamed ? renamed->inputs : inputs, {}).first_non_finite();
}

bool Session::Impl::repeat(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           const std::stop_token& stop, RunTransaction* parent) {
  const auto& now = planner.up_to_date();  // may drop the cached run
  auto* const quick = planner.quick.get();
  if (quick == nullptr || FileMemory::any_mapped() || !quick->is_of(now) ||
      !quick->fits(inputs, outputs) || !quick->has_no_overlap(inputs, outputs))
    return false;
  auto& execution = quick->bind(inputs, outputs);
  RunTransaction whole(planner, backup, step, parent);
  execution.set_step(step++);
  const WatchedStop watched(execution, stop);
  try {
    if (!execution.changes().empty()) [[unlikely]]
      whole.save_changes(quick->planned(), !files.empty() || stop.stop_possible());
    execution.run_steps(stop);
    end_copied_process();
    execution.finish();
  } catch (...) {
    execution.abandon();
    throw;
  }
  whole.commit();
  return true;
}

std::optional<NamedTensors> Session::Impl::repeat(const NamedTensors& inputs,
                                                  const std::stop_token& stop,
                                                  RunTransaction* parent) {
  const auto* const quick = planner.quick.get();
  if (quick == nullptr || inputs.size() != quick->inputs().size()) return std::nullopt;
  std::vector<Tensor> arguments, made(quick->outputs().size());
  arguments.reserve(inputs.size());
  for (const auto& binding : quick->inputs())
    if (const auto found = inputs.find(binding.name); found != inputs.end())
      arguments.push_back(found->second);
  if (!repeat(arguments, made, stop, parent)) return std::nullopt;
  std::optional<NamedTensors> named(std::in_place);
  for (std::size_t i = 0; i < made.size(); ++i)
    named->emplace(quick->outputs()[i].name, std::move(made[i]));
  return named;
}

void Session::Impl::cache_quick_run(const SessionRun& run) {
  const bool observed = !options.trace.empty() || options.profile || options.debug;
  if (!observed && run.used_one_plan() && plans.last() != nullptr)
    planner.quick = QuickRun::of(*run.first().graph, *plans.last());
}

}  // namespace tenon
