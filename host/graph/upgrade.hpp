// Brings a node that was written for an older version of its operator up to date.
#pragma once
#include "graph/model.hpp"

namespace tenon {

/// Applies the manifest's renamed() and added() rules of every version after `stored`: parameters get their new names, new ones their
/// defaults. Throws Failure (plugin) where the node is newer than the operator that is here.
void upgrade(GraphModel& model, NodeRecord& node, int stored, const OperatorInfo& info);

}  // namespace tenon
