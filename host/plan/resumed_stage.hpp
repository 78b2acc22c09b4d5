// Going on with the original graph where a stage of the optimized one cannot be planned.
#pragma once
#include <memory>

#include "plan/stages.hpp"

namespace tenon {

/// What is left of the original graph when the stages of the optimized one before `rest` have run: a stage that takes the same inputs, and
/// computes the same outputs. Null if that would call a node again that may have an effect: one that keeps states, communicates, or belongs
/// to the application. Of a session that does not train.
std::shared_ptr<Stage> resumed(const std::shared_ptr<const GraphSnapshot>& original, const Stage& rest);

}  // namespace tenon
