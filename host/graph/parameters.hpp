// A node's parameters: from what people write to what the operator declares, checked.
#pragma once
#include <span>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Appends a record for every parameter the operator declares, defaults written out, to the model; sets the node's range. A name that the
/// operator has had in an older version is taken for what became of it.
/// Throws Failure (usage) for unknown names (with near ones), missing required, wrong kinds and values out of range; the message is a
/// reason without the node, e.g. `parameter 'scale' is -1 but must be above 0`.
void add_parameters(GraphModel& model, NodeRecord& node, const OperatorInfo& info, const Attributes& attributes);

/// Checks the records that a file gave against the declaration, in the same words.
void check_parameters(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info);

/// The records as the boundary's structs. Valid while the model is not changed.
void fill_attributes(const GraphModel& model, const NodeRecord& node, std::vector<tenon_attribute>& out);

/// The record as people write it.
AttributeValue value_of(const GraphModel& model, const AttributeRecord& record);

/// All of the node's parameters, as people write them.
Attributes all_parameters(const GraphModel& model, const NodeRecord& node);

/// The boundary's kind (enum tenon_attribute_kind) of a declared kind.
std::uint32_t attribute_kind(ParamKind kind);

}  // namespace tenon
