#include "run/session/renamed_run.hpp"

#include <algorithm>
#include <utility>

#include "graph/name_mapping.hpp"
#include "run/session/session_run.hpp"

namespace tenon {

std::optional<RenamedRun> RenamedRun::of(const GraphModel& model, const NamedTensors& inputs,
                                         const RunOptions& request) {
  const auto colon = [](const std::string& name) { return name.find(':') != std::string::npos; };
  const auto any = [&](const auto& named) {
    return std::any_of(named.begin(), named.end(),
                       [&](const auto& entry) { return colon(entry.first); });
  };
  if (!any(inputs) && !any(request.destinations) &&
      std::none_of(request.outputs.begin(), request.outputs.end(), colon))
    return {};
  RenamedRun run{inputs, request};
  const auto outputs = output_names_of(model);
  const auto renamed_inputs = graph_names(model, input_names_of(model), inputs),
             destinations = graph_names(model, outputs, request.destinations);
  rename_keys(run.inputs, renamed_inputs);
  rename_keys(run.request.destinations, destinations);
  for (const auto& [user_name, graph_name] : destinations)
    run.requested.emplace(graph_name, user_name);
  for (auto& name : run.request.outputs)
    if (auto graph_name = graph_output_name(model, name); graph_name != name)
      run.requested.emplace(graph_name, std::exchange(name, graph_name));
  if (renamed_inputs.empty() && run.requested.empty()) return {};
  if (const auto& callback = output_callback(request); callback && !run.requested.empty())
    run.request.on_output_ready = [callback, names = run.requested](const std::string& output) {
      const auto renamed = names.find(output);
      callback(renamed == names.end() ? output : renamed->second);
    };
  return run;
}

void RenamedRun::name(NamedTensors& outputs) const {
  rename_keys(outputs, requested);
}

}  // namespace tenon
