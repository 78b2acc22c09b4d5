// Converts a graph's nodes to ONNX nodes.
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

/// The model's functions: one per operator, parameter values and types.
class Functions {
 public:
  struct Entry {
    std::shared_ptr<std::string> name;  ///< name of the function; null if there is no body
    /// why there is no body, as a suffix for the note about the node; may be empty
    std::string reason{};
  };
  /// Called once, after all functions were added. A function is named after its operator, or
  /// `rope_1` and so on if there are several, but never like another operator.
  void choose_names(const Catalog& catalog);

  std::map<std::string, Entry> by_use;  ///< key: operator, parameters, types
  std::set<std::string> operators;      ///< domain and name of operators without a body
  std::vector<written::Function> list;
  std::size_t graphs = 0;  ///< number of graphs exported so far
};

/// State shared by all graphs of one model. Not thread-safe.
struct ExportJob {
  Host& host;
  std::int64_t opset;
  std::function<void(const std::string&)> note;
  Functions functions{};
};

/// Writes the nodes of one graph into a scope. Not thread-safe.
class GraphExport {
 public:
  /// All arguments must outlive this object. `names`: names of values that already exist in the
  /// scope.
  GraphExport(const GraphModel& model, const Binding& binding, Scope& scope, ExportJob& job)
      : model_(model),
        binding_(binding),
        scope_(scope),
        job_(job),
        number_(job.functions.graphs++),
        names_(model.values.size()) {}

  void name_value(ValueId value, std::string name) { names_[value] = std::move(name); }
  const std::string& name_of(ValueId value) const { return names_[value]; }
  /// Adds all requested forward nodes in order; other values that they read must have names
  /// already.
  void add_nodes(const std::vector<bool>& requested);

 private:
  void add_node(NodeId id);
  ExportedNode describe(NodeId id) const;
  bool by_form(NodeExport& node, Sources& sources);
  bool are_sound(const ExportedNode& node, std::size_t first) const;
  void require_outputs(const ExportedNode& node, std::size_t first) const;
  void as_custom(const ExportedNode& node, Sources& sources);
  void add_function(NodeId id, const ExportedNode& node, const Sources& sources);
  void note_rounding(const ExportedNode& node, std::size_t first) const;
  Functions::Entry function_for(NodeId id, const ExportedNode& node, const written::Node& call,
                                const Sources& sources);
  Functions::Entry add_body(NodeId id, const ExportedNode& node, const written::Node& call,
                            const Sources& sources);

  const GraphModel& model_;
  const Binding& binding_;
  Scope& scope_;
  ExportJob& job_;
  const std::size_t number_;  // index of this graph in the model
  std::vector<std::string> names_;
  std::vector<bool> read_;  // whether a node or an output reads the value
};

/// Writes `if`, `branch`, `while`, `loop` and `scan` as If, Loop and Scan. Returns false and writes
/// nothing for other nodes and for nodes that these operators cannot express.
bool write_control_flow(const ExportedNode& node, Scope& scope, ExportJob& job);

/// Domain of operators that have no ONNX equivalent: `tenon.acme` for space acme, `tenon` for the
/// bundled ones.
std::string custom_domain(const OperatorInfo& info);

}  // namespace tenon::onnx
