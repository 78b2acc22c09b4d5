#include "plan/passes.hpp"

#include <utility>

namespace tenon {

void run_passes(PlanDraft& draft, std::string_view last) {
  for (const auto& pass : plan_passes) {
    pass.run(draft);
    if (pass.name == last) return;
  }
}

std::shared_ptr<const Plan> make_plan(std::shared_ptr<const GraphSnapshot> graph,
                                      const Kernels& kernels, const TensorTable& tensors,
                                      std::vector<tenon_type> types, const PlanRequest& request) {
  PlanDraft draft(std::move(graph), kernels, tensors, std::move(types), request);
  run_passes(draft);
  return std::move(draft.plan);
}

}  // namespace tenon
