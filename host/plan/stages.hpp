// Staged planning for data-dependent shapes: each stage is planned when the values that its shapes
// depend on have been computed.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace tenon {

/// A graph, or what remains of it after earlier stages, whose results become inputs. Most graphs
/// have one stage.
struct Stage {
  std::uint64_t id = 0;  ///< unique within the session
  std::shared_ptr<const GraphSnapshot> graph;
  std::optional<RequestedOutputs> subgraph;  ///< nullopt: the whole graph
  std::vector<tenon_type>
      types;  ///< of all values, as known from earlier stages; empty: as declared
  /// inputs, variables and states whose elements inference may read
  std::vector<ValueId> readable;

  const GraphModel& model() const { return graph->model; }
  const RequestedOutputs* requested_outputs() const { return subgraph ? &*subgraph : nullptr; }
  bool is_readable(ValueId value) const;
};

/// Prefix of the names of outputs that a stage produces for later ones; the later input has the
/// rest of the name.
inline constexpr char for_later = '\x1f';

/// A stage, cut before the nodes that depend on sizes that kernels determine, or whose inference
/// needs elements. `later` is null if there are none; then `now` is the whole stage.
struct CutStage {
  std::shared_ptr<const Stage> now;
  std::shared_ptr<Stage> later;
};
CutStage cut(const std::shared_ptr<const Stage>& stage, const Inferred& inferred, bool training);

/// Returns the stage without the computation of the values that planning has evaluated: the caller
/// passes these to a run of the plan like inputs.
std::shared_ptr<const Stage> without_evaluated(std::shared_ptr<const Stage> stage,
                                               const std::map<ValueId, Tensor>& evaluated);

/// Returns the names of the nodes of a later stage.
std::vector<std::string> node_names(const Stage& stage);

}  // namespace tenon
