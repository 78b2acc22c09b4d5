// --gradient: gradients as further outputs grad_NAME.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <vector>

#include "cli/output/wanted_outputs.hpp"

namespace tenon::cli {

/// Whether inputs of that dtype have gradients.
bool has_gradient(DType dtype);
/// Those that are not empty, under these names. Throws Failure (usage) if all are: `of` says what the gradients are of.
void add_gradient_outputs(Graph& graph, const std::vector<Value>& gradients, const std::vector<std::string>& names, const std::string& of);
/// Throws Failure (usage) if --output names other outputs alone.
void require_wanted_gradient(const WantedOutputs& wanted);

}  // namespace tenon::cli
