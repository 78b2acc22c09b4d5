// graph.json: a graph as human-readable text.
//   {"tenon": 1, "name": text, "inputs": {name: {dtype, shape}},
//    "variables": {name: {init, dtype, shape, values or npy}},
//    "constants": {...}, "states": {...}, "nodes": [{name, op, inputs, attrs, device}],
//    "outputs": {name: value}, "notes": {key: text}, "graphs": {name: a graph like this one}}
// A parameter that is a graph is written inline, or as {"graph": name}.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "graph/builder.hpp"

namespace tenon {

/// The origin of a text.
struct JsonSource {
  std::string label = "graph.json";  // for messages
  std::filesystem::path folder;      // base folder of npy files
};

/// Builds the graph that the text describes; nodes may stand in any order. Throws Failure with the
/// position in the text: of kind `file` if the text itself is wrong, of the builder's kind if
/// operators, parameters or shapes do not fit.
void read_graph_json(std::string_view text, const JsonSource& source, GraphModel& model,
                     GraphBuilder& builder, const Catalog& catalog);

/// Writes every default and every value's name. Reading the text gives the same graph, and that
/// graph gives the same text. Extensions of other programs, which are bytes, are not written.
std::string write_graph_json(const GraphModel& model);

}  // namespace tenon
