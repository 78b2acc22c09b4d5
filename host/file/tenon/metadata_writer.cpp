#include "file/tenon/metadata_writer.hpp"

#include <set>
#include <string_view>
#include <tenon/host/failure.hpp>

#include "file/tenon/layout.hpp"
#include "file/tenon/metadata_builder.hpp"
#include "graph/parameters.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

using flatbuffers::Offset;

// Files contain the numbers of dtypes.
#define TENON_DTYPE(name, number, ...) \
  static_assert(static_cast<int>(format::DType::name) == TENON_##number);
TENON_DTYPES(TENON_DTYPE)
#undef TENON_DTYPE

std::uint64_t text_bytes(const TrainingRecord& training) {
  std::uint64_t size = training.optimizer.size() + 200;
  for (const auto& slot : training.slots) size += slot.name.size() + 80;
  for (const auto& [name, value] : training.settings) size += name.size() + value.size() + 80;
  for (const auto& [name, value] : training.parameters)
    size += name.size() + to_string(value).size() * 8 + 80;
  return size;
}

/// An upper bound; FlatBuffers would abort the program beyond 2 GiB.
std::uint64_t size_bound(const GraphModel& model) {
  std::uint64_t size = 1 << 16;
  for (StringId id = 0; id < model.strings.size(); ++id) size += model.strings[id].size() + 16;
  for (const auto& op : model.operators)
    size += op.info->manifest.size() + op.info->full_name().size() + 80;
  for (const auto& plugin : model.plugins) size += plugin.name.size() + plugin.version.size() + 80;
  for (const auto& extension : model.extensions)
    size += extension.content.size() + extension.name.size() + 80;
  if (model.training) size += text_bytes(*model.training);
  size += model.values.size() * 160 + model.nodes.size() * 32 + model.edges.size() * 4 +
          model.attributes.size() * 24;
  for (const auto& table : model.tables)
    size += 8 * (static_cast<std::uint64_t>(table.size()) + TENON_MAX_RANK + 2);
  for (const auto& names : model.categories) size += 4 * names.size() + 16;
  return size + (model.ints.size() + model.floats.size()) * 8 + model.tensors.size() * 260 +
         (model.meta.size() + model.outputs.size()) * 32;
}

TablesOffset<format::Segment> write_segments(MetadataBuilder& to, const DataLayout& data) {
  std::vector<Offset<format::Segment>> segments;
  for (const auto& segment : data.segments) {
    const auto purpose = to.texts(std::string_view(segment.purpose));
    segments.push_back(format::CreateSegment(to.buffer, segment.offset, segment.size, purpose));
  }
  return to.tables(segments);
}

TablesOffset<format::Buffer> write_buffers(MetadataBuilder& to, const DataLayout& data) {
  std::vector<Offset<format::Buffer>> buffers;
  for (const auto& buffer : data.buffers) {
    const auto offset = buffer.offset - data.segments[buffer.segment].offset;
    buffers.push_back(
        format::CreateBuffer(to.buffer, buffer.segment, offset, buffer.size, buffer.checksum));
  }
  return to.tables(buffers);
}

TablesOffset<format::Tensor> write_tensors(MetadataBuilder& to, const DataLayout& data) {
  std::vector<Offset<format::Tensor>> tensors;
  for (const auto& stored : data.tensors) {
    const auto type = to.types(type_of(stored.tensor));
    const auto index_dtype = stored.indices == none
                                 ? format::DType::i64
                                 : static_cast<format::DType>(stored.tensor.index_dtype());
    tensors.push_back(
        format::CreateTensor(to.buffer, type, stored.values, stored.indices, stored.row_starts,
                             static_cast<std::uint64_t>(stored.tensor.stored()), index_dtype));
  }
  return to.tables(tensors);
}

TablesOffset<format::Operator> write_operators(MetadataBuilder& to) {
  std::vector<Offset<format::Operator>> operators;
  std::set<std::string> names;
  for (const auto id : to.order.operators.order()) {
    const auto& op = to.model.operators[id];
    if (!names.insert(op.info->full_name()).second)
      throw Failure(FailureKind::usage,
                    "operator '" + op.info->full_name() +
                        "' was replaced while the graph was built: its nodes use two descriptions "
                        "of it, but a file holds one",
                    "rebuild the graph with one of them, or rename the new operator");
    const auto& manifest = op.info->manifest;
    const auto bytes = to.buffer.CreateVector(
        reinterpret_cast<const std::uint8_t*>(manifest.data()), manifest.size());
    const auto name = to.texts(std::string_view(op.name));
    const auto plugin = op.plugin == none ? none : to.order.plugins.at(op.plugin);
    const auto space = to.texts(std::string_view(op.info->space));
    operators.push_back(format::CreateOperator(to.buffer, name, op.version, bytes, plugin, space));
  }
  return to.tables(operators);
}

TablesOffset<format::Plugin> write_plugins(MetadataBuilder& to) {
  std::vector<Offset<format::Plugin>> plugins;
  for (const auto id : to.order.plugins.order()) {
    const auto& plugin = to.model.plugins[id];
    const auto name = to.texts(std::string_view(plugin.name));
    const auto version = to.texts(std::string_view(plugin.version));
    plugins.push_back(
        format::CreatePlugin(to.buffer, name, version, plugin.abi_minor, plugin.content_hash));
  }
  return to.tables(plugins);
}

TablesOffset<format::Meta> write_meta(MetadataBuilder& to) {
  std::vector<Offset<format::Meta>> meta;
  for (const auto& [key, value] : to.model.meta) {
    const auto key_text = to.texts(key);
    const auto value_text = to.texts(value);
    meta.push_back(format::CreateMeta(to.buffer, key_text, value_text));
  }
  return to.tables(meta);
}

TablesOffset<format::Extension> write_extensions(MetadataBuilder& to) {
  std::vector<Offset<format::Extension>> extensions;
  for (const auto& extension : to.model.extensions) {
    const auto& content = extension.content;
    const auto bytes = to.buffer.CreateVector(reinterpret_cast<const std::uint8_t*>(content.data()),
                                              content.size());
    const auto name = to.texts(std::string_view(extension.name));
    extensions.push_back(format::CreateExtension(to.buffer, name, bytes));
  }
  return to.tables(extensions);
}

TablesOffset<format::TensorType> write_types(MetadataBuilder& to) {
  std::vector<Offset<format::TensorType>> types;
  for (std::size_t i = 0; i < to.types.order().size(); ++i) {
    const auto& type = to.types.order()[i];
    const auto& names = to.types.names_of(i);
    const auto names_at = names.empty() ? ColumnOffset<std::uint32_t>() : to.required(names);
    const std::vector<std::int64_t> dims(type.dims, type.dims + std::max(type.rank, 0));
    const auto dims_at = dims.empty() ? ColumnOffset<std::int64_t>() : to.required(dims);
    const auto dtype = static_cast<format::DType>(type.dtype);
    types.push_back(format::CreateTensorType(to.buffer, dtype,
                                             static_cast<format::Storage>(type.storage), dims_at,
                                             type.rank < 0, names_at));
  }
  return to.tables(types);
}

TablesOffset<flatbuffers::String> write_strings(MetadataBuilder& to,
                                                const std::filesystem::path& path) {
  std::vector<Offset<flatbuffers::String>> strings;
  for (const auto text : to.texts.order()) {
    if (!is_utf8(text))
      refuse_file(path, "cannot write the file: the text '{}' is not UTF-8", printable(text));
    strings.push_back(to.buffer.CreateString(text.data(), text.size()));
  }
  return to.buffer.CreateVector(strings);
}

// Whether any parameter has a kind that hosts older than 0.2 cannot read.
bool has_new_parameters(const GraphModel& model) {
  const auto is_new = [](std::uint32_t kind) {
    return kind == TENON_ATTR_TEXTS || kind == TENON_ATTR_TENSOR;
  };
  const auto of_optimizer = [](const auto& parameter) {
    const auto& value = parameter.second.variant();
    return std::holds_alternative<std::vector<std::string>>(value) ||
           std::holds_alternative<Tensor>(value);
  };
  return std::any_of(model.attributes.begin(), model.attributes.end(),
                     [&](const auto& attribute) { return is_new(attribute.kind); }) ||
         (model.training && std::any_of(model.training->parameters.begin(),
                                        model.training->parameters.end(), of_optimizer));
}

// Features that a reader must support to read the file correctly.
ColumnOffset<std::uint32_t> write_features(MetadataBuilder& to, const DataLayout& data) {
  std::vector<std::uint32_t> features;
  const auto& nodes = to.model.nodes;
  const bool gradient = std::any_of(nodes.begin(), nodes.end(), [](const NodeRecord& node) {
    return node.pass != Pass::forward;
  });
  if (gradient || !to.model.updates.empty()) features.push_back(to.texts(layout::gradient_feature));
  if (to.model.training) features.push_back(to.texts(layout::training_feature));
  if (std::any_of(data.tensors.begin(), data.tensors.end(),
                  [](const auto& stored) { return stored.indices != none; }))
    features.push_back(to.texts(layout::sparse_feature));
  for (const auto& feature : dtype_features)
    if (std::any_of(to.model.values.begin(), to.model.values.end(), [&](const ValueRecord& value) {
          return feature.types.has(static_cast<DType>(value.type.dtype));
        }))
      features.push_back(to.texts(feature.name));
  const auto named = [&](ValueId input) { return to.model.values[input].dims != none; };
  if (std::any_of(to.model.inputs.begin(), to.model.inputs.end(), named))
    features.push_back(to.texts(layout::dim_names_feature));
  if (std::any_of(to.model.values.begin(), to.model.values.end(),
                  [](const ValueRecord& value) { return value.categories != none; }))
    features.push_back(to.texts(layout::categories_feature));
  if (to.model.training && to.model.training->micro_batches > 1)
    features.push_back(to.texts(layout::micro_batches_feature));
  if (has_new_parameters(to.model)) features.push_back(to.texts(layout::parameters_feature));
  return features.empty() ? ColumnOffset<std::uint32_t>() : to.required(features);
}

}  // namespace

