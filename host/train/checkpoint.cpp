#include "train/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "graph/parameters.hpp"
#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "plugin/operator_history.hpp"
#include "plugin/plugin_set.hpp"
#include "run/impl_access.hpp"
#include "run/shared_values.hpp"
#include "run/warnings.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw Failure(FailureKind::file, fmt::format("{}: cannot resume: {}", path.string(), what));
}

RestoredTensor checked(const Tensor& from, const Tensor& to, const std::string& name,
                       const std::filesystem::path& path) {
  if (from.dtype() != to.dtype() || from.shape() != to.shape())
    refuse(path, fmt::format("{} is {} {} in the checkpoint, but {} {} in this training", name,
                             name_of(from.dtype()), to_string(from.shape()), name_of(to.dtype()),
                             to_string(to.shape())));
  return {from, to};
}

std::string parameters_text(const Attributes& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, to_string(value));
  return text;
}

// The record lacks the optimizer's version, so parameters are renamed and completed by the current
// description.
Attributes todays_parameters(const Attributes& stored, const OperatorInfo& optimizer) {
  const auto named = with_current_names(stored, optimizer);
  const auto value_in = [](const auto& entries, const std::string& name) -> const AttributeValue* {
    for (const auto& [key, value] : entries)
      if (key == name) return &value;
    return nullptr;
  };
  Attributes today;
  for (const auto& param : optimizer.params) {
    const auto* value = value_in(named, param.name);
    if (value == nullptr && added_in(optimizer, param.name) == 1) continue;
    if (value == nullptr) value = value_in(optimizer.was, param.name);
    today.set(param.name, value != nullptr ? *value : param.default_value);
  }
  return today;
}

void require_same_nodes(const GraphModel& there, const GraphModel& here,
                        const std::filesystem::path& path) {
  const auto first = std::min(there.nodes.size(), here.nodes.size());
  for (std::size_t i = 0; i < first; ++i)
    if (const auto a = outline_of(there, there.nodes[i]), b = outline_of(here, here.nodes[i]);
        a != b)
      refuse(path,
             fmt::format("it belongs to another graph: it has node '{}' instead of '{}'", a, b));
  if (there.nodes.size() != here.nodes.size())
    refuse(path, fmt::format("it belongs to another graph: it has {}, this graph has {}",
                             counted(there.nodes.size(), "node"), here.nodes.size()));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_of(const TrainerOptions& options,
                                                             std::int64_t examples) {
  std::vector<std::pair<std::string, std::string>> settings;
  const auto add = [&](const char* name, const auto& value) {
    settings.emplace_back(name, fmt::format("{}", value));
  };
  const auto& schedule = options.schedule;
  const bool steps = schedule.kind == Schedule::Kind::step,
             cosine = schedule.kind == Schedule::Kind::cosine;
  add("loss", options.loss);
  add("learning rate", schedule.rate);
  add("schedule", steps ? "step" : cosine ? "cosine" : "constant");
  add("warm-up", schedule.warm_up);
  if (steps) add("decay every", schedule.every), add("decay", schedule.factor);
  if (cosine) add("end rate", schedule.end), add("schedule's steps", schedule.total);
  add("batch", options.batch);
  add("accumulate", options.accumulate);
  add("clip norm", options.clip_norm);
  add("shuffle", options.shuffle ? "on" : "off");
  add("number of examples", examples);
  add("precision", name_of(options.precision));
  return settings;
}

std::string outline_of(const GraphModel& model, const NodeRecord& node) {
  auto text = fmt::format("{} {}", model.strings[node.name], operator_label(model, node.op));
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = model.edges[node.first_edge + i];
    text += ' ' + (value == none ? "-" : value_label(model, value));
  }
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    text += fmt::format(" {}={}", model.strings[record.name], to_string(value_of(model, record)));
  }
  return text;
}

void add_record(Graph& graph, const Session& update, const std::vector<TrainedVariable>& trained,
                const TrainerOptions& options, std::int64_t examples, TrainingRecord where) {
  auto& model = edit_model(graph);
  where.optimizer = find_optimizer(graph.host(), options.optimizer)->full_name();
  where.parameters = parameters_of(SharedValues(update).graph(), trained.front());
  where.seed = options.seed;
  where.settings = settings_of(options, examples);
  where.micro_batches = static_cast<std::uint64_t>(options.micro_batches);
  for (const auto& one : trained)
    for (const auto& [name, state] : states_of(SharedValues(update).graph(), one)) {
      where.slots.push_back({name, find_value(model, one.variable),
                             static_cast<std::uint32_t>(model.tensors.size())});
      model.tensors.push_back(SharedValues(update).tensor(state));
    }
  model.training = std::move(where);
}

