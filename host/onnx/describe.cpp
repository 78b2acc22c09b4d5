// Implementation of tenon::onnx::describe().
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>

#include "io/open_file.hpp"
#include "io/system_reason.hpp"
#include "onnx/dtype.hpp"
#include "onnx/fields.hpp"
#include "onnx/import/missing.hpp"
#include "onnx/memory.hpp"
#include "onnx/model.hpp"

namespace tenon::onnx {
namespace {

std::string dim_text(const proto::Dim& dim) {
  return dim.size >= 0 ? std::to_string(dim.size) : dim.name.empty() ? "?" : std::string(dim.name);
}

std::string type_text(const proto::Type* type) {
  if (type == nullptr) return "?";
  switch (type->kind) {
    case proto::TypeKind::unknown:
      return "?";
    case proto::TypeKind::opaque:
      return "opaque";
    case proto::TypeKind::sequence:
      return "sequence of " + type_text(type->element);
    case proto::TypeKind::optional:
      return "optional " + type_text(type->element);
    case proto::TypeKind::map:
      return "map from " + element_type_name(type->dtype) + " to " + type_text(type->element);
    case proto::TypeKind::tensor:
    case proto::TypeKind::sparse_tensor:
      break;
  }
  std::string text = type->has_shape ? "" : "...";
  for (const auto& dim : type->dims) text += (text.empty() ? "" : ", ") + dim_text(dim);
  return (type->kind == proto::TypeKind::tensor ? "" : "sparse ") + element_type_name(type->dtype) +
         " [" + text + "]";
}

// Returns -1 if a dimension is unknown or the size overflows.
std::int64_t bytes_of(const proto::Type& type) {
  const auto* const element = element_type(type.dtype);
  if (element == nullptr || element->bits == 0 || !type.has_shape) return -1;
  std::int64_t bits = element->bits;
  for (const auto& dim : type.dims)
    if (dim.size < 0 || __builtin_mul_overflow(bits, dim.size, &bits)) return -1;
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

ValueInfo describe(const proto::ValueInfo& value) {
  ValueInfo info{std::string(value.name), type_text(value.type), {}};
  if (value.type == nullptr || value.type->kind != proto::TypeKind::tensor) return info;
  info.dtype = element_type_name(value.type->dtype);
  info.has_shape = value.type->has_shape;
  for (const auto& dim : value.type->dims) info.shape.push_back({dim.size, std::string(dim.name)});
  info.bytes = bytes_of(*value.type);
  return info;
}

std::uint64_t bytes_of(const proto::Tensor& tensor) {
  std::int64_t count = 1;  // the reader has checked that this does not overflow
  for (const auto dim : tensor.dims) count *= dim;
  return element_type(tensor.dtype)->raw_bytes(count);
}

void add(ModelInfo& info, const proto::Tensor& tensor) {
  const auto bytes = bytes_of(tensor);
  info.initializer_bytes += bytes;
  if (tensor.data != proto::TensorData::external) return;
  ++info.external_initializers;
  info.external_bytes += bytes;
}

// The public description of a value takes more memory than its entry in the arena.
void charge_values(Budget& budget, List<proto::ValueInfo> values) {
  // twice, because vectors over-allocate as they grow
  budget.charge(values.size(), 2 * sizeof(ValueInfo), "inputs and outputs");
  for (const auto& value : values)
    if (value.type != nullptr)
      budget.charge(value.type->dims.size(), 3 * sizeof(Dim), "dimensions");
}

void describe_values(const Model& model, ModelInfo& info) {
  const auto& graph = model.graph;
  charge_values(model.arena->budget(), graph.inputs);
  charge_values(model.arena->budget(), graph.outputs);
  DistinctNames initialized(
      graph.initializers.size() + graph.sparse_initializers.size() + graph.inputs.size(),
      model.arena->budget());
  for (const auto& tensor : graph.initializers) initialized.add(tensor.name), add(info, tensor);
  for (const auto& tensor : graph.sparse_initializers) {
    initialized.add(tensor.values->name);
    add(info, *tensor.values);
    if (tensor.indices != nullptr) info.initializer_bytes += bytes_of(*tensor.indices);
  }
  for (const auto& input : graph.inputs) {
    if (initialized.add(input.name)) info.inputs.push_back(describe(input));
    // before IR 4, every initializer is also listed as an input but is still a constant
    else if (model.ir_version >= 4)
      info.defaults.push_back(describe(input));
  }
  for (const auto& output : graph.outputs) info.outputs.push_back(describe(output));
  info.initializers = graph.initializers.size(),
  info.sparse_initializers = graph.sparse_initializers.size();
}

std::vector<std::string> texts(List<std::string_view> views) {
  return {views.begin(), views.end()};
}

/// Returns up to 16 bytes. Throws Failure (file) if the file cannot be read.
std::string first_bytes(const std::filesystem::path& path) {
  const auto file = OpenFile::for_reading(path);
  std::string bytes(16, '\0');
  const auto count = ::pread(file.descriptor(), bytes.data(), bytes.size(), 0);
  if (count < 0) throw file_failure("read", path, system_reason(errno));
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

/// Whether these are the first bytes of a .tenon file.
bool is_tenon_start(std::string_view bytes) {
  return bytes.starts_with("\x89TENON");
}

/// Whether these can be the first bytes of an ONNX model: a ModelProto field with its proper wire
/// type. Text never matches: graph.json begins with a brace, which is not such a field.
bool is_model_start(std::string_view bytes) {
  using namespace field::model;
  constexpr unsigned char varint = 0, length_delimited = 2;
  constexpr unsigned char starts[] = {ir_version << 3U | varint,
                                      producer_name << 3U | length_delimited,
                                      producer_version << 3U | length_delimited,
                                      domain << 3U | length_delimited,
                                      model_version << 3U | varint,
                                      graph << 3U | length_delimited,
                                      opset_import << 3U | length_delimited};
  return bytes.size() > 1 && std::find(std::begin(starts), std::end(starts),
                                       static_cast<unsigned char>(bytes[0])) != std::end(starts);
}

}  // namespace

static ModelInfo describe(const Model& model) {
  ModelInfo info;
  info.graph = model.graph.name;
  info.ir_version = model.ir_version, info.model_version = model.model_version;
  info.producer = model.producer_name, info.producer_version = model.producer_version,
  info.domain = model.domain;
  for (const auto& opset : model.opset_imports)
    info.opsets.emplace_back(opset.domain, opset.version);
  for (const auto& entry : model.metadata) info.metadata.emplace_back(entry.key, entry.value);
  info.nodes = model.graph.nodes.size();
  describe_values(model, info);
  const auto uses = operators_of(model);
  auto& budget = model.arena->budget();
  budget.charge(uses.size(), sizeof(UsedOperator), "operators");
  info.operators.reserve(uses.size());
  for (const auto& use : uses) {
    const auto& node = *use.first;
    info.operators.push_back({std::string(node.domain), std::string(node.type),
                              std::string(node.overload), model.opset(node.domain), use.count,
                              std::string(node.name),
                              model.function(node.domain, node.type, node.overload) != nullptr});
  }
  budget.charge(model.functions.size(), sizeof(FunctionInfo), "functions");
  info.functions.reserve(model.functions.size());
  for (const auto& function : model.functions) {
    budget.charge(function.inputs.size() + function.outputs.size() + function.attributes.size() +
                      function.attribute_defaults.size(),
                  2 * sizeof(std::string), "names");
    auto attributes = texts(function.attributes);
    for (const auto& attribute : function.attribute_defaults)
      attributes.emplace_back(attribute.name);
    info.functions.push_back({std::string(function.domain), std::string(function.name),
                              std::string(function.overload), texts(function.inputs),
                              texts(function.outputs), attributes, function.nodes.size()});
  }
  return info;
}

ModelInfo describe(const std::filesystem::path& path) {
  return describe(read_model(path));
}

ModelInfo describe(Host& host, const std::filesystem::path& path, const ImportOptions& options) {
  const auto model = read_model(path);
  const auto catalog = host.catalog();
  auto info = describe(model);
  info.missing = missing_operators(catalog, model, options);
  for (const auto& folder : catalog.searched()) info.searched.push_back(folder.string());
  return info;
}

bool is_model(const std::filesystem::path& path) {
  const auto start = first_bytes(path);
  return is_model_start(start) || (path.extension() == ".onnx" && !is_tenon_start(start));
}

}  // namespace tenon::onnx