std::vector<std::byte> write_metadata(const GraphModel& model, const FileOrder& order,
                                      const DataLayout& data, const std::filesystem::path& path) {
  if (const auto size = size_bound(model); size > layout::metadata_limit)
    refuse_file(path,
                "cannot write the file: the metadata of {} nodes and {} values may need {} bytes, "
                "but at most {} are possible",
                model.nodes.size(), model.values.size(), size, layout::metadata_limit);
  MetadataBuilder to{model, order};
  // Everything that registers texts and types comes first, so that both tables are complete when
  // they are written.
  const std::string producer_text =
      model.producer.empty() ? "tenon " TENON_VERSION : model.producer;
  const auto producer = to.texts(std::string_view(producer_text));
  const auto features = write_features(to, data);
  const auto graph = write_graph(to);
  const auto graphs = to.tables(std::vector{graph});
  const auto segments = write_segments(to, data);
  const auto buffers = write_buffers(to, data);
  const auto tensors = write_tensors(to, data);
  const auto operators = write_operators(to);
  const auto plugins = write_plugins(to);
  const auto meta = write_meta(to);
  const auto training = write_training(to);
  const auto extensions = write_extensions(to);
  const auto types = write_types(to);
  const auto strings = write_strings(to, path);
  to.buffer.Finish(format::CreateModel(to.buffer, format_version, features, producer, strings,
                                       segments, buffers, types, tensors, plugins, operators,
                                       graphs, training, meta, extensions));
  const auto* bytes = reinterpret_cast<const std::byte*>(to.buffer.GetBufferPointer());
  return {bytes, bytes + to.buffer.GetSize()};
}

}  // namespace tenon
