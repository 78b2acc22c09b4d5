// tenon::onnx::save(): selects what is written and assigns names and the storage of weights.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tenon/host/onnx.hpp>

#include "graph/requested_outputs.hpp"
#include "io/atomic_file.hpp"
#include "onnx/embedded_graph.hpp"
#include "onnx/export/exporter.hpp"
#include "onnx/fields.hpp"
#include "onnx/packed.hpp"
#include "run/graph_impl.hpp"
#include "tensor/backing_files.hpp"

namespace tenon::onnx {
namespace {

// of tensors in the external data file, so that they can be mapped
constexpr std::uint64_t alignment = 4096;
constexpr std::int64_t min_external = 1024;  // in bytes; smaller tensors stay in the model file

std::int64_t ir_version(std::int64_t opset) {
  constexpr std::int64_t first_opset[] = {19, 21, 23, 24};  // of IR 9, 10, 11, 12
  return 8 + std::count_if(std::begin(first_opset), std::end(first_opset),
                           [&](std::int64_t first) { return opset >= first; });
}

class ModelWriter {
 public:
  ModelWriter(const Graph::Impl& graph, const ExportOptions& options, std::filesystem::path path)
      : model_(graph.model()),
        catalog_(graph.host.catalog()),
        options_(options),
        path_(std::move(path)),
        job_{graph.host, options.opset, options.note ? options.note : [](const std::string&) {}},
        scope_(Scope::Kind::graph),
        graph_(model_, graph.binding(), scope_, job_) {}

  void write() {
    choose();
    name_values();
    for (const auto id : model_.inputs)
      if (values_[id] && is_text(id)) encode_text(id);
    graph_.add_nodes(nodes_);
    job_.functions.choose_names(catalog_);
    for (auto& [value, name] : copies_) {
      if (is_text(value))
        decode_text(value, name);
      else
        scope_.add({.type = "Identity", .inputs = {graph_.name_of(value)}, .outputs = {name}},
                   options_.opset);
    }
    const BackingFiles sources(model_.tensors);
    sources.use([&] { put(); });
  }

 private:
  void choose();
  void name_values();
  void put();
  void write_graph(protozero::pbf_writer& to);
  bool is_text(ValueId id) const { return model_.values[id].categories != none; }
  std::vector<std::string> categories_of(ValueId id) const;
  void encode_text(ValueId input);
  void decode_text(ValueId value, const std::string& output);
  written::Texts dims_of(ValueId input) const;
  void assign_external_data();
  std::filesystem::path data_path() const { return path_.string() + ".data"; }

