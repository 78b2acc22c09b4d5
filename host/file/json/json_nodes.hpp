// The nodes of a graph.json before they are added to a graph.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <utility>
#include <vector>

#include "graph/model.hpp"
#include "io/json_document.hpp"

namespace tenon {

struct JsonNode {
  JsonField field;
  std::string name, op, device;
  /// Inputs by position (empty name) or by name; an entry without a field is explicitly not
  /// connected.
  std::vector<std::pair<std::string_view, std::optional<JsonField>>> inputs;
  std::optional<JsonField> attributes;
  Pass pass = Pass::forward;
  std::optional<JsonField> origin;  ///< the forward node's name, for other passes
};

std::vector<JsonNode> read_json_nodes(const JsonField& list);

/// The order in which to build the nodes: file order, but each node after those it reads. Throws
/// Failure (file), naming the nodes, if they form a cycle.
std::vector<std::size_t> build_order(const std::vector<JsonNode>& nodes);

/// Returns whether the operator described by `info` has the parameters and inputs that the node
/// uses, in its current or an older version.
bool may_be_node(const JsonNode& node, const OperatorInfo& info);

/// Numbers keep the type they have in the text; "inf" and the like become numbers where the
/// operator declares a number.
Attributes read_json_attributes(const JsonNode& node, const OperatorInfo& info);

}  // namespace tenon
