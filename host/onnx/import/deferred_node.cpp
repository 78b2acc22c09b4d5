// onnx_node: a node whose composition needs ranks or sizes that are known only at run time.
#include "onnx/import/deferred_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/inference/type.hpp"
#include "onnx/dtype.hpp"
#include "onnx/embedded_graph.hpp"
#include "onnx/export/message.hpp"
#include "onnx/fields.hpp"
#include "onnx/import/node_import.hpp"
#include "run/builtin_operators.hpp"
#include "run/control_flow/owned_subgraph.hpp"
#include "run/inference_budget.hpp"

namespace tenon::onnx {
namespace {

constexpr const char* shape_hint = "give the inputs fully known shapes";
constexpr std::size_t max_cached = 16;  // cached graphs of a node, one per combination of types

tenon_type plain_type(const tenon_type& type) {
  return tenon::type_of(static_cast<DType>(type.dtype), tenon::shape_of(type));
}

Model read_text(std::string_view text) {
  const auto file = from_base64(text, "onnx_node");
  if (!file) throw Failure(FailureKind::usage, "parameter 'model' is not valid base64");
  return read_model(*file);
}

// A separate random seed or states that are not saved would give wrong results silently.
void require_pure(const Graph& graph) {
  const auto& values = model_of(graph).values;
  const auto& nodes = impl_of(graph).binding().nodes;
  if (std::any_of(values.begin(), values.end(),
                  [](const ValueRecord& value) { return value.role == Role::state; }))
    throw Failure(FailureKind::file, "it has a state, which requires known input shapes",
                  shape_hint);
  if (std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.info->random; }))
    throw Failure(FailureKind::file, "it draws random numbers, which requires known input shapes",
                  shape_hint);
}

/// Larger inputs and inputs with more axes are taken to hold data.
bool may_hold_sizes(const tenon_type& type) {
  constexpr std::int64_t max_sizes = 512;
  return type.rank <= 0 || (type.rank == 1 && type.dims[0] <= max_sizes);
}

bool same_elements(const std::vector<std::optional<Tensor>>& left,
                   const std::vector<std::optional<Tensor>>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const auto& one, const auto& other) {
                      return one.has_value() == other.has_value() &&
                             (!one || (one->bytes() == other->bytes() &&
                                       std::memcmp(one->data(), other->data(), one->bytes()) == 0));
                    });
}

bool all_known(std::span<const tenon_type> types) {
  return std::all_of(types.begin(), types.end(),
                     [](const tenon_type& type) { return is_known(type); });
}

}  // namespace

DeferredNode::DeferredNode(Host::Impl& host, std::string_view text)
    : host_(host), model_(read_text(text)) {}

DeferredNode::Imported& DeferredNode::imported(const std::vector<tenon_type>& types,
                                               std::vector<std::optional<Tensor>> elements) {
  const auto same = [&](const Imported& one) {
    return std::memcmp(one.inputs.data(), types.data(), types.size() * sizeof(tenon_type)) == 0 &&
           same_elements(one.elements, elements);
  };
  if (const auto found = std::find_if(imported_.begin(), imported_.end(), same);
      found != imported_.end()) {
    imported_.splice(imported_.begin(), imported_, found);
    return imported_.front();
  }
  ImportOptions options;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string name(model_.graph.inputs[i].name);
    if (!elements.empty() && elements[i])
      options.fixed.emplace(name, *elements[i]);
    else if (types[i].rank >= 0)
      options.shapes.emplace(name, tenon::shape_of(types[i]));
  }
  auto& entry = imported_.emplace_front(Imported{types, std::move(elements)});
  if (imported_.size() > max_cached) imported_.pop_back();
  try {
    Host handle = ImplAccess::handle(host_.shared_from_this());
    auto graph = Importer(handle, model_, options, false).import();
    require_pure(graph);
    entry.graph = std::move(graph);
  } catch (const Failure& failure) {
    entry.refusal = failure;
  }
  return entry;
}

DeferredNode::Imported* DeferredNode::import_for(std::span<const tenon_type> inputs,
                                                 const Elements& elements) {
  std::vector<tenon_type> types;
  for (const auto& input : inputs) types.push_back(plain_type(input));
  auto& entry = imported(types, {});
  if (entry.graph || std::none_of(types.begin(), types.end(), may_hold_sizes)) return &entry;
  std::vector<std::optional<Tensor>> found(types.size());
  bool known = true;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!may_hold_sizes(types[i])) continue;
    found[i] = elements(i);
    known = known && found[i];
  }
  return known ? &imported(types, std::move(found)) : nullptr;
}