void check_record(const Graph& checkpoint, const Graph& forward, const Graph& update,
                  const std::vector<TrainedVariable>& trained, const TrainerOptions& options,
                  const std::filesystem::path& path) {
  const auto& record = model_of(checkpoint).training;
  if (!record) refuse(path, "it has no training state");
  require_same_nodes(model_of(checkpoint), model_of(forward), path);
  const auto differ = [&](const char* what, const std::string& there, const std::string& here) {
    if (there != here)
      throw Failure(FailureKind::usage,
                    fmt::format("{}: the checkpoint has {} {}, but this training has {}",
                                path.string(), what, there, here),
                    "use the checkpoint's value, or start a new training");
  };
  auto& host = checkpoint.host();
  const auto optimizer = find_optimizer(host, options.optimizer);
  const auto there = plugins_of(host).find({.name = record->optimizer}).name;
  if (there != optimizer->full_name())
    differ("optimizer", record->optimizer, optimizer->full_name());
  differ("optimizer parameters", parameters_text(todays_parameters(record->parameters, *optimizer)),
         parameters_text(parameters_of(update, trained.front())));
  differ("seed", std::to_string(record->seed), std::to_string(options.seed));
}

void warn_of_changes(const Graph& checkpoint, const TrainerOptions& options, std::int64_t examples,
                     const std::filesystem::path& path) {
  auto here = settings_of(options, examples), stored = model_of(checkpoint).training->settings;
  stored.emplace_back("number of micro-batches",
                      fmt::to_string(model_of(checkpoint).training->micro_batches));
  here.emplace_back("number of micro-batches", fmt::to_string(options.micro_batches));
  for (const auto& [name, there] : stored) {
    const auto found = std::find_if(
        here.begin(), here.end(),
        [&, &requested = name](const auto& setting) { return setting.first == requested; });
    if (found == here.end() || found->second == there) continue;
    const auto what = fmt::format(
        "{}: the checkpoint has {} {}, but this training has {}: training continues, but the "
        "results will differ",
        path.string(), name, printable(there), found->second);
    warnings_of(checkpoint.host()).once(what, what);
  }
}

void find_values(const Graph& checkpoint, const Graph& forward, const std::filesystem::path& path,
                 std::vector<RestoredTensor>& restored) {
  const auto& there = model_of(checkpoint);
  const auto& here = model_of(forward);
  for (const auto& value : here.values) {
    if (value.role != Role::variable && value.role != Role::state) continue;
    const std::string name(here.strings[value.name]);
    const auto stored = there.value_names.find(there.strings.find(name));
    if (stored == none || there.values[stored].tensor == none)
      refuse(path, fmt::format("it has no '{}'", name));
    restored.push_back(checked(there.tensors[there.values[stored].tensor],
                               here.tensors[value.tensor], fmt::format("'{}'", name), path));
  }
}

void find_slots(const Graph& checkpoint, const Session& update,
                const std::vector<TrainedVariable>& trained, const std::filesystem::path& path,
                std::vector<RestoredTensor>& restored) {
  const auto& model = model_of(checkpoint);
  const auto& slots = model.training->slots;
  const auto& added = find_optimizer(checkpoint.host(), model.training->optimizer)->added_states;
  std::size_t used = 0;
  for (const auto& one : trained)
    for (const auto& [name, state] : states_of(SharedValues(update).graph(), one)) {
      const auto found = std::find_if(
          slots.begin(), slots.end(), [&, &requested = name](const TrainingSlot& slot) {
            return slot.name == requested && value_label(model, slot.variable) == one.variable;
          });
      const bool came_since = std::any_of(
          added.begin(), added.end(),
          [&, &requested = name](const auto& entry) { return entry.second == requested; });
      if (found == slots.end() && came_since) continue;  // keeps its initial values
      if (found == slots.end())
        refuse(path, fmt::format("it has no '{}' for '{}'", name, one.variable));
      restored.push_back(checked(model.tensors[found->tensor], SharedValues(update).tensor(state),
                                 fmt::format("'{}' of '{}'", name, one.variable), path));
      ++used;
    }
  if (used != slots.size())
    refuse(path, fmt::format("it has {} optimizer states but needs {}", slots.size(), used));
}

}  // namespace tenon