  const GraphModel& model_;
  const Catalog catalog_;
  const ExportOptions& options_;
  const std::filesystem::path path_;
  ExportJob job_;
  Scope scope_;
  GraphExport graph_;
  std::vector<bool> nodes_, values_;                     // what is written
  std::vector<std::pair<StringId, ValueId>> outputs_;    // the outputs that are written
  std::vector<std::string> output_names_;                // names of outputs_
  std::vector<std::pair<ValueId, std::string>> copies_;  // outputs that need an Identity node
  std::map<std::string, written::External> external_;    // by initializer name
  bool whole_ = true;                                    // whether nothing was left out
};

void ModelWriter::choose() {
  // whether the value does not depend on a gradient
  std::vector<bool> forward(model_.values.size(), true);
  for (const auto& node : model_.nodes) {
    bool sound = node.pass != Pass::backward;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model_.edges[node.first_edge + i]; value != none)
        sound = sound && forward[value];
    for (std::uint32_t i = 0; i < node.output_count; ++i) forward[node.first_output + i] = sound;
  }
  std::vector<std::string> names;
  for (const auto& output : model_.outputs) {
    const std::string name(model_.strings[output.first]);
    if (forward[output.second])
      outputs_.push_back(output), names.push_back(name);
    else
      job_.note(fmt::format(
          "output '{}' is not written, because it is a gradient, which ONNX cannot express", name));
  }
  if (outputs_.empty())
    throw Failure(FailureKind::failed,
                  "the graph has no output that can be written to an ONNX file",
                  "add one with output()");
  if (!model_.updates.empty())
    job_.note("variable updates are not written, because ONNX cannot express them");
  RequestedOutputs requested(model_, names, false);
  nodes_ = std::move(requested.nodes), values_ = std::move(requested.values);
  whole_ = outputs_.size() == model_.outputs.size() && model_.updates.empty() && !model_.training &&
           std::find(nodes_.begin(), nodes_.end(), false) == nodes_.end();
  for (NodeId id = 0; id < nodes_.size(); ++id)  // and their states
    for (std::uint32_t i = 0; nodes_[id] && i < model_.nodes[id].state_count; ++i)
      values_[model_.edges[model_.nodes[id].first_edge + model_.nodes[id].input_count + i]] = true;
  for (ValueId id = 0; id < values_.size(); ++id) {
    const auto role = model_.values[id].role;
    if (values_[id] || role == Role::output) continue;
    whole_ = false;
    if (role == Role::input)
      job_.note(fmt::format("input '{}' is not written, because no exported output needs it",
                            value_label(model_, id)));
  }
}

// In ONNX an output is a value; in Tenon it is a name of a value. Inputs, variables and constants
// keep their names, and outputs keep theirs if possible.
void ModelWriter::name_values() {
  for (ValueId id = 0; id < model_.values.size(); ++id) {
    const auto& value = model_.values[id];
    if (value.role == Role::output) continue;
    const std::string label = value_label(model_, id);
    scope_.take(label);
    if (!values_[id]) continue;
    const bool is_text_input = value.role == Role::input && is_text(id);
    graph_.name_value(id, is_text_input ? scope_.free_name(label + "/index") : label);
    if (value.tensor == none) {
      if (value.role == Role::input) continue;
      throw Failure(FailureKind::failed,
                    fmt::format("'{}' has no elements, because its shape is unknown", label),
                    "set the sizes of the graph inputs that determine it");
    }
    const auto& tensor = model_.tensors[value.tensor];
    if (tensor.storage() != Storage::dense)
      throw Failure(FailureKind::failed,
                    fmt::format("'{}' is {}, but ONNX operators take only dense tensors", label,
                                to_string(type_of(tensor))));
  }
  std::vector<bool> is_free;
  for (const auto& [name, value] : outputs_) is_free.push_back(scope_.take(model_.strings[name]));
  std::set<ValueId> named;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto& [name, value] = outputs_[i];
    std::string text(model_.strings[name]);
    if (!is_free[i]) {
      text = scope_.free_name(text);
      job_.note(
          fmt::format("output '{}' is renamed to '{}', because ONNX needs distinct names for "
                      "inputs and outputs",
                      model_.strings[name], text));
    }
    output_names_.push_back(text);
    if (model_.values[value].role == Role::output && !is_text(value) && named.insert(value).second)
      graph_.name_value(value, text);
    else
      copies_.emplace_back(value, text);
  }
}

void ModelWriter::assign_external_data() {
  std::uint64_t all = 0, end = 0;
  for (const auto& [name, tensor] : scope_.initializers) all += packed_bytes(tensor);
  if (all <= options_.inline_limit) return;
  for (const auto& [name, tensor] : scope_.initializers) {
    if (tensor.bytes() < min_external) continue;
    end = (end + alignment - 1) / alignment * alignment;
    const auto size = packed_bytes(tensor);
    external_.emplace(name, written::External{data_path().filename().string(), end, size});
    end += size;
  }
}

std::vector<std::string> ModelWriter::categories_of(ValueId id) const {
  std::vector<std::string> names;
  for (const auto name : model_.categories[model_.values[id].categories])
    names.emplace_back(model_.strings[name]);
  return names;
}