std::vector<tenon_type> DeferredNode::infer(std::span<const tenon_type> inputs,
                                            const Elements& elements) {
  const std::lock_guard lock(mutex_);
  std::vector<tenon_type> outputs;
  for (const auto& output : model_.graph.outputs) {
    const auto* element = output.type == nullptr ? nullptr : element_type(output.type->dtype);
    outputs.push_back(tenon::type_of(element == nullptr ? unknown_dtype : element->dtype, Shape()));
  }
  const bool dtypes_known = std::all_of(inputs.begin(), inputs.end(), [](const tenon_type& type) {
    return type.dtype != TENON_DTYPE_UNKNOWN;
  });
  const auto* entry = dtypes_known ? import_for(inputs, elements) : nullptr;
  if (entry == nullptr) return outputs;
  if (entry->refusal && all_known(inputs)) throw *entry->refusal;
  if (entry->refusal) return outputs;
  const auto& model = model_of(*entry->graph);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& type = model.values[model.outputs[i].second].type;
    if (outputs[i].dtype != TENON_DTYPE_UNKNOWN && outputs[i].dtype != type.dtype)
      throw Failure(FailureKind::file,
                    fmt::format("its output {} is {}, but was assumed to be {}, because its input "
                                "shapes were unknown at import",
                                i, name_of(static_cast<DType>(type.dtype)),
                                name_of(static_cast<DType>(outputs[i].dtype))),
                    shape_hint);
    outputs[i] = type;
  }
  return outputs;
}

void DeferredNode::run(bool training, const std::vector<Tensor>& inputs,
                       std::vector<Tensor> outputs) {
  std::vector<tenon_type> types;
  for (const auto& input : inputs) types.push_back(tenon::type_of(input));
  const std::lock_guard lock(mutex_);
  auto& entry = *import_for(types, [&](std::size_t i) { return std::optional(inputs[i].clone()); });
  if (entry.refusal) throw *entry.refusal;
  auto& session = entry.sessions[training ? 1 : 0];
  if (!session)
    session.emplace(*entry.graph,
                    SessionOptions{.training = training, .optimize = Optimize::exact});
  std::vector<Tensor> used;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (entry.elements.empty() || !entry.elements[i]) used.push_back(inputs[i]);
  session->run_in_order(used, outputs);
}

namespace {

struct OnnxNode : Operator {
  Text model;
  std::int32_t outputs = 1;
  Host::Impl* host = nullptr;
  Owned<DeferredNode> node;

  static constexpr void describe(auto& op) {
    op.doc("an ONNX node that is converted to a graph when the shapes of its inputs are known");
    op.input("data", "inputs of `model`, in order").types(storable).variadic();
    op.output("output", "outputs of `model`, in order").count(&OnnxNode::outputs);
    op.param("model", &OnnxNode::model, "ONNX model with the node, serialized and base64-encoded")
        .required();
    op.param("outputs", &OnnxNode::outputs, "number of outputs of `model`").at_least(1);
  }

  void configure() {
    if (host != nullptr) node.emplace(*host, model);
  }

  void infer(Infer& io) const {
    if (at(io.inputs()) != node->inputs() || at(io.outputs()) != node->outputs())
      throw Error("the model has ", node->inputs(), " inputs and ", node->outputs(),
                  " outputs, but ", io.inputs(), " and ", io.outputs(), " are connected");
    const auto types = node->infer(input_types(io, 0, at(io.inputs())),
                                   [&](std::size_t i) { return elements_of(io, i); });
    for (int i = 0; i < io.outputs(); ++i) set_output(io, i, types[at(i)]);
  }

  void forward(const Call& call) const {
    node->run(call.training(), tensors_at(call.raw().inputs, at(call.inputs())),
              tensors_at(call.raw().outputs, at(call.outputs())));
  }

  /// Inference runs again when the elements become known.
  static std::optional<Tensor> elements_of(const Infer& io, std::size_t i) {
    const auto& raw = io.raw();
    if (raw.wanted == nullptr) return {};
    raw.wanted[i] = 1;
    if (raw.values == nullptr || raw.values[i] == nullptr) return {};
    return tensor_at(raw.values[i]).clone();
  }

