// The graph that becomes the body of an ONNX function.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/builder.hpp"
#include "onnx/export/node_export.hpp"

namespace tenon::onnx {

struct BodyGraph {
  explicit BodyGraph(PluginSet& plugins) : builder(model, binding, plugins) {}

  GraphModel model;
  Binding binding;
  GraphBuilder builder;
  std::vector<ValueId> inputs, outputs;  ///< `none` for an input that is not connected
};

/// Expresses what the operator computes as nodes: one level of its composition, or the recorded
/// steps of its elementwise function. Returns null if there is neither; `reason` then says why, or
/// stays empty for operators that are not expected to have a body. Failures of a composed operator
/// propagate.
std::unique_ptr<BodyGraph> body_of(const LoadedOperator& op, const void* object,
                                   const ExportedNode& node, std::string& reason);

}  // namespace tenon::onnx
