#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tenon/host/draw.hpp>

#include "graph/parameters.hpp"
#include "run/impl_access.hpp"

namespace tenon {
namespace {

std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

bool is_default(const GraphModel& model, const OperatorInfo& info, const AttributeRecord& record) {
  const auto found = info.find_param(model.strings[record.name]);
  return found >= 0 && to_string(info.params[static_cast<std::size_t>(found)].default_value) ==
                           to_string(value_of(model, record));
}

std::string node_text(const GraphModel& model, const NodeRecord& node) {
  const auto& use = model.operators[node.op];
  const auto name = model.strings[node.name];
  std::string text(name);
  if (name != use.name) text += "\n" + work_label(model, node);
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    if (use.info && is_default(model, *use.info, record)) continue;
    text +=
        fmt::format("\n{} = {}", model.strings[record.name], to_string(value_of(model, record)));
  }
  return text;
}

std::string value_id(const GraphModel& model, ValueId value) {
  const auto& record = model.values[value];
  return record.role == Role::output ? fmt::format("n{}", record.producer)
                                     : fmt::format("v{}", value);
}

struct Style {
  const char *shape, *fill, *size;
};

Style style_of(Role role) {
  switch (role) {
    case Role::input:
      return {"ellipse", "#d7ecff", "12"};
    case Role::constant:
      return {"note", "#eeeeee", "9"};
    case Role::state:
      return {"cylinder", "#fde7c8", "9"};
    default:
      return {"box", "#f4f0e6", "9"};
  }
}

}  // namespace

std::string draw_graph(const Graph& graph) {
  const auto current = up_to_date_model(graph);
  const auto& model = *current;
  std::string dot =
      "digraph tenon {\n  rankdir=TB;\n  node [fontname=\"Helvetica\", fontsize=12, "
      "style=\"filled\", color=\"#555555\"];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\"];\n";
  const auto add = [&](const std::string& line) { dot += "  " + line + ";\n"; };
  for (ValueId value = 0; value < model.values.size(); ++value) {
    const auto& record = model.values[value];
    if (record.role == Role::output) continue;
    const auto style = style_of(record.role);
    add(fmt::format(
        "v{} [label={}, shape={}, fillcolor=\"{}\", fontsize={}]", value,
        dot_text(fmt::format("{}\n{}", model.strings[record.name], to_string(record.type))),
        style.shape, style.fill, style.size));
  }
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    add(fmt::format("n{} [label={}, shape=box, style=\"filled,rounded\", fillcolor=\"#cfe8cf\"]",
                    id, dot_text(node_text(model, node))));
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
      const auto value = model.edges[node.first_edge + i];
      if (value == none) continue;
      const bool computed = model.values[value].role == Role::output;
      add(fmt::format(
          "{} -> n{}{}", value_id(model, value), id,
          computed ? fmt::format(" [label={}]", dot_text(to_string(model.values[value].type)))
                   : ""));
    }
  }
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const auto& [name, value] = model.outputs[i];
    add(fmt::format("o{} [label={}, shape=ellipse, fillcolor=\"#ffd9d9\"]", i,
                    dot_text(model.strings[name])));
    add(fmt::format("{} -> o{} [label={}]", value_id(model, value), i,
                    dot_text(to_string(model.values[value].type))));
  }
  return dot + "}\n";
}

}  // namespace tenon
