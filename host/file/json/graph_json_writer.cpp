#include <fmt/format.h>
#include <fmt/ranges.h>

#include "file/json/graph_json.hpp"
#include "file/json/json_tensor.hpp"
#include "graph/operators/operator_use.hpp"
#include "graph/parameters.hpp"
#include "io/json_document.hpp"
#include "io/json_text.hpp"

namespace tenon {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}

/// Writes the top object's sections, and a section's lines.
class Page {
 public:
  void begin(std::string_view key, char bracket) {
    separate(sections_++ == 0 ? "\n" : ",\n");
    text_ += fmt::format("  {}: {}", in_quotes(key), bracket);
    lines_ = 0;
  }
  void line(const std::string& line) {
    separate(lines_++ == 0 ? "\n" : ",\n");
    text_ += "    " + line;
  }
  void end(char bracket) {
    if (lines_ != 0) text_ += "\n  ";
    text_ += bracket;
  }
  void value(std::string_view key, const std::string& value) {
    separate(sections_++ == 0 ? "\n" : ",\n");
    text_ += fmt::format("  {}: {}", in_quotes(key), value);
  }
  std::string finish() { return std::move(text_) + "\n}\n"; }

 private:
  void separate(const char* separator) { text_ += separator; }
  std::string text_ = "{";
  std::size_t sections_ = 0, lines_ = 0;
};

std::string value_line(const GraphModel& model, const ValueRecord& value) {
  std::string content;
  if (value.init.kind != Init::Kind::automatic) {
    content = "\"init\": ";
    append_init(content, value.init);
  }
  const auto add = [&](const std::string& item) {
    if (!item.empty()) content += (content.empty() ? "" : ", ") + item;
  };
  std::vector<std::string_view> names;
  if (value.dims != none)
    for (const auto name : model.dim_names[value.dims]) names.push_back(model.strings[name]);
  add(json_type(value.type, names));
  if (value.tensor != none) add(json_elements(model.tensors[value.tensor]));
  return fmt::format("{}: {{{}}}", in_quotes(model.strings[value.name]), content);
}

std::string inputs_of(const GraphModel& model, const NodeRecord& node) {
  const auto* edges = model.edges.data() + node.first_edge;
  auto count = node.input_count;
  while (count > 0 && edges[count - 1] == none) --count;
  std::string text = "[";
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i != 0) text += ", ";
    text += edges[i] == none ? "null" : in_quotes(value_label(model, edges[i]));
  }
  return text + ']';
}

struct AttributePrinter {
  std::string text;
  void operator()(bool flag) { text += flag ? "true" : "false"; }
  void operator()(std::int64_t whole) { append_json_number(text, whole); }
  void operator()(double real) { append_json_number(text, real); }
  void operator()(const std::string& words) { append_json_text(text, words); }
  template <class T>
  void operator()(const std::vector<T>& list) {
    text += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) text += ", ";
      (*this)(list[i]);
    }
    text += ']';
  }
  // Nested lists imply their shape, except for scalars and empty tensors.
  void operator()(const Tensor& tensor) {
    const auto elements = json_elements(tensor);
    const bool in_lists =
        tensor.shape().rank() > 0 && (tensor.size() > 0 || tensor.shape().rank() == 1);
    text += in_lists ? elements.substr(elements.find('['))
                     : fmt::format("{{{}, {}}}", json_type(type_of(tensor)), elements);
  }
};

