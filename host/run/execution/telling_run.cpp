#include "run/execution/telling_run.hpp"

#include <string>
#include <unordered_map>
#include <vector>

#include "run/execution/step_walk.hpp"

namespace tenon {
namespace {

/// Calls visit(value) for each state that a step may change and each value that it makes.
template <class Visit>
void for_each_write(const Plan& plan, std::uint32_t step, const Visit& visit) {
  const auto& node = plan.node(step);
  const auto& forward = forward_of(plan.model(), node);
  for (std::uint32_t i = 0; i < forward.state_count; ++i) visit(plan.model().edges[forward.first_edge + forward.input_count + i]);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if (plan.write(step, i) != TENON_WRITE_NONE) visit(node.first_output + i);
}

/// For each step the outputs that it completes, of those that it writes where they are wanted.
std::vector<std::vector<std::string>> completed_by_steps(const Execution& execution, const Destinations& destinations,
                                                         const NamedTensors& outputs) {
  const auto& plan = execution.plan();
  const auto& model = plan.model();
  std::unordered_map<ValueId, std::size_t> last_writes;
  for (std::uint32_t step = 0; step < plan.step_count(); ++step)
    for_each_write(plan, step, [&](ValueId value) { last_writes[plan.memory.root[value]] = step; });
  std::vector<std::vector<std::string>> completed(plan.step_count());
  for (const auto& [name, value] : model.outputs) {
    const std::string wanted(model.strings[name]);
    const auto destination = destinations.find(wanted);
    if (destination == destinations.end() || outputs.at(wanted).data() != destination->second.tensor.data()) continue;
    const auto last = last_writes.find(plan.memory.root[value]);
    if (last != last_writes.end()) completed[last->second].push_back(wanted);
  }
  return completed;
}

}  // namespace

void run_telling(Execution& execution, const Destinations& destinations, const NamedTensors& outputs, const RunOptions& request) {
  const auto completed = completed_by_steps(execution, destinations, outputs);
  StepWalk walk(execution);
  const auto& steps = execution.start();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    stop_where_asked(request.stop);
    walk.call(steps[i]);
    for (const auto& name : completed[i]) request.finished(name);
  }
}

}  // namespace tenon