  void gradient(Gradient&) const {
    throw Error("onnx_node has no gradient: import the model with input shapes");
  }
};

const BuiltinOperators added([](Host::Impl& host) {
  add_flow_operator<OnnxNode>(host, "onnx_node");
});

/// The node as a model of its own: known operands are stored in it, the others are its inputs.
class DeferredModel {
 public:
  DeferredModel(NodeImport& node, std::vector<std::pair<std::size_t, tenon_type>> inputs)
      : node_(node), inputs_(std::move(inputs)) {}

  /// Returns nothing if an attribute is a graph or has another type that parameters do not support.
  std::optional<std::string> bytes(std::span<const DType> outputs) {
    written::Node written;
    written.type = node_.node().type, written.domain = node_.node().domain,
    written.name = node_.node().name;
    for (const auto& attribute : node_.node().attributes) {
      const auto* found = node_.attribute(attribute.name);
      if (found == nullptr) continue;
      const auto value = node_.value_of(*found);
      if (!value) return {};
      written.attributes.push_back({std::string(attribute.name), *value});
    }
    std::string graph;
    protozero::pbf_writer to(graph);
    for (std::size_t i = 0; i < node_.inputs(); ++i)
      written.inputs.push_back(node_.has(i) ? fmt::format("x{}", i) : "");
    for (std::size_t i = 0; i < outputs.size(); ++i)
      written.outputs.push_back(node_.has_output(i) ? fmt::format("y{}", i) : "");
    to.add_message(field::graph::node, written::node_message(written));
    to.add_string(field::graph::name, "node");
    for (std::size_t i = 0; i < node_.inputs(); ++i) {
      const auto is_input = std::any_of(inputs_.begin(), inputs_.end(),
                                        [&](const auto& input) { return input.first == i; });
      if (is_input || !node_.has(i)) continue;
      protozero::pbf_writer tensor(to, field::graph::initializer);
      written::write_tensor(tensor, written.inputs[i], node_.input(i).elements);
    }
    for (const auto& [i, type] : inputs_)
      to.add_message(
          field::graph::input,
          written::value_message(
              {written.inputs[i], tenon::type_of(static_cast<DType>(type.dtype), Shape())}));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (node_.has_output(i))
        to.add_message(
            field::graph::output,
            written::value_message({written.outputs[i], tenon::type_of(outputs[i], Shape())}));
    std::string model;
    protozero::pbf_writer file(model);
    file.add_int64(field::model::ir_version, 10);
    file.add_message(field::model::graph, graph);
    const auto& domain = written.domain;
    if (!domain.empty())
      file.add_message(field::model::opset_import, written::opset_message("", 17));
    file.add_message(field::model::opset_import, written::opset_message(domain, node_.version()));
    return model;
  }

  /// Determines the dtypes of the outputs by trying ranks and sizes for the inputs; empty if the
  /// node is rejected for all of them.
  std::vector<DType> find_outputs() {
    const std::vector<DType> unknown_dtypes(node_.node().outputs.size(), unknown_dtype);
    const auto text = bytes(unknown_dtypes);
    if (!text) return {};
    DeferredNode deferred(*host(), to_base64(*text));
    const auto charged = [] {  // a file may have many such nodes
      try {
        InferenceBudget::charge();
        return true;
      } catch (const Failure&) {
        return false;
      }
    };
    for (const int rank : {3, 4, 2, 1, 5, 0})
      for (const int other : {rank, 1, 2})
        for (const auto size : sizes_to_try()) {
          if (rank == 0 && size != 1) continue;
          if (!charged()) return {};
          if (auto found = dtypes_for(deferred, rank, other, size); !found.empty()) return found;
        }
    return {};
  }

 private:
  // Some typical sizes, and the known sizes of the node's inputs.
  std::vector<std::int64_t> sizes_to_try() {
    std::vector<std::int64_t> sizes{unknown, 1, 2, 4, 8, 64};
    for (std::size_t i = 0; i < node_.inputs() && sizes.size() < 12; ++i)
      if (node_.has(i))
        for (const auto size : node_.shape(node_.input(i)))
          if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
    return sizes;
  }

  std::shared_ptr<Host::Impl> host() const { return impl_of(node_.host()).shared_from_this(); }

