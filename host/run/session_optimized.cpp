// The graph that a session runs: as it was written, or what optimization makes of it.
#include "device/devices.hpp"
#include "run/optimized_graph.hpp"
#include "run/session_impl.hpp"
#include "run/tensor_placement.hpp"
#include "tensor/held_tensor.hpp"

namespace tenon {

// Plans and kernels of another graph go.
void Session::Impl::use(std::shared_ptr<const GraphSnapshot> other) {
  if (kernels && running == other) return;
  quick.reset();
  stages.clear();
  plans = PlanCache(options.plans);
  kernels.reset();
  running = std::move(other);
  tensors.resize(model().values.size());
  for (ValueId id = 0; id < tensors.size(); ++id) {
    const auto& value = model().values[id];
    if (value.role == Role::output) tensors[id] = Tensor();
    if (value.tensor != none && !tensors[id]) tensors[id] = model().tensors[value.tensor];
  }
  kernels = std::make_unique<Kernels>(model(), binding(), host().plugins().load("tenon.cast_storage"),
                                      find_device(options.device.empty() ? "cpu" : options.device), options.precision);
  place();
}

Session::Impl::Running Session::Impl::set_aside() {
  quick.reset();
  return {running, tensors, std::move(kernels), std::exchange(plans, PlanCache(options.plans)), std::exchange(stages, {})};
}

// What ran meanwhile has failed, and changed nothing.
void Session::Impl::take_back(Running optimized) {
  quick.reset();
  plans = std::move(optimized.plans);
  kernels = std::move(optimized.kernels);
  running = std::move(optimized.graph);
  tensors = std::move(optimized.tensors);
  stages = std::move(optimized.stages);
}

void Session::Impl::place() {
  place_tensors(model(), *kernels, options.training, tensors);
  share_with_workers(model(), *kernels, options.training, tensors);
  hold_constants();
}

void Session::Impl::optimize() {
  sources.clear();
  std::vector<bool> stay(tensors.size());
  for (ValueId id = 0; id < tensors.size(); ++id) {
    if (!tensors[id] || changes(id) || tensors[id].storage() != Storage::dense) continue;
    const auto constancy = HeldTensor::constancy(tensors[id]);
    stay[id] = options.constant_weights || constancy == Constancy::always ||
               (constancy == Constancy::unless_held && !HeldTensor::is_held_outside(tensors[id]));
    if (stay[id] && constancy == Constancy::unless_held && !options.constant_weights)
      sources.emplace_back(id, HeldTensor::version(tensors[id]));
  }
  versions = HeldTensor::all_versions();
  use(optimized_graph(host(), written, options, tensors, stay));
  if (running == written) sources.clear();
}

// What was computed once of elements that an application may have written since is computed again, once nobody can write them any more.
// Until then the graph runs as it is written.
void Session::Impl::look_at_sources() {
  if (running != written && versions == HeldTensor::all_versions()) [[likely]]
    return;
  versions = HeldTensor::all_versions();
  bool held = false, changed = running == written;
  for (const auto& [value, version] : sources) {
    held = held || HeldTensor::is_held_outside(tensors[value]);
    changed = changed || HeldTensor::version(tensors[value]) != version;
  }
  if (held && running != written) use(written);
  if (!held && changed) optimize();
}

const std::shared_ptr<const Stage>& Session::Impl::stage_for(const std::vector<std::string>& outputs) {
  auto& known = stages[outputs];
  if (known) return known;
  auto stage = std::make_shared<Stage>();
  stage->graph = running;
  if (!outputs.empty()) stage->part.emplace(model(), outputs, options.training);
  stage->id = stage_count++;
  return known = std::move(stage);
}

}  // namespace tenon
