// What of a graph some of its values need.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Part of a graph that is to run: the outputs asked for, and in training the updates of variables that are among them.
struct WantedOutputs {
  WantedOutputs() = default;
  /// Throws Failure (usage) for a name that the graph does not have.
  WantedOutputs(const GraphModel& model, std::span<const std::string> names, bool training);

  std::vector<std::pair<StringId, ValueId>> outputs;
  std::vector<std::pair<ValueId, ValueId>> updates;
  std::vector<bool> values, nodes;  // of each: something wanted needs it
  std::size_t staying = 0;          // the last outputs that are for later stages: they stay where they are made, and planning names them
  std::vector<ValueId> evaluated;   // what planning has computed: nothing that runs produces it
  bool partial = true;              // nodes run for these outputs alone; else those that keep states run in training, too
};

/// The inputs that these outputs need; all of the graph's where none is named. Throws as WantedOutputs.
std::vector<ValueId> needed_inputs(const GraphModel& model, std::span<const std::string> outputs, bool training);

}  // namespace tenon