  // Gives the first input of unknown rank the rank `rank`, and the others `other`.
  std::vector<DType> dtypes_for(DeferredNode& deferred, int rank, int other, std::int64_t size) {
    std::vector<tenon_type> types;
    bool first = true;
    for (const auto& [i, type] : inputs_) {
      auto guess = plain_type(type);
      if (guess.rank < 0)
        guess.rank = std::exchange(first, false) ? rank : other,
        std::fill_n(guess.dims, guess.rank, unknown);
      for (int axis = 0; axis < guess.rank; ++axis)
        if (guess.dims[axis] == unknown) guess.dims[axis] = size;
      types.push_back(guess);
    }
    std::vector<tenon_type> outputs;
    try {
      outputs = deferred.infer(
          types, [&](std::size_t i) { return std::optional(plausible_elements(types[i])); });
    } catch (const Failure&) {
      return {};
    }
    std::vector<DType> dtypes;
    std::size_t next = 0;
    for (std::size_t i = 0; i < node_.node().outputs.size(); ++i)
      dtypes.push_back(node_.has_output(i) ? static_cast<DType>(outputs[next++].dtype)
                                           : unknown_dtype);
    for (const auto& type : outputs)
      if (type.dtype == TENON_DTYPE_UNKNOWN) return {};
    return dtypes;
  }

  // Integers are likely to be sizes.
  static Tensor plausible_elements(const tenon_type& type) {
    auto elements = Tensor::zeros(static_cast<DType>(type.dtype), tenon::shape_of(type));
    if (elements.dtype() == i64)
      std::fill_n(static_cast<std::int64_t*>(elements.data()), elements.size(), 1);
    if (elements.dtype() == i32)
      std::fill_n(static_cast<std::int32_t*>(elements.data()), elements.size(), 1);
    return elements;
  }

  NodeImport& node_;
  std::vector<std::pair<std::size_t, tenon_type>> inputs_;  // the node's inputs and their types
};

}  // namespace

// The dtype that the model declares, else that of the node's first input. A wrong guess is detected
// at run time.
DType Importer::likely_dtype(NodeImport& node, std::string_view output) {
  const auto declared = static_cast<DType>(declared_type(output).dtype);
  if (declared != unknown_dtype) return declared;
  std::size_t first = 0;
  while (!node.has(first)) ++first;
  return node.dtype(node.input(first));
}

// If a node was rejected because ranks, sizes or elements are unknown, defers it until run time.
bool Importer::defer(NodeImport& node) {
  const auto& outputs = node.node().outputs;
  const auto count = std::count_if(outputs.begin(), outputs.end(),
                                   [](std::string_view name) { return !name.empty(); });
  if (!may_defer_ || node.inputs() == 0 || count == 0 || handles_sequences(node.node()) ||
      reads_sequence(node.node()))
    return false;
  constexpr std::int64_t max_elements = 512;  // of the constants stored in the node
  std::vector<std::pair<std::size_t, tenon_type>> inputs;
  std::vector<ValueId> values;
  bool has_unknown = false;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (!node.has(i)) continue;
    auto& operand = find(node.node().inputs[i]);
    const auto type = type_of(operand);
    if (type.dtype == TENON_DTYPE_UNKNOWN ||
        (type.storage != TENON_DENSE && type.storage != TENON_STORAGE_UNKNOWN))
      return false;
    if (operand.known() && operand.value == none && operand.elements.size() <= max_elements)
      continue;
    has_unknown = has_unknown || !is_known(type);
    inputs.emplace_back(i, type);
  }
  if (inputs.empty() || (!has_unknown && !node.lacks_known())) return false;
  DeferredModel deferred(node, inputs);
  auto dtypes = deferred.find_outputs();
  if (dtypes.empty() && !node.lacks_known()) return false;
  for (auto i = dtypes.size(); i < outputs.size(); ++i)
    dtypes.push_back(outputs[i].empty() ? unknown_dtype : likely_dtype(node, outputs[i]));
  const auto text = deferred.bytes(dtypes);
  if (!text) return false;
  for (const auto& [i, type] : inputs) values.push_back(value_of(find(node.node().inputs[i])));
  const Attributes attributes{{"model", to_base64(*text)},
                              {"outputs", static_cast<std::int64_t>(count)}};
  const auto results = add_node({.op = "tenon.onnx_node",
                                 .name = {},
                                 .inputs = std::move(values),
                                 .named_inputs = {},
                                 .attributes = attributes},
                                node.name());
  std::size_t next = 0;
  for (std::size_t i = 0; i < node.node().outputs.size(); ++i)
    if (node.has_output(i)) scope_.erase(node.node().outputs[i]), node.output(i, results[next++]);
  return true;
}

}  // namespace tenon::onnx
