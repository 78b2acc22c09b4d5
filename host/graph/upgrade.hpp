// Upgrades nodes written for an older version of an operator to the installed one, using only
// manifests.
#pragma once
#include "graph/model.hpp"

namespace tenon {

/// Whether all nodes that use operator record `op` can run on this description.
bool fits(const GraphModel& model, std::uint32_t op, const OperatorInfo& here);

/// Throws Failure (plugin) if the nodes were made for a newer version, or for an older one that
/// cannot be upgraded. The message names the version they need, the installed one, and what
/// changed.
void require_upgradable(const OperatorInfo& stored, const OperatorInfo& here);

/// Applies all changes since the stored version: parameters get new names and values, new optional
/// inputs stay unconnected, new states have no value yet, new outputs are added. The operator's
/// record is not changed. After a Failure the model is unchanged.
/// `may_move`: whether values may be renumbered, as new outputs require; if not, those are refused.
void upgrade(GraphModel& model, std::uint32_t op, const OperatorInfo& here, bool may_move);

}  // namespace tenon
