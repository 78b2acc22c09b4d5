// Placeholder operators for nodes that nothing can compute.
#pragma once
#include <deque>
#include <map>
#include <string>

#include "graph/builder.hpp"

namespace tenon::onnx {

class NodeImport;

/// Adds nodes as in a .tenon file whose plugin is missing: with a manifest, generated from the
/// node, but without an implementation. The manifest's ONNX form records what the node was.
class Placeholders {
 public:
  Placeholders(GraphModel& model, Binding& binding) : model_(model), binding_(binding) {}

  bool empty() const { return operators_.empty(); }
  /// Adds the node and returns its outputs. `types`: their declared types; `inputs`: `none` for
  /// omitted ones. Throws Failure (file) for attributes that a parameter cannot hold.
  std::vector<ValueId> add(NodeImport& node, const std::string& name,
                           const std::vector<ValueId>& inputs,
                           const std::vector<tenon_type>& types);

 private:
  std::uint32_t operator_for(NodeImport& node);

  GraphModel& model_;
  Binding& binding_;
  std::deque<LoadedOperator> operators_;
  std::map<std::string, std::uint32_t> by_manifest_;  // operators of the model
  std::map<std::string, int> names_;                  // number of operators with each name
};

}  // namespace tenon::onnx
