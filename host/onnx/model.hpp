// What an ONNX file says, as plain structs: protobuf's messages without protobuf. Texts, elements and whole tensors are views into the
// file's memory; lists lie in the model's arena.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <variant>

#include "file/tenon/tenon_file.hpp"
#include "onnx/arena.hpp"

namespace tenon::onnx {

/// Named as in onnx.proto; apart from tenon::Graph, tenon::Tensor and so on.
namespace proto {

struct Graph;

/// A dimension: a size, a name (equal names mean equal sizes), or neither.
struct Dim {
  std::int64_t size = -1;  ///< -1: not known
  std::string_view name{};
};

enum class TypeKind : std::uint8_t { unknown, tensor, sparse_tensor, sequence, map, optional, opaque };

struct Type {
  TypeKind kind = TypeKind::unknown;
  bool has_shape = false;         ///< of tensors: else not even the rank is known
  std::int32_t dtype = 0;         ///< ONNX's number (dtype.hpp) of tensors' elements or a map's keys; 0: not known
  List<Dim> dims{};               ///< of tensors
  const Type* element = nullptr;  ///< of sequences and optionals, and a map's values; null: not said
};

struct ValueInfo {
  std::string_view name;
  const Type* type = nullptr;  ///< null: not said
};

/// Another file's part. The three texts as they stand in the model are checked when the file is opened (external_data.hpp).
struct External {
  std::string_view location;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool has_length = false;  ///< else up to the end of the file
};

enum class TensorData : std::uint8_t {
  none,     ///< no bytes: right for tensors without elements alone
  raw,      ///< little-endian elements
  typed,    ///< float_data, int32_data ...: read from the message by TensorReader
  external  ///< in another file
};

/// A tensor whose dtype, dimensions and number of bytes fit together, but for typed data, which are counted when they are read.
struct Tensor {
  std::string_view name;
  std::int32_t dtype = 0;  ///< ONNX's number (dtype.hpp)
  TensorData data = TensorData::none;
  List<std::int64_t> dims{};           ///< none negative, their product fits 64 bits
  std::string_view bytes{};            ///< raw: the elements. typed: the whole message
  const External* external = nullptr;  ///< of external ones
};

/// Values at some places, all others are zero. COO: `values` [n], `indices` [n] (of flattened elements) or [n, rank].
struct SparseTensor {
  const Tensor* values = nullptr;   ///< never null; its name is the sparse tensor's
  const Tensor* indices = nullptr;  ///< null only where there are no values
  List<std::int64_t> dims{};
};

/// ONNX's numbers.
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
  AttributeKind kind = AttributeKind::undefined;  ///< never undefined in a model that was read
  std::string_view ref_attr_name{};               ///< in a function: the attribute of the calling node that gives the value. Else empty
  /// Of `kind`, in the order of its numbers; std::monostate where there is a ref_attr_name. Strings may be any bytes.
  std::variant<std::monostate, float, std::int64_t, std::string_view, const Tensor*, const Graph*, List<float>, List<std::int64_t>,
               List<std::string_view>, List<Tensor>, List<Graph>, const SparseTensor*, List<SparseTensor>, const Type*, List<Type>>
      value{};
};

struct Node {
  std::string_view name;                    ///< may be empty, and need not be unique
  std::string_view domain, type, overload;  ///< an empty domain is ONNX's own; "ai.onnx" is read as empty
  List<std::string_view> inputs{};          ///< empty: an optional one is left out
  List<std::string_view> outputs{};         ///< empty: nobody wants it
  List<Attribute> attributes{};             ///< of different names
};

/// No two of its nodes' outputs, inputs and initializers have one name, except that an initializer may give an input's default.
struct Graph {
  std::string_view name;
  List<Node> nodes{};
  List<ValueInfo> inputs{}, outputs{}, value_infos{};
  List<Tensor> initializers{};
  List<SparseTensor> sparse_initializers{};
};

/// A set of operators: a domain (empty: ONNX's own) and its version.
struct OpsetImport {
  std::string_view domain;
  std::int64_t version = 0;
};

/// An operator that is a graph of others. No two of a model have the same domain, name and overload, and none calls itself, not even
/// through others.
struct Function {
  std::string_view domain, name, overload;
  List<std::string_view> inputs{}, outputs{};
  List<std::string_view> attributes{};   ///< that a node must give
  List<Attribute> attribute_defaults{};  ///< others that it may give
  List<Node> nodes{};
  List<OpsetImport> opset_imports{};
  List<ValueInfo> value_infos{};
};

struct Metadata {
  std::string_view key, value;
};

}  // namespace proto

/// A file, read and checked. Moving it moves no entry.
struct Model {
  std::filesystem::path path;
  std::shared_ptr<const void> owner;  ///< of the file's bytes
  std::shared_ptr<Arena> arena;       ///< of the lists
  bool may_change = false;            ///< the bytes may be written to by others: tensors' indices must be copied before they are checked
  std::string_view bytes;             ///< the whole file

  std::int64_t ir_version = 0, model_version = 0;
  std::string_view producer_name, producer_version, domain;
  List<proto::OpsetImport> opset_imports;
  List<proto::Metadata> metadata;
  proto::Graph graph;
  List<proto::Function> functions;
  List<const proto::Function*> functions_by_name;  ///< for function()
  bool has_training = false;                       ///< training_info, which nothing here uses

  /// 0 where the model does not import the domain.
  std::int64_t opset(std::string_view domain) const;
  /// Null where the model has none of that name.
  const proto::Function* function(std::string_view domain, std::string_view type, std::string_view overload) const;
};

/// Throws Failure (file) with one sentence about what is wrong. Tensors' elements are not looked at; see TensorReader (tensor_data.hpp).
/// A file of more than `map_above` bytes is mapped.
Model read_model(const std::filesystem::path& path, std::uint64_t map_above = FileMemory::most_read);
/// A file that is in memory already.
Model read_model(const FileBytes& file);

/// Calls visit(node) for each node of the list and, after it, for those of the graphs in its attributes. The reader limits their depth.
template <class Visit>
void for_each_node(List<proto::Node> nodes, const Visit& visit) {
  for (const auto& node : nodes) {
    visit(node);
    for (const auto& attribute : node.attributes) {
      if (const auto* const graph = std::get_if<const proto::Graph*>(&attribute.value)) for_each_node((*graph)->nodes, visit);
      if (const auto* const graphs = std::get_if<List<proto::Graph>>(&attribute.value))
        for (const auto& graph : *graphs) for_each_node(graph.nodes, visit);
    }
  }
}

}  // namespace tenon::onnx
