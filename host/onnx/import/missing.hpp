// Finds a model's operators that nothing can compute.
#pragma once
#include <tenon/host/catalog.hpp>
#include <tenon/host/onnx.hpp>

#include "onnx/model.hpp"

namespace tenon::onnx {

/// Version of the opset that the node belongs to. Custom domains that are not imported count as
/// version 1; ONNX's own as 0, which has no operators.
std::int64_t version_of(const proto::Node& node, List<proto::OpsetImport> imports);

/// The operator that Tenon's exporter wrote: domain tenon.acme and type rope, or domain tenon for
/// bundled operators.
const CatalogOperator* find_exported(const Catalog& catalog, const proto::Node& node);
/// The operator with the same name as a custom domain's node, if it has matching inputs and
/// parameters; the plugin's author probably defined both.
const CatalogOperator* find_by_name(const Catalog& catalog, const proto::Node& node);
/// Why it does not match; empty if it does.
std::string name_mismatch(const OperatorInfo& info, const proto::Node& node);

/// Missing operators of the graph with its subgraphs and of the functions it needs, sorted by
/// domain and type, before anything is imported. Whether an operator supports the attributes of a
/// node is not checked.
std::vector<MissingOperator> missing_operators(const Catalog& catalog, const Model& model,
                                               const ImportOptions& options);

/// One error of kind plugin that lists all of them. `keep_unknown`: unknown nodes of the main graph
/// were kept, so these are in subgraphs.
Failure refuse_missing(const Catalog& catalog, const Model& model,
                       const std::vector<MissingOperator>& missing, bool keep_unknown);

}  // namespace tenon::onnx
