// A node's parameters: converts user-provided values to the declared kinds and checks them.
#pragma once
#include <span>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Appends a record for every declared parameter to the model, including defaults, and sets the
/// node's range. Names from older versions of the operator are mapped to the current ones.
/// Throws Failure (usage) for unknown names (with similar ones), missing required parameters, wrong
/// kinds and values out of range. The message omits the node, e.g.
/// `parameter 'scale' is -1 but must be above 0`.
void add_parameters(GraphModel& model, NodeRecord& node, const OperatorInfo& info,
                    const Attributes& attributes);

/// Checks records read from a file against the declaration, with the same error messages.
void check_parameters(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info);

/// Converts the records to the ABI's structs, which are valid until the model changes.
void fill_attributes(const GraphModel& model, const NodeRecord& node,
                     std::vector<tenon_attribute>& out);

/// Converts a record back to a user-level value.
AttributeValue value_of(const GraphModel& model, const AttributeRecord& record);

/// Returns all of the node's parameters as user-level values.
Attributes all_parameters(const GraphModel& model, const NodeRecord& node);

/// Like to_string(), for messages: lists and tensors with at most 16 elements.
std::string message_text(const AttributeValue& value);

/// Returns the ABI's kind (enum tenon_attribute_kind) of a declared kind.
std::uint32_t attribute_kind(ParamKind kind);

}  // namespace tenon
