// The operators that a model uses.
#pragma once
#include <vector>

#include "onnx/model.hpp"

namespace tenon::onnx {

/// All nodes of one operator, that is, of one domain, type and overload.
struct OperatorUse {
  /// in file order: the main graph with its subgraphs, then the functions
  const proto::Node* first;
  std::size_t count;
};

/// All operators that the model uses, sorted by domain, type and overload. The importer checks all
/// of them up front, so that everything missing is reported at once.
std::vector<OperatorUse> operators_of(const Model& model);

}  // namespace tenon::onnx
