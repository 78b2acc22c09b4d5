// The contents of an ONNX file as plain structs that mirror the protobuf messages. Strings,
// elements and whole tensors are views into the file's memory; lists live in the model's arena.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "file/tenon/tenon_file.hpp"
#include "onnx/memory.hpp"

namespace tenon::onnx {

/// Names follow onnx.proto; the namespace separates them from tenon::Graph, tenon::Tensor and so
/// on.
namespace proto {

struct Graph;

/// A dimension: a size, a name (equal names mean equal sizes), or neither.
struct Dim {
  std::int64_t size = -1;  ///< -1: unknown
  std::string_view name{};
};

enum class TypeKind : std::uint8_t {
  unknown,
  tensor,
  sparse_tensor,
  sequence,
  map,
  optional,
  opaque
};

struct Type {
  TypeKind kind = TypeKind::unknown;
  bool has_shape = false;  ///< of tensors; if false, the rank is unknown, too
  /// ONNX element type (dtype.hpp) of a tensor, or of a map's keys; 0: unknown
  std::int32_t dtype = 0;
  List<Dim> dims{};  ///< of tensors
  /// element type of a sequence or optional, value type of a map; null: unspecified
  const Type* element = nullptr;
};

struct ValueInfo {
  std::string_view name;
  const Type* type = nullptr;  ///< null: unspecified
};

/// A range of bytes in an external data file. The location is validated when the file is opened
/// (external_data.hpp).
struct External {
  std::string_view location;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool has_length = false;  ///< if false, the data extends to the end of the file
};

enum class TensorData : std::uint8_t {
  none,     ///< no data; valid only for tensors without elements
  raw,      ///< little-endian elements
  typed,    ///< float_data, int32_data ...: decoded from the message by TensorReader
  external  ///< in another file
};

/// A tensor whose dtype, dimensions and data size are consistent. Typed data is counted only when
/// it is read.
struct Tensor {
  std::string_view name;
  std::int32_t dtype = 0;  ///< ONNX element type (dtype.hpp)
  TensorData data = TensorData::none;
  List<std::int64_t> dims{};           ///< non-negative; their product fits 64 bits
  std::string_view bytes{};            ///< raw: the elements. typed: the whole message
  const External* external = nullptr;  ///< set for external data only
};

/// A sparse tensor in COO format: `values` [n], and `indices` [n] (into the flattened tensor) or
/// [n, rank].
struct SparseTensor {
  const Tensor* values = nullptr;   ///< never null; carries the sparse tensor's name
  const Tensor* indices = nullptr;  ///< null only if there are no values
  List<std::int64_t> dims{};
};

/// ONNX's AttributeProto.AttributeType numbers.
enum class AttributeKind : std::uint8_t {
  undefined = 0,
  f = 1,
  i = 2,
  s = 3,
  tensor = 4,
  graph = 5,
  floats = 6,
  ints = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14
};

/// `std::get<std::int64_t>(attribute.value)`, `std::get_if<List<float>>(&attribute.value)`.
struct Attribute {
  std::string_view name;
  AttributeKind kind = AttributeKind::undefined;  ///< never undefined after reading
  /// in a function: the calling node's attribute that provides the value; else empty
  std::string_view ref_attr_name{};
  /// Alternatives follow the numbers of `kind`; std::monostate if ref_attr_name is set. Strings are
  /// arbitrary bytes.
  std::variant<std::monostate, float, std::int64_t, std::string_view, const Tensor*, const Graph*,
               List<float>, List<std::int64_t>, List<std::string_view>, List<Tensor>, List<Graph>,
               const SparseTensor*, List<SparseTensor>, const Type*, List<Type>>
      value{};
};

struct Node {
  std::string_view name;  ///< may be empty, need not be unique
  /// an empty domain is ONNX's default; "ai.onnx" is read as empty
  std::string_view domain, type, overload;
  List<std::string_view> inputs{};   ///< an empty name marks an omitted optional input
  List<std::string_view> outputs{};  ///< an empty name marks an unused output
  List<Attribute> attributes{};      ///< names are unique
};

/// The names of node outputs, inputs and initializers are unique, except that an initializer may
/// provide an input's default.
struct Graph {
  std::string_view name;
  List<Node> nodes{};
  List<ValueInfo> inputs{}, outputs{}, value_infos{};
  List<Tensor> initializers{};
  List<SparseTensor> sparse_initializers{};
};

/// An operator set: a domain (empty: ONNX's default) and its version.
struct OpsetImport {
  std::string_view domain;
  std::int64_t version = 0;
};

/// An operator defined as a graph of others. Domain, name and overload are unique in a model, and
/// no function calls itself, directly or through others.
struct Function {
  std::string_view domain, name, overload;
  List<std::string_view> inputs{}, outputs{};
  List<std::string_view> attributes{};   ///< required attributes
  List<Attribute> attribute_defaults{};  ///< optional attributes with defaults
  List<Node> nodes{};
  List<OpsetImport> opset_imports{};
  List<ValueInfo> value_infos{};
};

struct Metadata {
  std::string_view key, value;
};

}  // namespace proto

/// A model that was read and validated. Moving it does not move its entries.
struct Model {
  std::filesystem::path path;
  std::shared_ptr<const void> owner;  ///< keeps the file's bytes alive
  std::shared_ptr<Arena> arena;       ///< holds the lists
  bool may_change = false;            ///< others may write: copy indices before validating them
  std::string_view bytes;             ///< the whole file

  std::int64_t ir_version = 0, model_version = 0;
  std::string_view producer_name, producer_version, domain;
  List<proto::OpsetImport> opset_imports;
  List<proto::Metadata> metadata;
  proto::Graph graph;
  List<proto::Function> functions;
  List<const proto::Function*> functions_by_name;  ///< for function()
  bool has_training = false;                       ///< has training_info, which is ignored

  /// Returns 0 if the model does not import the domain.
  std::int64_t opset(std::string_view domain) const;
  /// Returns null if the model has no such function.
  const proto::Function* function(std::string_view domain, std::string_view type,
                                  std::string_view overload) const;
};

/// Throws Failure (file) with a one-sentence reason. Tensor elements are not read; see TensorReader
/// (tensor_data.hpp). Files larger than `map_above` bytes are mapped.
Model read_model(const std::filesystem::path& path, std::uint64_t map_above = FileMemory::max_read);
/// Reads a file that is already in memory.
Model read_model(const FileBytes& file);

/// Calls visit(node) for each node and then for the nodes of its subgraphs. The reader limits the
/// nesting depth.
template <class Visit>
void for_each_node(List<proto::Node> nodes, const Visit& visit) {
  for (const auto& node : nodes) {
    visit(node);
    for (const auto& attribute : node.attributes) {
      if (const auto* const graph = std::get_if<const proto::Graph*>(&attribute.value))
        for_each_node((*graph)->nodes, visit);
      if (const auto* const graphs = std::get_if<List<proto::Graph>>(&attribute.value))
        for (const auto& graph : *graphs) for_each_node(graph.nodes, visit);
    }
  }
}

/// Fills Model::functions_by_name. Throws Failure (file) if two functions have the same domain,
/// name and overload.
void index_functions(Model& model);
/// Throws Failure (file) with the call path if a function calls itself, directly or through others.
void refuse_cycles(const Model& model);

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
