// Graphs whose shapes follow from elements: they are planned part by part, each when what its shapes follow from has been computed.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace tenon {

/// A graph, or what is left of it once earlier stages have run: what they made are inputs of it. Most graphs have one stage.
struct Stage {
  std::uint64_t id = 0;  ///< no other stage of the session has it
  std::shared_ptr<const GraphSnapshot> graph;
  std::optional<WantedOutputs> part;  ///< nothing: all of the graph
  std::vector<tenon_type> types;      ///< of all values, as earlier stages know them; empty: as they are declared
  std::vector<ValueId> seen;          ///< inputs, variables and states whose elements inference sees

  const GraphModel& model() const { return graph->model; }
  const WantedOutputs* wanted() const { return part ? &*part : nullptr; }
  bool sees(ValueId value) const;
};

/// What begins the name of an output that a stage makes for later ones; their input has the rest of the name.
inline constexpr char for_later = '\x1f';

/// A stage, cut before the nodes that depend on what kernels allocate, or whose inference waits for elements. `later` is null where there
/// are none: `now` is the stage then.
struct CutStage {
  std::shared_ptr<const Stage> now;
  std::shared_ptr<Stage> later;
};
CutStage cut(const std::shared_ptr<const Stage>& stage, const Inferred& inferred, bool training);

/// The stage without what planning has computed: the caller gives these values to a run of the plan like inputs.
std::shared_ptr<const Stage> without(std::shared_ptr<const Stage> stage, const std::map<ValueId, Tensor>& evaluated);

/// Of the nodes of a later stage.
std::vector<std::string> node_names(const Stage& stage);

}  // namespace tenon
