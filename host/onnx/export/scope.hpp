// The destination of nodes: the graph of a model, or the body of a function.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "onnx/export/message.hpp"

namespace tenon::onnx {

class Scope {
 public:
  enum class Kind { graph, function };
  explicit Scope(Kind kind) : kind_(kind) {}
  /// A subgraph of `outer`, which must outlive it; the names of both are distinct.
  explicit Scope(Scope& outer)
      : opsets(outer.opsets), kind_(Kind::function), limits_(outer.limits_), outer_(&outer) {}

  /// A name not used by any value or node of this scope: `base`, or `base_1` and so on.
  std::string free_name(std::string_view base);
  /// Also avoids the reserved names of nodes; for a node that shares its name with its one output.
  std::string free_node_name(std::string_view base);
  void reserve_node(std::string_view name) { node_names_.emplace(name); }
  /// Reserves a name; returns false if it is taken.
  bool take(std::string_view name);

  void add(written::Node node, std::int64_t version);
  /// The version of a custom domain in which the form and all forms written so far apply; nothing
  /// if there is none.
  std::optional<std::int64_t> version_for(const OnnxForm& form) const;
  /// Takes over the opsets and limits of a subgraph.
  void adopt(const Scope& inner) { opsets = inner.opsets, limits_ = inner.limits_; }
  /// Restricts the domain's version to those in which the form applies.
  void limit(const OnnxForm& form);
  /// Adds a constant: an initializer in a graph, a Constant node in a function. Small equal
  /// constants are shared.
  std::string constant(std::string_view base, const Tensor& elements);

  /// The state of a scope at one moment.
  struct Mark {
    std::size_t nodes, initializers, names, constants;
    written::Opsets opsets, limits;
  };
  Mark mark() const {
    return {nodes.size(), initializers.size(), outermost().taken_.size(), shared_.size(), opsets,
            limits_};
  }
  /// Removes everything that was added since the mark.
  void roll_back(const Mark& mark);

  std::vector<written::Node> nodes;
  std::vector<std::pair<std::string, Tensor>> initializers;
  written::Opsets opsets;  ///< that the nodes use

 private:
  const Scope& outermost() const { return outer_ == nullptr ? *this : outer_->outermost(); }
  Scope& outermost() { return outer_ == nullptr ? *this : outer_->outermost(); }

  Kind kind_;
  // per domain, the last version in which all forms apply
  std::map<std::string, std::int64_t> limits_;
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> node_names_;
  // names of small constants by dtype, shape and bytes
  std::map<std::string, std::string> constants_;
  std::vector<std::string> taken_, shared_;  // keys of names_ and constants_ in insertion order
  Scope* outer_ = nullptr;                   // owner of the names
};

}  // namespace tenon::onnx
