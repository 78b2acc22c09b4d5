// Runs by places instead of names.
#include <fmt/format.h>

#include "io/crash/crash_handler.hpp"
#include "io/file_memory.hpp"
#include "run/session_impl.hpp"
#include "run/watched_stop.hpp"

namespace tenon {

void Session::Impl::run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop) {
  const auto& names = written->model;  // whatever runs in its place has these inputs and outputs
  const auto count = [](const char* what, std::size_t given, std::size_t needed) {
    if (given != needed) throw Failure(FailureKind::usage, fmt::format("{} {} are given but the graph has {}", given, what, needed));
  };
  count("inputs", inputs.size(), names.inputs.size());
  count("outputs", outputs.size(), names.outputs.size());
  require_current_constants();
  if (quick && !FileMemory::any_mapped() && quick->fits(inputs, outputs) && quick->stays() && quick->apart(inputs, outputs)) {
    auto& execution = quick->bind(inputs, outputs);
    execution.set_step(step++);
    const WatchedStop watched(execution, stop);
    try {
      execution.run_steps(stop);
      end_copied_process();
      return execution.finish();
    } catch (...) {
      execution.abandon();
      throw;
    }
  }
  NamedTensors given;
  RunOptions options_of_run{.stop = stop};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) given.emplace(names.strings[names.values[names.inputs[i]].name], inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) options_of_run.destinations.emplace(names.strings[names.outputs[i].first], Destination{outputs[i]});
  const auto number = step++;
  int stages_run = 0;
  auto made = run(given, options_of_run, number, stages_run);
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = made.at(std::string(names.strings[names.outputs[i].first]));
  const bool plain = options.trace.empty() && !options.profile && !options.debug && stages_run == 1 && !overlapped;
  if (plain && plans.last() != nullptr) quick = QuickRun::of(*stage_for({}), *plans.last());
}

void Session::run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop) {
  const Impl::Use use(impl_);
  impl_->run_in_order(inputs, outputs, stop);
}

}  // namespace tenon
