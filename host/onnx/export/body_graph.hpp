// The graph that the body of a function is written from.
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
  std::vector<ValueId> inputs, outputs;  ///< none: an input that is not connected
};

/// What the operator computes, as nodes: those that it is composed of, one level of them, or the steps of its function. Null where there
/// is neither; `reason` then says why, or is empty where nobody expects one. Throws Failure of a composed operator.
std::unique_ptr<BodyGraph> body_of(const LoadedOperator& op, const void* object, const ExportedNode& node, std::string& reason);

}  // namespace tenon::onnx
