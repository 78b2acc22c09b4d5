// Brings the nodes of an operator that were written for an older version of it up to date, from manifests alone.
#pragma once
#include "graph/model.hpp"

namespace tenon {

/// Whether all nodes of the operator with that number in the model can run on this description.
bool fits(const GraphModel& model, std::uint32_t op, const OperatorInfo& here);

/// Throws Failure (plugin) if the nodes were made for a newer version, or for an older one from which nothing leads to this one: the
/// version that they need, the one that is here, and what changed.
void require_known_change(const OperatorInfo& stored, const OperatorInfo& here);

/// Applies what the description says of every version after the stored one: parameters get their new names and values, optional inputs
/// that came since are not connected, states that came since have no value yet, outputs that came since are made. The record of the
/// operator stays as it is. After a Failure the model is as it was.
/// may_move: whether values may get other numbers, as they do where a node has more outputs than before; else that is refused.
void upgrade(GraphModel& model, std::uint32_t op, const OperatorInfo& here, bool may_move);

}  // namespace tenon
