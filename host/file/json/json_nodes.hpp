// The nodes of a graph.json, before they are nodes of a graph.
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
  /// By position (empty name) or by name; without a field: said to be not connected.
  std::vector<std::pair<std::string_view, std::optional<JsonField>>> inputs;
  std::optional<JsonField> attributes;
  Pass pass = Pass::forward;
  std::optional<JsonField> origin;  ///< the forward node's name, of the other passes
};

std::vector<JsonNode> read_json_nodes(const JsonField& list);

/// The order to build them in: as they stand, but each after those it reads. Throws Failure (file) that names the nodes of a circle.
std::vector<std::size_t> build_order(const std::vector<JsonNode>& nodes);

/// Whether an operator of this description has the parameters and inputs that the node names, today or in an older version.
bool may_be_node(const JsonNode& node, const OperatorInfo& info);

/// Numbers stay what they are in the text; "inf" and its like become numbers where the operator declares a number.
Attributes read_json_attributes(const JsonNode& node, const OperatorInfo& info);

}  // namespace tenon
