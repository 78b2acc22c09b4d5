// graph.json: a graph as text for people.
//   {"tenon": 1, "name": text, "inputs": {name: {dtype, shape}}, "variables": {name: {init, dtype, shape, values or npy}},
//    "constants": {...}, "states": {...}, "nodes": [{name, op, inputs, attrs, device}], "outputs": {name: value}, "notes": {key: text},
//    "graphs": {name: a graph like this one}}
// A parameter that is a graph is written as one, or as {"graph": name}.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "graph/builder.hpp"

namespace tenon {

/// Where a text comes from.
struct JsonSource {
  std::string label = "graph.json";  // for messages
  std::filesystem::path folder;      // where npy files are looked for
};

/// Builds the graph that the text describes; nodes may stand in any order. Throws Failure with the place in the text: of kind file where
/// the text itself is wrong, of the builder's kind where operators, parameters or shapes do not fit.
void read_graph_json(std::string_view text, const JsonSource& source, GraphModel& model, GraphBuilder& builder, const Catalog& catalog);

/// Every default written out, every value by its name. Reading it gives the same graph, and that graph the same text. Extensions of other
/// programs, which are bytes, stay behind.
std::string write_graph_json(const GraphModel& model);

}  // namespace tenon
