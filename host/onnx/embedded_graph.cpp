#include "onnx/embedded_graph.hpp"

#include <fmt/format.h>
#include <nettle/base64.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "device/memory.hpp"
#include "file/tenon/layout.hpp"
#include "file/tenon/tenon_file.hpp"
#include "graph/inference/type.hpp"
#include "onnx/dtype.hpp"
#include "onnx/tensor_data.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon::onnx {
namespace {

// metadata key of the embedded graph; its value is one name per line
constexpr std::string_view constants_note = "constants of an ONNX file";

bool has_elements(const ValueRecord& value) {
  return value.role == Role::variable || value.role == Role::state || value.role == Role::constant;
}

/// Serializes a model canonically for the digest, without node names, shape hints and the elements
/// of the initializers in `without`.
class Canonical {
 public:
  explicit Canonical(std::unordered_set<std::string_view> without) : without_(std::move(without)) {}

  void add(const Model& model) {
    for (const auto& opset : model.opset_imports) add(opset.domain), add(opset.version);
    add(model.graph);
    for (const auto& function : model.functions) {
      add(function.domain), add(function.name), add(function.inputs), add(function.outputs),
          add(function.attributes);
      add(function.attribute_defaults), add(function.nodes);
    }
  }
  std::string text() const {
    return fmt::format(
        "{:016x}",
        layout::checksum({reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()}));
  }

 private:
  void add(std::int64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void add(float number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void add(std::monostate) {}
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  void add(const List<T>& list) {
    add(static_cast<std::int64_t>(list.size()));
    for (const auto& one : list) add(one);
  }
  template <class T>
  void add(const T* one) {
    if (one != nullptr) add(*one);
  }
  void add(const proto::Type& type) {
    add(static_cast<std::int64_t>(type.kind)), add(std::int64_t{type.dtype});
    for (const auto& dim : type.dims) add(dim.size);
    add(type.element);
  }
  void add(const proto::Tensor& tensor) {
    add(tensor.name), add(std::int64_t{tensor.dtype}), add(tensor.dims);
    if (!without_.contains(tensor.name))
      add(tensor.bytes), add(static_cast<std::int64_t>(tensor.data));
  }
  void add(const proto::SparseTensor& tensor) {
    add(tensor.values), add(tensor.indices), add(tensor.dims);
  }
  void add(const proto::ValueInfo& value) { add(value.name), add(value.type); }
  void add(const proto::Attribute& attribute) {
    add(attribute.name), add(attribute.ref_attr_name),
        add(static_cast<std::int64_t>(attribute.kind));
    std::visit([&](const auto& value) { add(value); }, attribute.value);
  }
  void add(const proto::Node& node) {
    add(node.domain), add(node.type), add(node.overload), add(node.inputs), add(node.outputs),
        add(node.attributes);
  }
  void add(const proto::Graph& graph) {
    add(graph.nodes), add(graph.inputs), add(graph.outputs), add(graph.initializers),
        add(graph.sparse_initializers);
  }

  std::unordered_set<std::string_view> without_;
  std::string bytes_;
};

std::string digest(const Model& model, const GraphModel& graph) {
  std::unordered_set<std::string_view> weights;
  for (const auto& value : graph.values)
    if (has_elements(value)) weights.insert(graph.strings[value.name]);
  Canonical canonical(std::move(weights));
  canonical.add(model);
  return canonical.text();
}

std::string_view entry(const Model& model, std::string_view key) {
  for (const auto& one : model.metadata)
    if (one.key == key) return one.value;
  return {};
}

std::optional<GraphModel> decoded(const Model& model, std::string_view text) {
  const auto file = from_base64(text, model.path);
  return file ? std::make_optional(read_tenon(*file, FileCheck::everything)) : std::nullopt;
}

// Removes the constants' names from the metadata and returns them.
std::unordered_set<std::string> take_constants(GraphModel& graph) {
  std::unordered_set<std::string> constants;
  std::erase_if(graph.meta, [&](const auto& note) {
    if (graph.strings[note.first] != constants_note) return false;
    const std::string_view lines = graph.strings[note.second];
    for (std::size_t begin = 0; begin < lines.size();) {
      const auto end = std::min(lines.find('\n', begin), lines.size());
      constants.emplace(lines.substr(begin, end - begin));
      begin = end + 1;
    }
    return true;
  });
  return constants;
}

void take_elements(GraphModel& graph, const Model& model, bool trust_links) {
  std::unordered_map<std::string_view, const proto::Tensor*> initializers;
  for (const auto& tensor : model.graph.initializers) initializers.emplace(tensor.name, &tensor);
  TensorReader reader(model, trust_links);
  const auto constants = take_constants(graph);
  for (auto& value : graph.values) {
    if (!has_elements(value)) continue;
    const auto name = graph.strings[value.name];
    const auto found = initializers.find(name);
    if (found == initializers.end())
      throw Failure(FailureKind::file, fmt::format("the model has no initializer '{}'", name));
    auto elements = reader.read(*found->second);
    const auto type = type_of(elements);
    if (to_string(type) != to_string(value.type))
      throw Failure(FailureKind::file,
                    fmt::format("initializer '{}' is {}, but the embedded graph needs {}", name,
                                to_string(type), to_string(value.type)));
    if (constants.contains(std::string(name))) value.role = Role::constant;
    value.tensor = static_cast<std::uint32_t>(graph.tensors.size());
    graph.tensors.push_back(
        TrackedTensor::track(value.role == Role::state ? elements.clone() : elements));
  }
}

}  // namespace

std::string encode_graph(const GraphModel& graph) {
  auto bare = graph;
  std::string constants;
  for (auto& value : bare.values) {
    if (value.role == Role::constant) {
      constants += fmt::format("{}\n", bare.strings[value.name]);
      value.role = Role::variable;
    }
    value.tensor = none;
  }
  bare.tensors.clear();
  if (!constants.empty())
    bare.meta.emplace_back(bare.strings.intern(constants_note), bare.strings.intern(constants));
  const auto bytes = write_tenon(bare);
  return to_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string to_base64(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return text;
}

std::optional<FileBytes> from_base64(std::string_view text, const std::filesystem::path& name) {
  const std::shared_ptr<std::byte[]> bytes = allocate(BASE64_DECODE_LENGTH(text.size()) + 1);
  base64_decode_ctx context;
  base64_decode_init(&context);
  std::size_t size = 0;
  if (base64_decode_update(&context, &size, reinterpret_cast<std::uint8_t*>(bytes.get()),
                           text.size(), text.data()) == 0 ||
      base64_decode_final(&context) == 0)
    return {};
  return FileBytes{name, {bytes.get(), size}, bytes};
}

// The const_cast is safe because the reader does not write.
std::string digest(const std::string& bytes, const GraphModel& graph) {
  auto* const begin = reinterpret_cast<std::byte*>(const_cast<char*>(bytes.data()));
  const std::shared_ptr<const void> owner(begin, [](const void*) {});
  return digest(read_model({"model.onnx", {begin, bytes.size()}, owner}), graph);
}

std::optional<GraphModel> embedded_graph(const Model& model, std::string& why, bool trust_links) {
  const auto text = entry(model, embedded_graph_key);
  if (text.empty()) return {};
  try {
    auto graph = decoded(model, text);
    if (!graph) {
      why = "it is not valid base64";
      return {};
    }
    if (digest(model, *graph) != entry(model, embedded_digest_key)) {
      why = "the model was modified after export";
      return {};
    }
    take_elements(*graph, model, trust_links);
    return graph;
  } catch (const Failure& failure) {
    why = failure.what();
    return {};
  }
}

}  // namespace tenon::onnx
