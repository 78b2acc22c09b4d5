// ONNX models: what is in a file, graphs from them, and files of graphs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/graph.hpp>
#include <utility>
#include <vector>

namespace tenon::onnx {

/// Whether a file is to be read as an ONNX model: its first bytes are those of one, or it is called *.onnx and is no .tenon file. Throws
/// Failure (file) where it cannot be read.
TENON_API bool is_model(const std::filesystem::path& path);

/// A dimension: a size, a name (equal names mean equal sizes), or neither.
struct Dim {
  std::int64_t size = -1;  ///< -1: not known
  std::string name{};
};

/// An input or output.
struct ValueInfo {
  std::string name;
  std::string type;   ///< `float32 [N, 3, ?]`, `float32 [...]` without a rank, `sequence of int64 []`, `?`
  std::string dtype;  ///< of a tensor: numpy's name, or ONNX's for what numpy lacks; else empty
  bool has_shape = false;
  std::vector<Dim> shape{};
  std::int64_t bytes = -1;  ///< -1: not known
};

/// An operator that nodes use, those of subgraphs and functions among them.
struct UsedOperator {
  std::string domain{};  ///< empty: ONNX's own
  std::string type{}, overload{};
  std::int64_t version = 0;  ///< of its domain's opset that the model imports; 0: it imports none
  std::size_t count = 0;     ///< of nodes
  std::string first_node{};  ///< the name of the first of them; may be empty
  bool function = false;     ///< the model says itself what it does
  std::string full_name() const { return (domain.empty() ? "" : domain + "::") + type + (overload.empty() ? "" : ':' + overload); }
};

/// An operator that nothing here computes: no plugin, no composition of others, no function of the model, no name.
struct MissingOperator {
  UsedOperator op{};  ///< with the nodes that are not computed
  std::string why{};  ///< why what has the name cannot be used: `... computes it from version 13 on ...`; empty: nothing has it
  std::vector<std::string> near{};  ///< names of operators within a typing slip
  std::string next_step{};          ///< what to do about it; empty if nothing is known
};

struct FunctionInfo {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::size_t nodes = 0;
};

/// A model as its file describes it.
struct ModelInfo {
  std::string graph;  ///< its name
  std::int64_t ir_version = 0, model_version = 0;
  std::string producer, producer_version, domain;
  std::vector<std::pair<std::string, std::int64_t>> opsets{};  ///< domain and version, as the file has them
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::vector<ValueInfo> inputs{}, outputs{};  ///< inputs without those that have an initializer
  std::vector<ValueInfo> defaults{};           ///< inputs that have one, for where they are not given; from IR 4 on
  std::size_t nodes = 0;                       ///< of the graph itself
  std::vector<UsedOperator> operators{};       ///< by domain and type
  std::vector<FunctionInfo> functions{};       ///< in the file's order
  std::size_t initializers = 0, sparse_initializers = 0;
  std::uint64_t initializer_bytes = 0;  ///< of elements, external ones included
  std::size_t external_initializers = 0;
  std::uint64_t external_bytes = 0;
  std::vector<MissingOperator> missing{};  ///< by domain and type; of describe() with a Host
  std::vector<std::string> searched{};     ///< the plugin folders that this was found in
};

/// Reads a model of ONNX's IR 3 to 14 and opsets 7 to 28, without its weights: a file of any size takes as long as its nodes. No plugin is
/// needed. Texts are UTF-8, but may hold control characters. Throws Failure (file) with one sentence about what is wrong.
TENON_API ModelInfo describe(const std::filesystem::path& path);

struct ImportOptions {
  std::map<std::string, Shape> shapes{};     ///< of inputs, where the model leaves dimensions open
  std::map<std::string, Tensor> fixed{};     ///< inputs that become constants
  std::map<std::string, std::string> map{};  ///< `domain::Type`, or `Type` of ONNX's own, to the operator that stands for it
  bool prefer_functions = false;             ///< the model's functions, where plugins compute the same, too
  /// Reads weights in other files behind any symbolic link, and from files with several names. Without it: links to files in the model's
  /// folder, and those of Hugging Face's cache to the `blobs` of the same repository.
  bool trust_links = false;
  /// Nodes that nothing computes become nodes of operators of that name without code, as in a .tenon file whose plugins are missing: the
  /// graph can be looked at, edited and saved, and does not run. So do nodes that read values of types that are not known for that reason.
  /// In the graphs of If, Loop and Scan they are missed all the same: what computes these runs their graphs.
  bool keep_unknown = false;
  std::function<void(const std::string&)> note{};  ///< what was fixed, or found by its name alone; default: dropped
};

/// The same, and all operators that load() would miss with these options. No plugin is loaded for it, and nothing runs.
TENON_API ModelInfo describe(Host& host, const std::filesystem::path& path, const ImportOptions& options = {});

/// For people: `2 nodes, the first 'a'; strong is near`.
TENON_API std::string describe(const MissingOperator& missing);

/// The model as a graph. Every node is computed as ONNX says, or the model is refused: nothing is left out. Weights are variables, which
/// can be trained; where their elements are aligned in the file they stay there. What follows from constants is computed at once. A file
/// that save() wrote becomes the graph that it was, without plugins, unless something but its weights has changed or the options say
/// something. Throws Failure: (file) with the node and what is wrong with it, (plugin) with all operators that are missing, (usage) for
/// options that do not fit.
TENON_API Graph load(Host& host, const std::filesystem::path& path, const ImportOptions& options = {});

struct ExportOptions {
  std::int64_t opset = 17;                                ///< of ONNX's own operators, 13 to 24
  std::uint64_t inline_limit = std::uint64_t{256} << 20;  ///< bytes of weights up to which they stand in the model itself
  std::uint64_t seed = 0;                                 ///< of variables that have no elements yet
  std::function<void(const std::string&)> note{};         ///< what was left out, or what only Tenon knows; default: dropped
};

/// Writes what the graph's outputs need as an ONNX model, completely or not at all; larger weights go to PATH.data beside it. Nodes are
/// ONNX's operators where manifests say so, or several of them, and else nodes of a domain of their own, with a body of ONNX's operators
/// where there is one. Outputs that need gradients are not written, nor are updates of variables. Numbers that are parameters become
/// float32; those that none is near stay with nodes of their own. Throws Failure: (failed) that names the node for sparse tensors, and
/// where nothing is left; (plugin) for operators that are missing; (usage) for an opset that cannot be written; (file).
TENON_API void save(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options = {});

}  // namespace tenon::onnx
