// Where nodes are put: the graph of a model, or the body of a function.
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
  /// Of a graph in a node of `outer`, which must outlive it: no name of one is a name of the other.
  explicit Scope(Scope& outer) : opsets(outer.opsets), kind_(Kind::function), limits_(outer.limits_), outer_(&outer) {}

  /// A name that no value and no node of this scope has yet: `wanted`, or `wanted_1` ...
  std::string free_name(std::string_view wanted);
  /// The same for a node with one output of its name; no node that is still to come has it.
  std::string free_node_name(std::string_view wanted);
  void reserve_node(std::string_view name) { node_names_.emplace(name); }
  /// False: it is taken.
  bool take(std::string_view name);

  void add(written::Node node, std::int64_t version);
  /// The version of a custom domain in which the form holds, and all that were written before; nothing if there is none.
  std::optional<std::int64_t> version_for(const OnnxForm& form) const;
  /// From now on what holds in a graph of a node holds here.
  void adopt(const Scope& inner) { opsets = inner.opsets, limits_ = inner.limits_; }
  /// From now on the form must hold.
  void limit(const OnnxForm& form);
  /// A value that is always the same: an initializer in a graph, the output of a Constant in a function. The same elements are one value.
  std::string constant(std::string_view wanted, const Tensor& elements);

  /// All that the scope has at one moment.
  struct Mark {
    std::size_t nodes, initializers, names, constants;
    written::Opsets opsets, limits;
  };
  Mark mark() const { return {nodes.size(), initializers.size(), outermost().taken_.size(), shared_.size(), opsets, limits_}; }
  /// Takes back what was added after the mark.
  void roll_back(const Mark& mark);

  std::vector<written::Node> nodes;
  std::vector<std::pair<std::string, Tensor>> initializers;
  written::Opsets opsets;  ///< of the nodes

 private:
  const Scope& outermost() const { return outer_ == nullptr ? *this : outer_->outermost(); }
  Scope& outermost() { return outer_ == nullptr ? *this : outer_->outermost(); }

  Kind kind_;
  std::map<std::string, std::int64_t> limits_;  // the last version of a domain that all forms have
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> node_names_;
  std::map<std::string, std::string> constants_;  // names of small ones by dtype, shape and bytes
  std::vector<std::string> taken_, shared_;       // keys of names_ and constants_, in the order in which they came
  Scope* outer_ = nullptr;                        // who has the names
};

}  // namespace tenon::onnx
