// The subgraph that computes the requested outputs.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// The subgraph to run: the requested outputs and, in training, the requested updates of variables.
struct RequestedOutputs {
  RequestedOutputs() = default;
  /// Throws Failure (usage) for a name that is not in the graph.
  RequestedOutputs(const GraphModel& model, std::span<const std::string> names, bool training);

  std::vector<std::pair<StringId, ValueId>> outputs;
  std::vector<std::pair<ValueId, ValueId>> updates;
  std::vector<bool> values, nodes;  // whether a requested output needs it
  // number of trailing outputs that only later stages read: they stay on their device and are
  // planned under internal names
  std::size_t device_output_count = 0;
  std::vector<ValueId> evaluated;  // computed during planning; not produced by the run
  bool partial = true;             // false: all outputs; stateful nodes then also run in training
};

/// Returns the inputs that these outputs need; all inputs if `outputs` is empty. Throws like
/// RequestedOutputs.
std::vector<ValueId> needed_inputs(const GraphModel& model, std::span<const std::string> outputs,
                                   bool training);

}  // namespace tenon
