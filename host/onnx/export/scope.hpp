// Where nodes are put: the graph of a model, or the body of a function.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/export/message.hpp"

namespace tenon::onnx {

class Scope {
 public:
  enum class Kind { graph, function };
  explicit Scope(Kind kind) : kind_(kind) {}

  /// A name that no value and no node of this scope has yet: `wanted`, or `wanted_1` ...
  std::string free_name(std::string_view wanted);
  /// False: it is taken.
  bool take(std::string_view name) { return names_.emplace(name).second; }

  void add(written::Node node, std::int64_t version);
  /// A value that is always the same: an initializer in a graph, the output of a Constant in a function. The same elements are one value.
  std::string constant(std::string_view wanted, const Tensor& elements);

  std::vector<written::Node> nodes;
  std::vector<std::pair<std::string, Tensor>> initializers;
  written::Opsets opsets;  ///< of the nodes

 private:
  Kind kind_;
  std::set<std::string, std::less<>> names_;
  std::vector<std::pair<std::string, Tensor>> constants_;  // small ones, for sharing
};

}  // namespace tenon::onnx
