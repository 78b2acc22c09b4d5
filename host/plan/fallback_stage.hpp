// Falls back to the original graph if a stage of the optimized one cannot be planned.
#pragma once
#include <memory>

#include "plan/stages.hpp"

namespace tenon {

/// Whether a node may have effects outside of tensors and states: it communicates, or belongs to
/// the application.
bool has_external_effects(const GraphModel& model, NodeId id, const LoadedOperator& op);

/// Returns the stage that remains of the original graph after the optimized graph's stages before
/// `rest` have run. It takes the same inputs and computes the same outputs as `rest`. Null if it
/// would repeat a node that may have side effects: one that is stateful, communicates, or belongs
/// to the application. For sessions that do not train.
std::shared_ptr<Stage> fallback_stage(const std::shared_ptr<const GraphSnapshot>& original,
                                      const Stage& rest);

}  // namespace tenon
