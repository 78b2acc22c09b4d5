// ONNX models: inspection, import and export.
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

/// Whether a file should be read as an ONNX model: it begins like one, or is named *.onnx and is
/// not a .tenon file. Throws Failure (file) if it cannot be read.
TENON_API bool is_model(const std::filesystem::path& path);

/// A dimension: a size, a name (equal names mean equal sizes), or neither.
struct Dim {
  std::int64_t size = -1;  ///< -1: unknown
  std::string name{};
};

/// An input or output.
struct ValueInfo {
  std::string name;
  /// `float32 [N, 3, ?]`, `float32 [...]` if the rank is unknown, `sequence of int64 []`, `?`
  std::string type;
  std::string dtype;  ///< of a tensor: numpy's name, or ONNX's if numpy has none; else empty
  bool has_shape = false;
  std::vector<Dim> shape{};
  std::int64_t bytes = -1;  ///< -1: unknown
};

/// An operator used by nodes, including nodes of subgraphs and functions.
struct UsedOperator {
  std::string domain{};  ///< empty: standard ONNX
  std::string type{}, overload{};
  std::int64_t version = 0;  ///< the opset version of its domain that the model imports; 0: none
  std::size_t count = 0;     ///< the number of nodes
  std::string first_node{};  ///< the name of the first node; may be empty
  bool function = false;     ///< defined by a function of the model
  std::string full_name() const {
    return (domain.empty() ? "" : domain + "::") + type + (overload.empty() ? "" : ':' + overload);
  }
};

/// An operator without an implementation: no plugin, composition of other operators or function of
/// the model provides it, and no operator has its name.
struct MissingOperator {
  UsedOperator op{};  ///< with the nodes that lack an implementation
  /// why an operator of that name cannot be used: `... computes it from version 13 on ...`; empty:
  /// there is none
  std::string why{};
  std::vector<std::string> near{};  ///< similar names of operators
  std::string next_step{};          ///< what to do about it; empty if nothing is known
};

struct FunctionInfo {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::size_t nodes = 0;
};

/// A model, as described by its file.
struct ModelInfo {
  std::string graph;  ///< the graph's name
  std::int64_t ir_version = 0, model_version = 0;
  std::string producer, producer_version, domain;
  std::vector<std::pair<std::string, std::int64_t>>
      opsets{};  ///< domain and version, as in the file
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::vector<ValueInfo> inputs{}, outputs{};  ///< inputs without those that have an initializer
  /// inputs with an initializer, used if they are omitted; from IR 4 on
  std::vector<ValueInfo> defaults{};
  std::size_t nodes = 0;                  ///< of the main graph
  std::vector<UsedOperator> operators{};  ///< sorted by domain and type
  std::vector<FunctionInfo> functions{};  ///< in the file's order
  std::size_t initializers = 0, sparse_initializers = 0;
  std::uint64_t initializer_bytes = 0;  ///< of elements, including external ones
  std::size_t external_initializers = 0;
  std::uint64_t external_bytes = 0;
  /// sorted by domain and type; only from describe() with a Host
  std::vector<MissingOperator> missing{};
  std::vector<std::string> searched{};  ///< the plugin folders that were searched for `missing`
};

/// Reads a model of ONNX IR 3 to 14 and opsets 7 to 28, without its weights: the time depends on
/// the number of nodes, not on the file's size. Needs no plugins. Texts are UTF-8, but may contain
/// control characters. Throws Failure (file) with one sentence about the error.
TENON_API ModelInfo describe(const std::filesystem::path& path);

struct ImportOptions {
  std::map<std::string, Shape> shapes{};  ///< of inputs with unknown dimensions
  std::map<std::string, Tensor> fixed{};  ///< inputs that become constants
  /// from `domain::Type`, or `Type` for standard ONNX, to the operator that implements it
  std::map<std::string, std::string> map{};
  bool prefer_functions = false;  ///< use the model's functions even if plugins compute the same
  /// Read weights in other files through any symbolic link, and from files with several hard links.
  /// Otherwise only links to files in the model's folder are followed, and links of Hugging Face's
  /// cache to the `blobs` of the same repository.
  bool trust_links = false;
  /// Nodes without an implementation become nodes of operators of that name without code, as in a
  /// .tenon file whose plugins are missing: the graph can be inspected, edited and saved, but not
  /// run. The same applies to nodes whose input types are unknown for that reason. In the subgraphs
  /// of If, Loop and Scan, missing operators are still an error, since these operators run their
  /// subgraphs.
  bool keep_unknown = false;
  /// called with what was fixed or found only by its name; default: dropped
  std::function<void(const std::string&)> note{};
  /// of inputs that are sequences of tensors: the graph has an input for each element, `NAME_0`,
  /// `NAME_1` and so on
  std::map<std::string, std::int64_t> lengths{};
};

/// Like describe() above, with all operators that load() would not find with these options. Loads
/// no plugins and runs nothing.
TENON_API ModelInfo describe(Host& host, const std::filesystem::path& path,
                             const ImportOptions& options = {});

/// For messages: `2 nodes, the first 'a'; strong is near`.
TENON_API std::string describe(const MissingOperator& missing);

/// Imports the model as a graph. Every node is computed as ONNX specifies, or the model is
/// rejected: nothing is left out. Weights are trainable variables; elements that are aligned in the
/// file stay there. Constant expressions are evaluated at once. A file written by save() becomes
/// the original graph, without plugins, unless anything but its weights has changed or options are
/// set. Throws Failure: (file) with the node and the error, (plugin) with all missing operators,
/// (usage) for options that do not fit.
TENON_API Graph load(Host& host, const std::filesystem::path& path,
                     const ImportOptions& options = {});

struct ExportOptions {
  std::int64_t opset = 17;  ///< of standard ONNX operators, 13 to 24
  std::uint64_t inline_limit = std::uint64_t{256}
                               << 20;  ///< the maximum bytes of weights stored in the model itself
  std::uint64_t seed = 0;              ///< seed for uninitialized variables
  /// called with what was left out or only Tenon supports; default: dropped
  std::function<void(const std::string&)> note{};
};

/// Writes the nodes that the graph's outputs need as an ONNX model, atomically; larger weights go
/// to PATH.data next to it. A node becomes one ONNX operator if its manifest declares one, or
/// several, and otherwise a node of a domain of its own, with a function body of ONNX operators if
/// possible. Outputs that need gradients and updates of variables are not written. Numeric
/// parameters become float32; nodes with a parameter that float32 cannot represent closely stay
/// nodes of their own domain. Throws Failure: (failed), naming the node, for sparse tensors and if
/// nothing is left; (plugin) for missing operators; (usage) for an unsupported opset; (file).
TENON_API void save(const Graph& graph, const std::filesystem::path& path,
                    const ExportOptions& options = {});

}  // namespace tenon::onnx