std::string_view without_newline(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

// In a graph that was read but not yet bound, the text may be anything.
bool is_graph(const GraphModel& model, const NodeRecord& node, const AttributeRecord& attribute,
              const AttributeValue& value) {
  const auto* text = std::get_if<std::string>(&value.variant());
  const auto& op = *model.operators[node.op].info;
  if (text == nullptr || !is_graph_parameter(op.full_name(), model.strings[attribute.name]))
    return false;
  try {
    return std::holds_alternative<JsonValue::Object>(parse_json(*text, "").root.content);
  } catch (const Failure&) {
    return false;
  }
}

std::string attributes_of(const GraphModel& model, const NodeRecord& node) {
  AttributePrinter printer;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& attribute = model.attributes[node.first_attribute + i];
    printer.text += (i == 0 ? "" : ", ") + in_quotes(model.strings[attribute.name]) + ": ";
    if (const auto value = value_of(model, attribute); is_graph(model, node, attribute, value))
      printer.text += without_newline(std::get<std::string>(value.variant()));
    else
      std::visit(printer, value.variant());
  }
  return std::move(printer.text);
}

std::string node_line(const GraphModel& model, const NodeRecord& node) {
  auto line =
      fmt::format("{{\"name\": {}, \"op\": {}, \"inputs\": {}", in_quotes(model.strings[node.name]),
                  in_quotes(model.operators[node.op].info->full_name()), inputs_of(model, node));
  if (node.pass != Pass::forward)
    line += fmt::format(", \"{}\": {}", node.pass == Pass::backward ? "backward" : "recompute",
                        in_quotes(model.strings[model.nodes[node.origin].name]));
  if (node.attribute_count != 0 && node.pass == Pass::forward)
    line += fmt::format(", \"attrs\": {{{}}}", attributes_of(model, node));
  if (node.device != 0)
    line += fmt::format(", \"device\": {}", in_quotes(model.strings[node.device]));
  return line + '}';
}

/// States come with their nodes; only those with a tensor or an initializer are written.
bool is_written(const ValueRecord& value) {
  return value.role != Role::state || value.tensor != none ||
         value.init.kind != Init::Kind::automatic;
}

void write_categories(Page& page, const GraphModel& model) {
  bool begun = false;
  for (ValueId id = 0; id < model.values.size(); ++id) {
    const auto list = model.values[id].categories;
    if (list == none) continue;
    if (!begun) page.begin("categories", '{');
    begun = true;
    std::vector<std::string> names;
    for (const auto name : model.categories[list]) names.push_back(in_quotes(model.strings[name]));
    page.line(fmt::format("{}: [{}]", in_quotes(value_label(model, id)), fmt::join(names, ", ")));
  }
  if (begun) page.end('}');
}

void write_values(Page& page, const GraphModel& model, Role role, const char* key) {
  bool begun = false;
  for (const auto& value : model.values) {
    if (value.role != role || !is_written(value)) continue;
    if (!begun) page.begin(key, '{');
    begun = true;
    page.line(value_line(model, value));
  }
  if (begun) page.end('}');
}

}  // namespace

std::string write_graph_json(const GraphModel& model) {
  Page page;
  page.value("tenon", "1");
  if (model.name != GraphModel().name) page.value("name", in_quotes(model.name));
  page.begin("inputs", '{');
  for (const auto input : model.inputs) page.line(value_line(model, model.values[input]));
  page.end('}');
  write_values(page, model, Role::variable, "variables");
  write_values(page, model, Role::constant, "constants");
  write_values(page, model, Role::state, "states");
  page.begin("nodes", '[');
  for (const auto& node : model.nodes) page.line(node_line(model, node));
  page.end(']');
  page.begin("outputs", '{');
  for (const auto& [name, value] : model.outputs)
    page.line(in_quotes(model.strings[name]) + ": " + in_quotes(value_label(model, value)));
  page.end('}');
  if (!model.updates.empty()) {
    page.begin("updates", '{');
    for (const auto& [variable, value] : model.updates)
      page.line(in_quotes(value_label(model, variable)) + ": " +
                in_quotes(value_label(model, value)));
    page.end('}');
  }
  write_categories(page, model);
  if (!model.meta.empty()) {
    page.begin("notes", '{');
    for (const auto& [key, text] : model.meta)
      page.line(in_quotes(model.strings[key]) + ": " + in_quotes(model.strings[text]));
    page.end('}');
  }
  return page.finish();
}

}  // namespace tenon