static std::vector<std::int64_t> positions_of(const std::vector<std::string>& names) {
  std::vector<std::int64_t> positions(names.size());
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

// ONNX has texts where Tenon has indices of categories.
void ModelWriter::encode_text(ValueId input) {
  const auto names = categories_of(input);
  const auto label = value_label(model_, input);
  const bool is_short = model_.values[input].type.dtype == TENON_I32;
  const auto index = is_short ? scope_.free_name(label + "/index64") : graph_.name_of(input);
  scope_.add({.type = "LabelEncoder",
              .inputs = {label},
              .outputs = {index},
              .attributes = {{"keys_strings", names},
                             {"values_int64s", positions_of(names)},
                             {"default_int64", std::int64_t{-1}}},
              .domain = "ai.onnx.ml"},
             3);
  if (is_short)
    scope_.add({.type = "Cast",
                .inputs = {index},
                .outputs = {graph_.name_of(input)},
                .attributes = {{"to", std::int64_t{written::number_of(i32)}}}},
               options_.opset);
}

void ModelWriter::decode_text(ValueId value, const std::string& output) {
  const auto names = categories_of(value);
  auto index = graph_.name_of(value);
  if (model_.values[value].type.dtype != TENON_I64) {
    const auto wide = scope_.free_name(output + "/index64");
    scope_.add({.type = "Cast",
                .inputs = {index},
                .outputs = {wide},
                .attributes = {{"to", std::int64_t{written::number_of(i64)}}}},
               options_.opset);
    index = wide;
  }
  scope_.add({.type = "LabelEncoder",
              .inputs = {index},
              .outputs = {output},
              .attributes = {{"keys_int64s", positions_of(names)},
                             {"values_strings", names},
                             {"default_string", std::string()}},
              .domain = "ai.onnx.ml"},
             3);
}

written::Texts ModelWriter::dims_of(ValueId input) const {
  written::Texts names;
  if (const auto dims = model_.values[input].dims; dims != none)
    for (const auto name : model_.dim_names[dims]) names.emplace_back(model_.strings[name]);
  return names;
}

void ModelWriter::write_graph(protozero::pbf_writer& to) {
  for (const auto& node : scope_.nodes) to.add_message(field::graph::node, node_message(node));
  to.add_string(field::graph::name, model_.name);
  for (const auto& [name, tensor] : scope_.initializers) {
    const auto found = external_.find(name);
    protozero::pbf_writer initializer(to, field::graph::initializer);
    write_tensor(initializer, name, tensor, found == external_.end() ? nullptr : &found->second);
  }
  for (const auto id : model_.inputs)
    if (values_[id])
      to.add_message(
          field::graph::input,
          written::value_message({is_text(id) ? value_label(model_, id) : graph_.name_of(id),
                                  model_.values[id].type, dims_of(id), is_text(id)}));
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    to.add_message(field::graph::output,
                   written::value_message({output_names_[i],
                                           model_.values[outputs_[i].second].type,
                                           {},
                                           is_text(outputs_[i].second)}));
  const std::set<std::string_view> outputs(output_names_.begin(), output_names_.end());
  for (ValueId id = 0; id < model_.values.size(); ++id) {
    const auto& value = model_.values[id];
    const bool shown = value.role == Role::output && nodes_[value.producer] &&
                       value.type.dtype != TENON_DTYPE_UNKNOWN;
    const auto& name = graph_.name_of(id);
    if (shown && !outputs.contains(name))
      to.add_message(field::graph::value_info, written::value_message({name, value.type, {}}));
  }
}

void ModelWriter::put() {
  for (ValueId id = 0; id < model_.values.size(); ++id)
    if (const auto& value = model_.values[id]; values_[id] && value.tensor != none)
      scope_.initializers.emplace_back(graph_.name_of(id), model_.tensors[value.tensor]);
  assign_external_data();
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_int64(field::model::ir_version, ir_version(options_.opset));
  to.add_string(field::model::producer_name, "tenon");
  to.add_string(field::model::producer_version, TENON_VERSION);
  {
    protozero::pbf_writer graph(to, field::model::graph);
    write_graph(graph);
  }
  auto opsets = scope_.opsets;
  for (const auto& function : job_.functions.list) {
    opsets.emplace(function.domain, 1);
    for (const auto& [domain, version] : function.opsets)
      opsets[domain] = std::max(opsets[domain], version);
  }
  opsets.insert_or_assign("", options_.opset);
  for (const auto& [domain, version] : opsets)
    to.add_message(field::model::opset_import, written::opset_message(domain, version));
  for (const auto& function : job_.functions.list)
    to.add_message(field::model::functions, function_message(function));
  if (whole_) {
    const auto embedded = encode_graph(model_);
    const auto sum = digest(bytes, model_);
    to.add_message(field::model::metadata_props,
                   written::entry_message(embedded_graph_key, embedded));
    to.add_message(field::model::metadata_props, written::entry_message(embedded_digest_key, sum));
  }
  if (bytes.size() > INT32_MAX)
    throw Failure(FailureKind::failed,
                  fmt::format("{}: an ONNX file holds at most 2 GiB, but the model needs {} bytes",
                              path_.string(), bytes.size()));
  std::optional<AtomicFile> data;
  if (!external_.empty()) {
    data.emplace(data_path());
    for (const auto& [name, tensor] : scope_.initializers) {
      const auto found = external_.find(name);
      if (found == external_.end()) continue;
      const auto here = packed(tensor);
      data->write_at(found->second.offset,
                     {static_cast<const std::byte*>(here.data()), found->second.length});
    }
  }
  AtomicFile file(path_);
  file.write(std::as_bytes(std::span(bytes)));
  if (data) data->commit();
  file.commit();
}

}  // namespace

void save(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options) {
  if (options.opset < 13 || options.opset > 24)
    throw Failure(FailureKind::usage,
                  fmt::format("the opset is {} but must be from 13 to 24", options.opset));
  auto copy = graph.clone();
  copy.initialize(options.seed);
  const auto complete = impl_of(copy).completed();
  const auto& impl = impl_of(complete);
  const GraphUsers::ReadGuard use(impl.users);
  ModelWriter(impl, options, path).write();
}

}  // namespace tenon::onnx
