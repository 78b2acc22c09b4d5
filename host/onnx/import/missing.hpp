// Which operators of a model nothing here computes.
#pragma once
#include <tenon/host/catalog.hpp>
#include <tenon/host/onnx.hpp>

#include "onnx/model.hpp"

namespace tenon::onnx {

/// Of the opset that the node belongs to; custom domains that are not imported count as version 1, and ONNX's own as 0, which has nothing.
std::int64_t version_of(const proto::Node& node, List<proto::OpsetImport> imports);

/// The operator that Tenon's exporter names in full: domain tenon.acme and type rope, or domain tenon for those that come with it.
const CatalogOperator* find_as_written(const Catalog& catalog, const proto::Node& node);
/// The operator that has the name of a custom domain's node, if its inputs and attributes have places there: a plugin's author wrote both.
const CatalogOperator* find_by_name(const Catalog& catalog, const proto::Node& node);
/// What is against it; empty: nothing.
std::string why_not_named(const OperatorInfo& info, const proto::Node& node);

/// Of the graph with its subgraphs, and of the functions that it needs: by domain and type, before anything is imported. Whether an
/// operator that is there takes a node's attributes is not asked.
std::vector<MissingOperator> missing_operators(const Catalog& catalog, const Model& model, const ImportOptions& options);

/// All of them in one sentence. Kind: plugin. `kept`: nodes of the graph itself were kept, so that these are in graphs of nodes.
Failure refuse_missing(const Catalog& catalog, const Model& model, const std::vector<MissingOperator>& missing, bool kept);

}  // namespace tenon::onnx
