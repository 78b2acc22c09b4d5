// Which operators a model uses.
#pragma once
#include <vector>

#include "onnx/model.hpp"

namespace tenon::onnx {

/// The nodes of one operator: of one domain, type and overload.
struct OperatorUse {
  const proto::Node* first;  ///< in the order of the file: the graph with its subgraphs, then the functions
  std::size_t count;
};

/// All that nodes use, sorted by domain, type and overload. Whoever imports asks for each of these at once what it has in its place, so
/// that everything that is missing is told together.
std::vector<OperatorUse> operators_of(const Model& model);

}  // namespace tenon::onnx
