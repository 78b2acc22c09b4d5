// Runs that are short because they are like the last one, by places or by names.
#include <fmt/format.h>

#include "io/crash/crash_handler.hpp"
#include "io/file_memory.hpp"
#include "run/given_run.hpp"
#include "run/session_impl.hpp"
#include "run/watched_stop.hpp"

namespace tenon {

bool Session::Impl::repeat(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop) {
  if (!quick || FileMemory::any_mapped() || !quick->fits(inputs, outputs) || !quick->apart(inputs, outputs)) return false;
  auto& execution = quick->bind(inputs, outputs);
  const auto number = step++;
  execution.set_step(number);
  const WatchedStop watched(execution, stop);
  try {
    if (!execution.changes().empty()) [[unlikely]]
      back_up(execution, stop);
    execution.run_steps(stop);
    end_copied_process();
    execution.finish();
    backup.forget();
    return true;
  } catch (...) {
    execution.abandon();
    backup.put_back();
    step = number;
    throw;
  }
}

void Session::Impl::remember(int stages) {
  const bool plain = options.trace.empty() && !options.profile && !options.debug && stages == 1 && !overlapped;
  if (plain && plans.last() != nullptr) quick = QuickRun::of(*stage_for({}), *plans.last());
}

void Session::Impl::run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop) {
  const auto& names = written->model;  // whatever runs in its place has these inputs and outputs
  const auto count = [](const char* what, std::size_t given, std::size_t needed) {
    if (given != needed) throw Failure(FailureKind::usage, fmt::format("{} {} are given but the graph has {}", given, what, needed));
  };
  count("inputs", inputs.size(), names.inputs.size());
  count("outputs", outputs.size(), names.outputs.size());
  require_current_constants();
  if (repeat(inputs, outputs, stop)) return;
  NamedTensors given;
  RunOptions options_of_run{.stop = stop};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) given.emplace(names.strings[names.values[names.inputs[i]].name], inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) options_of_run.destinations.emplace(names.strings[names.outputs[i].first], Destination{outputs[i]});
  int stages_run = 0;
  auto made = run(given, options_of_run, stages_run);
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = made.at(std::string(names.strings[names.outputs[i].first]));
  remember(stages_run);
}

bool Session::run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop) {
  const Impl::Use use(impl_);
  impl_->run_in_order(inputs, outputs, stop);
  return impl_->quick != nullptr;  // of this run, whose outputs the plan knows
}

std::optional<NamedTensors> Session::Impl::repeat(const NamedTensors& inputs, const std::stop_token& stop) {
  if (quick) require_current_constants();  // which may drop it
  if (!quick || inputs.size() != quick->inputs().size()) return std::nullopt;
  std::vector<Tensor> given, made(quick->outputs().size());
  given.reserve(inputs.size());
  for (const auto& place : quick->inputs())
    if (const auto found = inputs.find(place.name); found != inputs.end()) given.push_back(found->second);
  if (!repeat(given, made, stop)) return std::nullopt;
  std::optional<NamedTensors> named(std::in_place);
  for (std::size_t i = 0; i < made.size(); ++i) named->emplace(quick->outputs()[i].name, std::move(made[i]));
  return named;
}

NamedTensors Session::run(const NamedTensors& inputs, const RunOptions& request) {
  const Impl::Use use(impl_);
  const bool plain = request.outputs.empty() && request.destinations.empty() && !request.finished;
  if (plain)
    if (auto made = impl_->repeat(inputs, request.stop)) return *std::move(made);
  int stages = 0;
  const auto given = GivenRun::of(impl_->model(), inputs, request);
  auto made = given ? impl_->run(given->inputs, given->request, stages) : impl_->run(inputs, request, stages);
  if (given) given->name(made);
  if (plain) impl_->remember(stages);
  return made;
}

}  // namespace tenon
