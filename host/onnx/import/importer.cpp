#include "onnx/import/importer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/inference/type.hpp"
#include "graph/name_mapping.hpp"
#include "io/utf8.hpp"
#include "onnx/dtype.hpp"
#include "onnx/embedded_graph.hpp"
#include "onnx/import/missing.hpp"
#include "onnx/import/node_import.hpp"
#include "run/host_impl.hpp"
#include "run/inference_budget.hpp"

namespace tenon::onnx {
namespace {

constexpr std::size_t min_inferred = 2000;  // inferences of loop bodies, in the whole model

[[noreturn]] void refuse(const Model& model, const std::string& reason,
                         const std::string& hint = {}) {
  throw Failure(FailureKind::file, fmt::format("{}: {}", model.path.string(), reason), hint);
}

// Subgraphs hold small constants; large ones and trainable weights belong to the outermost graph.
bool is_subgraph_constant(const Operand& operand) {
  const bool weight = !operand.initializer.empty() &&
                      allows(floating.mask, operand.elements.dtype()) &&
                      operand.elements.shape().rank() > 0;
  return !weight && operand.elements.storage() == Storage::dense && operand.elements.size() <= 512;
}

// Empty if a graph does not allow it: a changed name could collide with another dimension's.
std::string dim_name(std::string_view name) {
  return !name.empty() && allowed_name(name) == name ? std::string(name) : std::string();
}

// Strips a numeric suffix: `x` of `x_12`; other names are returned as they are.
std::string_view without_number(std::string_view name) {
  const auto end = name.find_last_not_of("0123456789");
  return end == std::string_view::npos || end + 1 == name.size() || name[end] != '_'
             ? name
             : name.substr(0, end);
}

// Texts are indices of names.
DType dtype_of(const proto::Type* type) {
  const auto* element = type == nullptr ? nullptr : element_type(type->dtype);
  if (element == nullptr) return unknown_dtype;
  return type->dtype == string_type ? i64 : element->dtype;
}

}  // namespace

Importer::Importer(Host& host, const Model& model, const ImportOptions& options, bool may_defer)
    : host_(host),
      model_(model),
      options_(options),
      catalog_(host.catalog()),
      tensors_(model, options.trust_links),
      graph_(host),
      builder_(impl_of(graph_).builder()),
      placeholders_(impl_of(graph_).edit().model, impl_of(graph_).edit().binding),
      may_defer_(may_defer) {}

Graph Importer::import() {
  const InferenceBudget budget(min_inferred + model_.bytes.size() / 16);
  for (const auto& tensor : model_.graph.initializers) initializers_.emplace(tensor.name, &tensor);
  for (const auto& tensor : model_.graph.sparse_initializers)
    sparse_initializers_.emplace(tensor.values->name, &tensor);
  collect_reads();
  if (has_texts(model_.graph)) texts_ = TextValues(model_.graph);
  choose_names();
  import_inputs();
  for (const auto& node : model_.graph.nodes) import_node(node);
  if (!missing_.empty())
    throw refuse_missing(catalog_, model_, really_missing(), options_.keep_unknown);
  name_inputs();
  import_outputs();
  // like a graph file whose plugins are missing
  if (!placeholders_.empty()) impl_of(graph_).edit().binding = {};
  for (const auto& text : notes_)
    if (options_.note) options_.note(text);
  return std::move(graph_);
}

// Unknown operators, except those whose nodes are kept in the main graph.
std::vector<MissingOperator> Importer::really_missing() const {
  auto all = missing_operators(catalog_, model_, options_);
  if (!options_.keep_unknown) return all;
  std::erase_if(all,
                [&](const MissingOperator& one) { return !missing_.contains(one.op.full_name()); });
  return all;
}

void Importer::collect_reads() {
  std::size_t inputs = 0;
  for (const auto& node : model_.graph.nodes) inputs += node.inputs.size();
  read_.reserve(inputs + model_.graph.outputs.size());
  scope_.reserve(model_.graph.nodes.size() + model_.graph.initializers.size() +
                 model_.graph.inputs.size());
  const auto of_nodes = [&](List<proto::Node> nodes) {
    for_each_node(nodes, [&](const proto::Node& node) {
      for (const auto input : node.inputs)
        if (!input.empty()) read_.insert(input);
    });
  };
  of_nodes(model_.graph.nodes);
  for (const auto& output : model_.graph.outputs) read_.insert(output.name);
  for (const auto& function : model_.functions) {
    of_nodes(function.nodes);
    read_.insert(function.outputs.begin(), function.outputs.end());
  }
}

void Importer::note(const std::string& text) {
  notes_.insert(text);
}

// User-provided numbers are float64 unless they come from a file.
Tensor Importer::as_declared(const proto::ValueInfo& input, const Tensor& elements) {
  const auto dtype = dtype_of(input.type);
  if (dtype == unknown_dtype || dtype == elements.dtype()) return elements;
  return host_.call("tenon.cast", {elements}, {{"dtype", std::string(name_of(dtype))}});
}

// `shapes` of inputs: those that are used are removed.
Operand Importer::input_tensor(const std::string& name, const std::string& graph_name,
                               const proto::Type* declared, std::map<std::string, Shape>& shapes,
                               DimNames dim_names) {
  if (declared == nullptr || declared->kind != proto::TypeKind::tensor)
    refuse(model_, fmt::format("input '{}' is not a tensor; Tenon supports only tensors", name));
  const auto dtype = dtype_of(declared);
  if (dtype == unknown_dtype)
    refuse(model_, fmt::format("input '{}' has elements of type {}, which Tenon does not support",
                               name, element_type_name(declared->dtype)));
  Shape shape;
  if (declared->has_shape) {
    if (declared->dims.size() > max_rank)
      refuse(model_, fmt::format("input '{}' has {} dimensions; at most {} are supported", name,
                                 declared->dims.size(), max_rank));
    std::vector<std::int64_t> dims;
    for (const auto& dim : declared->dims) dims.push_back(dim.size);
    shape = Shape(dims.data(), static_cast<int>(dims.size()));
  }
  if (const auto found = shapes.find(name); found != shapes.end()) {
    auto type = tenon::type_of(dtype, shape);
    if (merge(type, tenon::type_of(dtype, found->second)) == Merge::contradiction)
      throw Failure(FailureKind::usage,
                    fmt::format("input '{}' is {} in the model, which cannot become {}", name,
                                to_string(type), to_string(tenon::type_of(dtype, found->second))));
    shape = tenon::shape_of(type);
    note(fmt::format("input '{}' has the shape {}", name, to_string(tenon::type_of(dtype, shape))));
    shapes.erase(found);
  }
  const auto type = tenon::type_of(dtype, shape);
  auto least = type;
  for (int i = 0; i < least.rank; ++i) least.dims[i] = std::max<std::int64_t>(least.dims[i], 1);
  if (!is_sound(type) || (least.rank >= 0 && byte_count(least) < 0))
    refuse(model_, fmt::format("the shape of input '{}' has too many elements", printable(name)));
  const auto value = builder_.input(graph_name, type);
  if (dim_names == DimNames::dropped) return {value, {}, {}};
  const auto& dims = declared->dims;
  std::vector<std::string> names(static_cast<std::size_t>(std::max(type.rank, 0)));
  for (std::size_t i = 0; i < names.size(); ++i)
    if (type.dims[i] < 0 && dims.size() == names.size()) names[i] = dim_name(dims[i].name);
  if (std::any_of(names.begin(), names.end(),
                  [](const std::string& name) { return !name.empty(); }))
    builder_.name_dims(value, names);
  return {value, {}, {}};
}

void Importer::import_inputs() {
  auto shapes = options_.shapes;
  auto lengths = options_.lengths;
  auto fixed = options_.fixed;
  std::map<std::string, std::string> renamed;  // users may use either name
  for (const auto& input : model_.graph.inputs)
    if (const auto found = changed_names_.find(input.name); found != changed_names_.end())
      renamed.emplace(found->second, input.name);
  rename_keys(shapes, renamed);
  rename_keys(fixed, renamed);
  rename_keys(lengths, renamed);
  for (const auto& input : model_.graph.inputs) {
    if (initializers_.contains(input.name) || sparse_initializers_.contains(input.name)) continue;
    const std::string name(input.name);
    if (const auto found = fixed.find(name); found != fixed.end()) {
      if (input.type != nullptr && input.type->dtype == string_type)
        throw Failure(FailureKind::usage,
                      fmt::format("input '{}' is text, which cannot be fixed", name));
      define(input.name, {none, as_declared(input, found->second), {}});
      note(fmt::format("input '{}' is fixed", name));
      fixed.erase(found);
      continue;
    }
    const auto* type = input.type;
    if (type != nullptr && type->kind == proto::TypeKind::optional) {
      note(fmt::format("input '{}' is optional in the model, but required in the graph", name));
      type = type->element;
    }
    if (type != nullptr && type->kind == proto::TypeKind::sequence) {
      define(input.name, input_sequence(input.name, *type, lengths, shapes));
      continue;
    }
    const auto operand = input_tensor(name, graph_name("input", input.name), type, shapes);
    const bool is_text = type->dtype == string_type;
    const auto texts = is_text ? names_of_output(input.name) : nullptr;
    if (is_text) text_inputs_.emplace_back(operand.value, texts);
    define(input.name, {operand.value, {}, {}, texts});
  }
  for (const auto& [name, length] : lengths)
    throw Failure(FailureKind::usage,
                  fmt::format("the model has no input '{}' that is a sequence, so its length "
                              "cannot be set",
                              name));
  for (const auto& [name, shape] : shapes)
    throw Failure(FailureKind::usage,
                  fmt::format("the model has no input '{}', so its shape cannot be set", name));
  for (const auto& [name, value] : fixed)
    throw Failure(FailureKind::usage,
                  fmt::format("the model has no input '{}', so it cannot be fixed", name));
}

Operand* Importer::find_or_read(std::string_view name) {
  if (const auto found = scope_.find(name); found != scope_.end()) return &found->second;
  if (function_ != home_) return nullptr;  // functions see only their own values
  if (const auto found = initializers_.find(name); found != initializers_.end())
    return &scope_.emplace(name, read(*found->second, name)).first->second;
  if (const auto found = sparse_initializers_.find(name); found != sparse_initializers_.end())
    return &scope_.emplace(name, Operand{none, tensors_.read(*found->second), name}).first->second;
  return find_outside(name);
}

Operand& Importer::find(std::string_view name) {
  if (auto* found = find_or_read(name)) return *found;
  refuse(model_, fmt::format("'{}' is used before it is produced", name));
}

void Importer::define(std::string_view name, Operand operand) {
  if (!scope_.emplace(name, std::move(operand)).second)
    refuse(model_, fmt::format("two nodes produce '{}'", name));
}

std::string Importer::free_name(std::string_view base) const {
  const auto allowed = allowed_name(base);
  auto name = tenon::free_name(builder_.model(), allowed);
  for (int i = 1; reserved_names_.contains(name); ++i)
    name = tenon::free_name(builder_.model(), fmt::format("{}_{}", allowed, i));
  return name;
}

// Names that a graph allows are kept; others are changed, and the change is noted unless obvious.
void Importer::choose_names() {
  std::vector<std::string_view> values, all;
  for (const auto& input : model_.graph.inputs) values.push_back(input.name);
  for (const auto& tensor : model_.graph.initializers) values.push_back(tensor.name);
  for (const auto& tensor : model_.graph.sparse_initializers) values.push_back(tensor.values->name);
  all = values;
  for (const auto& output : model_.graph.outputs) all.push_back(output.name);
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, std::size_t> alike;  // count by name and by name without suffix
  const auto take = [&](const std::string& name) {
    if (!taken.insert(name).second) return false;
    ++alike[name];
    if (const auto stem = without_number(name); stem != name) ++alike[std::string(stem)];
    return true;
  };
  for (const auto name : all)
    if (allowed_name(name) == name) take(std::string(name));
  std::unordered_map<std::string, std::uint64_t> last;
  for (const auto name : all) {
    const auto allowed = allowed_name(name);
    if (allowed == name || changed_names_.contains(name)) continue;
    auto& number = last[allowed];
    auto chosen = number == 0 ? allowed : fmt::format("{}_{}", allowed, number);
    for (; !take(chosen); chosen = fmt::format("{}_{}", allowed, number)) ++number;
    changed_names_.emplace(name, std::move(chosen));
  }
  for (const auto name : values) reserved_names_.insert(chosen_name(name));
  for (const auto& [name, chosen] : changed_names_)
    if (alike[allowed_name(name)] > 1 && is_utf8(name))
      note_changed_name(impl_of(graph_).edit().model, chosen, name);
}

std::string Importer::chosen_name(std::string_view name) const {
  const auto found = changed_names_.find(name);
  return found == changed_names_.end() ? allowed_name(name) : found->second;
}

// Returns the name of an input or output in the graph and notes it if it differs.
std::string Importer::graph_name(std::string_view what, std::string_view name) {
  auto chosen = chosen_name(name);
  if (chosen != name)
    note(fmt::format("{} '{}' is named '{}' in the graph", what, printable(name), chosen));
  return chosen;
}

tenon_type Importer::type_of(const Operand& operand) const {
  if (operand.value != none) return builder_.model().values[operand.value].type;
  require_tensor(operand);
  auto type = tenon::type_of(operand.elements.dtype(), operand.elements.shape());
  type.storage = operand.elements.abi().storage;
  return type;
}

// Floating-point initializers become variables, others constants. Equal memory becomes one value.
ValueId Importer::value_of(Operand& operand) {
  if (operand.value != none) return operand.value;
  require_tensor(operand);
  const auto& elements = operand.elements;
  const void* const address = elements.size() == 0 ? nullptr : elements.data();
  if (const auto found = values_by_address_.find(address); address != nullptr &&
                                                           found != values_by_address_.end() &&
                                                           same_type(found->second.first, elements))
    return operand.value = found->second.first;
  if (outer_ != nullptr && !is_subgraph_constant(operand))
    return operand.value = captured({none, elements, operand.initializer});
  const bool weight = !operand.initializer.empty() && allows(floating.mask, elements.dtype()) &&
                      elements.shape().rank() > 0;
  auto name = chosen_name(operand.initializer);
  if (outer_ != nullptr || operand.initializer.empty() || is_named(builder_.model(), name))
    name = free_name(operand.initializer.empty() ? std::string_view("constant")
                                                 : std::string_view(operand.initializer));
  operand.value = builder_.tensor(name, weight ? Role::variable : Role::constant, elements);
  values_by_address_.emplace(address, std::pair(operand.value, elements));
  return operand.value;
}

bool Importer::same_type(ValueId value, const Tensor& elements) const {
  const auto& type = builder_.model().values[value].type;
  return type.dtype == static_cast<std::uint8_t>(elements.dtype()) &&
         tenon::shape_of(type) == elements.shape();
}

void Importer::state(std::string_view node, const std::string& state, const Tensor& elements) {
  if (outer_ != nullptr) throw Failure(FailureKind::file, "subgraphs cannot have states");
  builder_.tensor(fmt::format("{}_{}", node, state), Role::state, elements.clone());
}

// Returns the node's visible outputs, as its parameters determine them.
std::vector<Operand> Importer::add_node(NodeSpec spec, std::string_view name) {
  const auto free = name.empty() ? std::string() : free_name(name);
  spec.name = free;
  spec.implicit_variables = false;
  const auto node = builder_.node(spec);
  const auto& record = builder_.model().nodes[node];
  const auto& outputs = builder_.binding().nodes[node].info->outputs;
  std::vector<Operand> made;
  for (std::uint32_t i = 0; i < record.output_count; ++i)
    if (i >= outputs.size() || !outputs[i].hidden)
      made.push_back({record.first_output + i, {}, {}});
  return made;
}

std::vector<Operand> Importer::call(const std::string& op, const Named& inputs,
                                    const Attributes& attributes, std::string_view name) {
  const auto& at = loaded(op);
  const auto& info = *at.info;
  if (outer_ != nullptr && info.random)
    throw Failure(FailureKind::file, "subgraphs cannot draw random numbers");
  std::vector<const Operand*> operands;
  for (const auto& [input, operand] : inputs) operands.push_back(&operand);
  if (may_compute(info, operands)) {
    std::vector<Tensor> tensors(info.inputs.size());
    const auto assign = [&](const auto& input) {
      const auto at = info.find_input(input.first);
      if (at >= 0) tensors[static_cast<std::size_t>(at)] = input.second.elements;
      return at >= 0;
    };
    if (!info.variadic() && std::all_of(inputs.begin(), inputs.end(), assign) &&
        may_compute(at, tensors, attributes))
      return compute(op, tensors, attributes);
  }
  std::vector<std::pair<std::string, ValueId>> named;
  for (auto [input, operand] : inputs)
    if (!operand.empty()) named.emplace_back(input, value_of(operand));
  return add_node({.op = op,
                   .name = {},
                   .inputs = {},
                   .named_inputs = std::move(named),
                   .attributes = attributes,
                   .loaded = &at},
                  name);
}

std::vector<Operand> Importer::call(const std::string& op, const std::vector<Operand>& inputs,
                                    const Attributes& attributes, std::string_view name) {
  const auto& at = loaded(op);
  if (outer_ != nullptr && at.info->random)
    throw Failure(FailureKind::file, "subgraphs cannot draw random numbers");
  std::vector<const Operand*> operands;
  operands.reserve(inputs.size());
  for (const auto& operand : inputs) operands.push_back(&operand);
  if (may_compute(*at.info, operands)) {
    std::vector<Tensor> tensors;
    tensors.reserve(inputs.size());
    for (const auto& operand : inputs) tensors.push_back(operand.elements);
    if (may_compute(at, tensors, attributes)) return compute(op, tensors, attributes);
  }
  std::vector<ValueId> values;
  values.reserve(inputs.size());
  for (auto operand : inputs) values.push_back(operand.empty() ? none : value_of(operand));
  return add_node({.op = op,
                   .name = {},
                   .inputs = std::move(values),
                   .named_inputs = {},
                   .attributes = attributes,
                   .loaded = &at},
                  name);
}

const proto::Attribute* Importer::resolved(const proto::Attribute& attribute) const {
  if (attribute.ref_attr_name.empty()) return &attribute;
  const auto found = arguments_.find(attribute.ref_attr_name);
  if (found == arguments_.end())
    refuse(
        model_,
        fmt::format(
            "attribute '{}' of a node refers to '{}' of its function, which has no such attribute",
            printable(attribute.name), printable(attribute.ref_attr_name)));
  return found->second;
}

void Importer::import_node(const proto::Node& node) {
  const auto version =
      version_of(node, function_ != nullptr ? function_->opset_imports : model_.opset_imports);
  NodeImport at(*this, node, version);
  std::optional<Failure> refusal;
  SharedNames names;     // of its inputs, if they are texts
  bool is_read = false;  // whether all of its inputs exist
  try {
    const auto& kind = kind_of(node, version);
    if (!missing_.empty() && missing_.contains(kind.name)) return;
    for (const auto input : node.inputs)
      if (!input.empty() && find_or_read(input) == nullptr) {
        if (!missing_.empty()) return;  // its producer is missing
        at.refuse(fmt::format("its input '{}' is used before it is produced", input));
      }
    is_read = true;
    names = names_of_inputs(at);
    if (node.domain.empty() && node.type == "Identity" && reads_sequence(node)) {
      at.output(at.input(0));
      return at.finish();
    }
    if (kind.function == nullptr) refuse_sequences(at);
    if (names != nullptr && node.type == "Cast") {  // text to text
      at.require(at.integer("to", 0) == string_type, "its input is text, which has no numbers");
      at.ignore("saturate"), at.ignore("round_mode");
      at.output(at.input(0));
      return at.finish();
    }
    const auto* function = kind.function;
    if (kind.mapped == nullptr && function != nullptr && options_.prefer_functions)
      return import_function(at, *function);
    if (kind.mapped != nullptr) {
      import_as(at, *kind.mapped);
    } else if (by_plugin(at, refusal)) {
    } else if (kind.exported != nullptr) {
      import_as(at, kind.exported->info);
    } else if (kind.composition != nullptr) {
      kind.composition(at);
      if (!missing_.empty()) return;  // inside its subgraphs
    } else if (function != nullptr) {
      return import_function(at, *function);
    } else if (!by_name(at)) {
      // a graph parameter must be able to run
      if (options_.keep_unknown && outer_ == nullptr) return keep_as_placeholder(at);
      missing_.insert(kind.name);
      return;
    }
    at.finish();
    if (names == nullptr || !moves_texts(node)) return;
    for (const auto output : node.outputs)
      if (const auto found = scope_.find(output); found != scope_.end())
        found->second.names = names;
  } catch (const Failure& last) {
    // the operator's reason is better than that of the composition tried after it
    const auto& failure = refusal ? *refusal : last;
    if (options_.keep_unknown && outer_ == nullptr && reads_placeholder(node))
      return keep_as_placeholder(at);
    try {
      const auto is_text = [&](std::string_view input) {
        const auto* operand = input.empty() ? nullptr : find_or_read(input);
        return operand != nullptr && operand->names != nullptr;
      };
      if (!has_texts(node) && std::none_of(node.inputs.begin(), node.inputs.end(), is_text) &&
          defer(at))
        return;
    } catch (const Failure&) {  // `failure` is more specific
    }
    const std::string_view what = failure.what();
    const bool labelled = what.find(at.label()) != std::string_view::npos;
    if (!labelled && what.starts_with(model_.path.string() + ": ")) {  // already names a node
      if (refusal) throw failure;
      throw;
    }
    const Failure named = labelled ? failure : at.refusal(failure.what(), failure.hint());
    const bool has_graphs = std::any_of(
        node.attributes.begin(), node.attributes.end(), [](const proto::Attribute& attribute) {
          return std::holds_alternative<const proto::Graph*>(attribute.value);
        });
    if (is_read && !has_graphs) throw NodeFailure(named);
    throw named;
  }
}

void Importer::import_function(NodeImport& node, const proto::Function& function) {
  charge_inlined(node, function);
  Scope inside;
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    if (node.has(i)) inside.emplace(function.inputs[i], node.input(i));
  std::map<std::string_view, const proto::Attribute*> arguments;
  for (const auto& attribute : function.attribute_defaults)
    arguments.emplace(attribute.name, &attribute);
  for (const auto& attribute : node.node().attributes)
    if (const auto* value = node.attribute(attribute.name))
      arguments.insert_or_assign(attribute.name, value);
  for (const auto name : function.attributes)
    if (!arguments.contains(name))
      node.refuse(fmt::format("its attribute '{}' is missing; its function requires it", name));
  std::vector<Operand> results;
  {
    const auto* called = &function;
    const auto exchange = [&] {
      std::swap(scope_, inside), std::swap(arguments_, arguments), std::swap(function_, called);
    };
    exchange();
    try {
      for (const auto& inner : function.nodes) import_node(inner);
      for (std::size_t i = 0; missing_.empty() && i < function.outputs.size(); ++i)
        results.push_back(find(function.outputs[i]));
    } catch (...) {
      exchange();
      throw;
    }
    exchange();
  }
  for (std::size_t i = 0; i < results.size(); ++i) node.output(i, std::move(results[i]));
}

Graph load(Host& host, const std::filesystem::path& path, const ImportOptions& options) {
  const auto model = read_model(path);
  std::string why;
  if (options.shapes.empty() && options.fixed.empty() && options.map.empty() &&
      !options.prefer_functions)
    if (auto embedded = embedded_graph(model, why, options.trust_links)) {
      Graph graph(host);
      impl_of(graph).adopt(std::move(*embedded));
      return graph;
    }
  if (!why.empty() && options.note)
    options.note("the embedded graph of this file cannot be used: " + why);
  return Importer(host, model, options).import();
}

}  // namespace tenon::onnx
