#include "graph/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>

#include "graph/name_mapping.hpp"
#include "io/counted.hpp"

namespace tenon {
namespace {

std::uint32_t look_up(const Strings& strings, const NameTable& names, std::string_view name) {
  return names.find(strings.find(name));
}

// Parses the part after the colon, such as `1` or `mask`.
std::uint32_t output_index(const GraphModel& model, const NodeRecord& node, std::string_view text) {
  std::uint32_t index = none;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size()) return index;
  const auto& info = *model.operators[node.op].info;
  const int named = node.pass == Pass::backward ? info.find_input(text) : info.find_output(text);
  return named < 0 ? none : static_cast<std::uint32_t>(named);
}

std::string graph_value_name(const GraphModel& model, std::string_view text) {
  std::vector<std::string> names;
  for (const auto name : model.value_names.names()) names.emplace_back(model.strings[name]);
  return name_in_graph(names, std::string(text), changed_names(model));
}

[[noreturn]] ValueId refuse_unknown(const GraphModel& model, std::string_view text) {
  const auto name = text.substr(0, text.find(':'));
  if (name != text && look_up(model.strings, model.value_names, name) != none)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}': '{}' is one value and has no numbered outputs", text, name),
                  fmt::format("write {}", name));
  std::vector<std::string> names;
  for (const auto& node : model.nodes) names.emplace_back(model.strings[node.name]);
  for (const auto name : model.value_names.names()) names.emplace_back(model.strings[name]);
  throw Failure(FailureKind::usage, fmt::format("the graph has no value '{}'", text),
                did_you_mean(similar_names(text, names)));
}

}  // namespace

const NodeRecord& forward_of(const GraphModel& model, const NodeRecord& node) {
  return node.pass == Pass::backward ? model.nodes[node.origin] : node;
}

std::vector<tenon_type> declared_types(const GraphModel& model) {
  std::vector<tenon_type> types;
  types.reserve(model.values.size());
  for (const auto& value : model.values) types.push_back(value.type);
  return types;
}

std::string operator_label(const GraphModel& model, std::uint32_t op) {
  const auto& use = model.operators[op];
  const auto namesakes =
      std::count_if(model.operators.begin(), model.operators.end(), [&](const auto& other) {
        return other.name == use.name && other.info->space != use.info->space;
      });
  return namesakes == 0 ? use.name : use.info->full_name();
}

std::string work_label(const GraphModel& model, const NodeRecord& node) {
  auto name = operator_label(model, node.op);
  switch (node.pass) {
    case Pass::backward:
      return name + " backward";
    case Pass::recompute:
      return name + " recomputed";
    default:
      return name;
  }
}

std::string value_label(const GraphModel& model, ValueId value) {
  const auto& record = model.values[value];
  if (record.role != Role::output || record.name != 0)
    return std::string(model.strings[record.name]);
  const auto name = model.strings[model.nodes[record.producer].name];
  return record.index == 0 ? std::string(name) : fmt::format("{}:{}", name, record.index);
}

bool is_named(const GraphModel& model, std::string_view name) {
  const auto id = model.strings.find(name);
  return model.node_names.find(id) != none || model.value_names.find(id) != none;
}

// Numbers are mostly taken from 1 on without gaps, so the first free one is found by doubling and
// bisection.
std::string free_name(const GraphModel& model, std::string_view preferred, std::uint64_t& last) {
  const auto numbered = [&](std::uint64_t i) {
    return i == 0 ? std::string(preferred) : fmt::format("{}_{}", preferred, i);
  };
  if (last > 0 && is_named(model, numbered(last)))
    if (auto next = numbered(last + 1); !is_named(model, next)) return ++last, next;
  last = 0;
  if (!is_named(model, preferred)) return std::string(preferred);
  std::uint64_t taken = 0, free = 1;
  while (is_named(model, numbered(free))) taken = std::exchange(free, 2 * free);
  while (free - taken > 1) {
    const auto middle = taken + (free - taken) / 2;
    (is_named(model, numbered(middle)) ? taken : free) = middle;
  }
  return numbered(last = free);
}

std::string free_name(const GraphModel& model, std::string_view preferred) {
  std::uint64_t last = 0;
  return free_name(model, preferred, last);
}

ValueId find_input(const GraphModel& model, std::string_view name) {
  const auto value = look_up(model.strings, model.value_names, name);
  return value != none && model.values[value].role == Role::input ? value : none;
}

ValueId find_value(const GraphModel& model, std::string_view text) {
  if (const auto value = look_up(model.strings, model.value_names, text); value != none)
    return value;
  const auto colon = text.find(':');
  const auto id = look_up(model.strings, model.node_names, text.substr(0, colon));
  if (id == none) {
    const auto graph_name = graph_value_name(model, text);
    return graph_name.empty() ? refuse_unknown(model, text)
                              : look_up(model.strings, model.value_names, graph_name);
  }
  const auto& node = model.nodes[id];
  const auto index =
      colon == std::string_view::npos ? 0 : output_index(model, node, text.substr(colon + 1));
  if (index >= node.output_count)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}': node '{}' has {}", text, text.substr(0, colon),
                              counted(node.output_count, "output")));
  return node.first_output + index;
}

const OperatorFactory* object_factory(const GraphModel& model, NodeId node) {
  if (model.objects.empty()) return nullptr;
  const auto found =
      model.objects.find(model.nodes[node].pass == Pass::forward ? node : model.nodes[node].origin);
  return found == model.objects.end() ? nullptr : found->second.get();
}

static constexpr std::string_view object_note = "object of node ";

void note_unsaved_members(GraphModel& model, NodeId node, const std::string& class_name) {
  const auto key = std::string(object_note) + std::string(model.strings[model.nodes[node].name]);
  model.meta.emplace_back(model.strings.intern(key), model.strings.intern(class_name));
}

std::vector<std::string> unsaved_members(const GraphModel& model) {
  std::vector<std::string> sentences;
  for (const auto& [key, class_name] : model.meta) {
    const std::string_view text = model.strings[key];
    if (!text.starts_with(object_note)) continue;
    sentences.push_back(
        fmt::format("node '{}' ran on an object of class {}, whose members other than parameters "
                    "are not in the file: they have "
                    "their initial values",
                    text.substr(object_note.size()), model.strings[class_name]));
  }
  return sentences;
}

}  // namespace tenon
