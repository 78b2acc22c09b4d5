// --gradient: gradients as additional outputs grad_NAME.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <vector>

#include "cli/output/requested_outputs.hpp"

namespace tenon::cli {

/// Returns whether inputs of the dtype have gradients.
bool has_gradient(DType dtype);
/// Adds the gradients that are not empty as outputs with these names. Throws Failure (usage) if all
/// are empty; `of` names the differentiated value in the error.
void add_gradient_outputs(Graph& graph, const std::vector<Value>& gradients,
                          const std::vector<std::string>& names, const std::string& of);
/// Throws Failure (usage) if --output names only outputs that are not gradients.
void require_requested_gradient(const RequestedOutputs& requested);

}  // namespace tenon::cli
