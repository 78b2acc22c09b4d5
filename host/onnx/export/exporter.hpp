// From a graph's nodes to a model's.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <vector>

#include "graph/binding.hpp"
#include "onnx/export/node_export.hpp"

namespace tenon::onnx {

/// The operators of a model that bring their own meaning: one function for each operator, parameters and types.
class Functions {
 public:
  struct Entry {
    std::shared_ptr<std::string> name;  ///< of the function; null: it has no body
    std::string reason{};               ///< why it has none, as words that follow a sentence; may be empty
  };
  /// All, once, when everything is added: a function is called as its operator, or `rope_1` ..., but not as another operator.
  void choose_names(const Catalog& catalog);

  std::map<std::string, Entry> by_use;  ///< key: operator, parameters, types
  std::set<std::string> operators;      ///< domain and name of those that are written without a body
  std::vector<written::Function> list;
  std::size_t graphs = 0;  ///< that were written so far
};

/// What all graphs of one model have in common. Threads: one.
struct ExportJob {
  Host& host;
  std::int64_t opset;
  std::function<void(const std::string&)> note;
  Functions functions{};
};

/// Writes the nodes of one graph into a scope. Threads: one.
class GraphExport {
 public:
  /// All must outlive this. `names`: of the values that the scope has already.
  GraphExport(const GraphModel& model, const Binding& binding, Scope& scope, ExportJob& job)
      : model_(model), binding_(binding), scope_(scope), job_(job), number_(job.functions.graphs++), names_(model.values.size()) {}

  void name_value(ValueId value, std::string name) { names_[value] = std::move(name); }
  const std::string& name_of(ValueId value) const { return names_[value]; }
  /// All forward nodes that are wanted, in order; other values that they read must have names.
  void add_nodes(const std::vector<bool>& wanted);

 private:
  void add_node(NodeId id);
  ExportedNode describe(NodeId id) const;
  bool by_form(NodeExport& node, Sources& sources);
  bool are_sound(const ExportedNode& node, std::size_t first) const;
  void require_outputs(const ExportedNode& node, std::size_t first) const;
  void as_custom(const ExportedNode& node, Sources& sources);
  void add_function(NodeId id, const ExportedNode& node, const Sources& sources);
  void note_rounding(const ExportedNode& node, std::size_t first) const;
  Functions::Entry function_for(NodeId id, const ExportedNode& node, const written::Node& call, const Sources& sources);
  Functions::Entry add_body(NodeId id, const ExportedNode& node, const written::Node& call, const Sources& sources);

  const GraphModel& model_;
  const Binding& binding_;
  Scope& scope_;
  ExportJob& job_;
  const std::size_t number_;  // of this graph
  std::vector<std::string> names_;
  std::vector<bool> read_;  // values that a node or an output reads
};

/// Writes `if`, `branch`, `while`, `loop` and `scan` as If, Loop and Scan; false: the node is another one, or means what they cannot say,
/// and nothing is written.
bool write_control_flow(const ExportedNode& node, Scope& scope, ExportJob& job);

/// The domain in files of operators that have no other name there: `tenon.acme`, or `tenon` of those that come with Tenon.
std::string custom_domain(const OperatorInfo& info);

}  // namespace tenon::onnx
