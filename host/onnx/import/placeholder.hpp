// Operators that stand for nodes which nothing here computes.
#pragma once
#include <deque>
#include <map>
#include <string>

#include "graph/builder.hpp"

namespace tenon::onnx {

class NodeImport;

/// Adds nodes as a .tenon file has those whose plugin is missing: with a manifest, which is made from the node here, and without code. It
/// says by its ONNX form what the node was.
class Placeholders {
 public:
  Placeholders(GraphModel& model, Binding& binding) : model_(model), binding_(binding) {}

  bool empty() const { return operators_.empty(); }
  /// The values of all its outputs. `types`: what is said of those; `inputs`: none where one is left out. Throws Failure (file) for
  /// attributes that no parameter can hold.
  std::vector<ValueId> add(NodeImport& node, const std::string& name, const std::vector<ValueId>& inputs,
                           const std::vector<tenon_type>& types);

 private:
  std::uint32_t operator_for(NodeImport& node);

  GraphModel& model_;
  Binding& binding_;
  std::deque<LoadedOperator> operators_;
  std::map<std::string, std::uint32_t> by_manifest_;  // operators of the model
  std::map<std::string, int> names_;                  // how many there are of each
};

}  // namespace tenon::onnx
