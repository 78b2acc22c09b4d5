// graph.json: a graph as people write it.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "graph/builder.hpp"

namespace tenon {

/// Adds everything the text says to an empty graph. `folder` is where its npy files are looked for. Nodes may stand in any order. Throws
/// Failure: file for text that is no JSON (with line and column) or says what it may not (with the way to it and near names), plugin for
/// operators that are missing (all at once), and what GraphBuilder throws.
void read_graph_json(std::string_view text, const std::filesystem::path& folder, GraphModel& model, GraphBuilder& builder,
                     const Catalog& catalog);

/// The canonical text of a graph: reading it and writing it again gives the same bytes. Tensors of up to 64 elements are written as values;
/// of larger ones only dtype, shape and init, for they belong into .tenon files.
std::string write_graph_json(const GraphModel& model);

}  // namespace tenon
