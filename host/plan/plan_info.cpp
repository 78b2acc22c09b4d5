#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "graph/inference/inference.hpp"
#include "graph/inference/operator_inference.hpp"
#include "io/counted.hpp"
#include "isolate/isolated_plugin.hpp"
#include "plan/memory/memory_use.hpp"
#include "plan/passes.hpp"
#include "plan/reorder.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_removed = 40;  // printed at most

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void fill_old_names(PlanInfo& plan) {
  plan.left_out = plan.removed;
  for (auto& step : plan.steps) {
    step.kept = step.packed_constants;
    for (auto& output : step.outputs) output.place = output.location;
  }
}
#pragma GCC diagnostic pop

OutputLocation location_of(const Plan& plan, const PlannedOutput& output, ValueId value) {
  if (output.write == Write::none) return OutputLocation::nowhere;
  if (output.storage != Storage::dense) return OutputLocation::kernel;
  if (output.offset >= 0) return OutputLocation::arena;
  return plan.memory.updated.contains(value) ? OutputLocation::variable : OutputLocation::caller;
}

PlannedOutput output_of(const Plan& plan, std::size_t step, std::uint32_t i) {
  const auto value = plan.node(step).first_output + i;
  const auto& type = plan.types()[value];
  PlannedOutput output{value_label(plan.model(), value),   to_string(type),
                       static_cast<DType>(type.dtype),     type.rank < 0 ? Shape() : shape_of(type),
                       static_cast<Storage>(type.storage), static_cast<Write>(plan.write(step, i))};
  output.offset = plan.memory.offset_of(value);
  output.channels_last = type.layout == TENON_LAYOUT_CHANNELS_LAST;
  if (output.channels_last) output.type += " channels-last";
  output.location = location_of(plan, output, value);
  return output;
}

// Returns the optimizations that an isolated plugin's step lacks compared with running in this
// process.
std::string missing_optimizations(const Plan& plan, std::size_t step) {
  const auto id = plan.node_of(step);
  if (plan.graph.worker_of(id) == nullptr) return {};
  const auto& op = plan.operator_of(id);
  const auto& node = forward_of(plan.model(), plan.node(step));
  const auto* edges = plan.model().edges.data() + node.first_edge;
  const auto is_constant = [&](ValueId value) {
    return value != none && value < plan.constant.size() && plan.constant[value];
  };
  const bool packs = std::any_of(op.isolated.begin(), op.isolated.end(),
                                 [](const auto& table) { return table->prepares(); }) &&
                     std::any_of(edges, edges + node.input_count, is_constant);
  const char* const words[] = {"", "cannot pack constants", "cannot use channels-last",
                               "cannot pack constants or use channels-last"};
  const int left_out = (packs ? 1 : 0) + (op.info->prefers_channels_last ? 2 : 0);
  return left_out == 0 ? std::string() : fmt::format("{} in a worker process", words[left_out]);
}

// Returns the names of the nodes that a step replaces.
std::vector<std::string> node_names(const Plan& plan, std::size_t step) {
  const auto& model = plan.model();
  std::vector<std::string> names;
  const auto nodes = plan.graph.nodes_at(plan.memory.order[step]);
  for (const auto id : nodes)
    if (const auto several = model.rewritten_from.find(id); several != model.rewritten_from.end())
      for (const auto name : several->second) names.emplace_back(model.strings[name]);
    else if (nodes.size() > 1)
      names.emplace_back(model.strings[model.nodes[id].name]);
  return names;
}

std::string step_algorithm(const Plan& plan, std::size_t step, const Kernels& kernels) {
  // only dense kernels report algorithms
  if (plan.copy_of(step) != none || plan.group_of(step) != none || plan.runs_sparse(step))
    return {};
  const auto id = plan.node_of(step);
  const auto& node = plan.node(step);
  const auto& kernel = plan.graph.kernel_of(id, kernels);
  if (!reports_algorithm(kernel)) return {};
  CallTypes call_types;
  gather_types(plan.model(), forward_of(plan.model(), node), plan.types(), call_types);
  return at_node(plan.model(), id, [&] {
    return algorithm_of(*plan.graph.binding().nodes[id].info, kernel,
                        dispatch_of(node.pass == Pass::backward, plan.runs_sparse(step)),
                        call_types);
  });
}

PlannedStep step_of(const Plan& plan, std::size_t step, const Kernels& kernels) {
  const auto& node = plan.node(step);
  PlannedStep info{std::string(plan.model().strings[node.name]), work_label(plan.model(), node),
                   plan.device_of(step).name()};
  if (const auto* from = plan.copied_from(step); from != nullptr) {
    const auto& type = plan.types()[node.first_output];
    info.copied_from = from->name();
    if (type.storage == TENON_DENSE) info.copied = byte_count(type);
  }
  if (plan.graph.binding().nodes[plan.node_of(step)].op == &reorder_operator())
    info.reordered = byte_count(plan.types()[node.first_output]);
  if (const auto* stream = plan.stream_of(step); stream != nullptr) {
    const auto& work = plan.gpus.work[plan.gpus.work_of[step]];
    info.stream = name_of(stream->role);
    if (work.begin == step)
      for (const auto earlier : work.after) info.after.push_back(plan.gpus.work[earlier].end - 1);
  }
  info.captured = plan.captures(step);
  info.sparse = plan.runs_sparse(step);
  if (const auto variant = plan.graph.variants.find(plan.node_of(step));
      variant != plan.graph.variants.end())
    info.variant = variant->second;
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const bool unused_gradient = node.pass == Pass::backward &&
                                 plan.types()[node.first_output + i].rank < 0 &&
                                 plan.memory.readers[node.first_output + i] == 0;
    if (!unused_gradient)
      info.outputs.push_back(output_of(plan, step, i));  // skip gradients of unconnected inputs
  }
  info.workspace = plan.workspace_of(step);
  info.without = missing_optimizations(plan, step);
  const auto packed =
      std::equal_range(plan.packed.begin(), plan.packed.end(),
                       PackedConstant{static_cast<std::uint32_t>(step), 0, 0, {}, 0},
                       [](const PackedConstant& left, const PackedConstant& right) {
                         return left.step < right.step;
                       });
  for (auto constant = packed.first; constant != packed.second; ++constant)
    info.packed_constants.push_back({value_label(plan.model(), constant->value), constant->key,
                                     static_cast<std::int64_t>(constant->bytes)});
  info.nodes = node_names(plan, step);
  info.algorithm = step_algorithm(plan, step, kernels);
  return info;
}

std::string text_of(const PlannedOutput& output) {
  switch (output.location) {
    case OutputLocation::nowhere:
      return "not computed";
    case OutputLocation::kernel:
      return "allocated by the kernel";
    case OutputLocation::variable:
      return "in place of a variable";
    case OutputLocation::caller:
      return "graph output";
    case OutputLocation::arena:
      break;
  }
  return fmt::format("{} {}",
                     output.write == Write::in_place ? "in place at"
                     : output.write == Write::add    ? "added at"
                                                     : "at",
                     output.offset);
}

}  // namespace

PlanInfo info_of(const Plan& plan, const Kernels& kernels) {
  PlanInfo info;
  info.steps.reserve(plan.step_count());
  for (std::size_t step = 0; step < plan.step_count(); ++step)
    info.steps.push_back(step_of(plan, step, kernels));
  for (const auto& [name, replaced_by] : plan.model().replaced_nodes)
    info.removed.push_back(
        {std::string(plan.model().strings[name]), std::string(plan.model().strings[replaced_by])});
  fill_old_names(info);
  info.memory = memory_uses(plan.model(), plan.memory);
  for (const auto& [device, writer, placement] : plan.memory.arenas)
    info.arenas.push_back(
        {writer == nullptr ? device->name() : device->name() + " of " + writer->name(),
         placement.bytes, placement.lower_bound, std::string(name_of(placement.strategy))});
  for (const auto& pass : plan_passes) {
    auto changes = pass.changes(plan);
    info.passes.push_back({std::string(pass.name), std::string(pass.doc), std::move(changes.text),
                           std::move(changes.counts)});
  }
  return info;
}

std::int64_t PlanInfo::bytes() const {
  std::int64_t sum = 0;
  for (const auto& arena : arenas) sum += arena.bytes;
  return sum;
}

std::int64_t PlanInfo::reordered_bytes() const {
  std::int64_t sum = 0;
  for (const auto& step : steps) sum += std::max<std::int64_t>(0, step.reordered);
  return sum;
}

// Operators are compared by name: kernels of one operator that differ, such as variants, rarely
// share a key.
std::int64_t PlanInfo::packed_bytes() const {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> counted;
  std::int64_t sum = 0;
  for (const auto& step : steps)
    for (const auto& packed : step.packed_constants)
      if (counted
              .emplace(std::string_view(step.op).substr(0, step.op.find(' ')), packed.value,
                       packed.key)
              .second)
        sum += packed.bytes;
  return sum;
}

std::string describe(const PlanInfo& plan) {
  std::string text;
  const auto to = std::back_inserter(text);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto& step = plan.steps[i];
    fmt::format_to(to, "{:>5}  {:<24} {:<20} {}", i, step.node, step.op, step.device);
    if (!step.copied_from.empty())
      fmt::format_to(to, " from {}, {}", step.copied_from,
                     step.copied >= 0 ? counted(step.copied, "byte") : "the stored bytes");
    if (step.reordered >= 0) fmt::format_to(to, " {}", counted(step.reordered, "byte"));
    if (step.captured) text += " captured";
    if (step.sparse) text += " sparse";
    if (!step.variant.empty()) text += " by " + step.variant;
    for (const auto& output : step.outputs)
      fmt::format_to(to, "  {} {}", output.type, text_of(output));
    if (step.workspace > 0) fmt::format_to(to, "  workspace {}", step.workspace);
    if (!step.without.empty()) text += "  " + step.without;
    for (const auto& packed : step.packed_constants)
      fmt::format_to(to, "  packs {} of {}", counted(packed.bytes, "byte"), packed.value);
    if (!step.algorithm.empty()) text += "  algorithm " + step.algorithm;
    text += '\n';
  }
  for (std::size_t i = 0; i < std::min(plan.removed.size(), max_removed); ++i)
    fmt::format_to(to, "    -  {:<24} {}\n", plan.removed[i].node, plan.removed[i].why);
  if (plan.removed.size() > max_removed)
    fmt::format_to(to, "    -  and {} more\n", plan.removed.size() - max_removed);
  if (!plan.later.empty())
    fmt::format_to(to, "then {} that {} planned when the shapes are known: {}\n",
                   counted(plan.later.size(), "node"), plan.later.size() == 1 ? "is" : "are",
                   listed(plan.later));
  return text + summarize(plan) + '\n';
}

std::string describe_passes(const PlanInfo& plan) {
  std::size_t width = 0;
  for (const auto& pass : plan.passes) width = std::max(width, pass.name.size());
  std::string text;
  for (const auto& pass : plan.passes)
    fmt::format_to(std::back_inserter(text), "{:<{}} {}\n", pass.name + ":", width + 1,
                   pass.changes.empty() ? "no change" : pass.changes);
  return text;
}

std::string describe_memory(const PlanInfo& plan) {
  check_arenas(plan);
  std::size_t width = 24, device_width = 8;
  const bool several = plan.arenas.size() > 1;
  const auto name_of_use = [](const MemoryUse& use) {
    return use.workspace ? use.name + " (workspace)" : use.name;
  };
  const auto device = [&](std::string_view name) {
    return several ? fmt::format(" {:<{}}", name, device_width) : std::string();
  };
  for (const auto& use : plan.memory) width = std::max(width, name_of_use(use).size());
  for (const auto& arena : plan.arenas) device_width = std::max(device_width, arena.device.size());
  auto text = fmt::format("{:<{}}{} {:>12} {:>12} {:>13}  in place of\n", "value", width,
                          device("device"), "bytes", "offset", "steps");
  for (const auto& use : plan.memory)
    fmt::format_to(std::back_inserter(text), "{:<{}}{} {:>12} {:>12} {:>13}  {}\n",
                   name_of_use(use), width, device(plan.arenas[use.arena].device), use.bytes,
                   use.offset, fmt::format("{}..{}", use.first, use.last),
                   use.in_place_of.empty() ? "-" : use.in_place_of);
  for (const auto& step : plan.steps)
    for (const auto& packed : step.packed_constants)
      fmt::format_to(std::back_inserter(text), "{} packs {} of {}: {}\n", step.node,
                     counted(packed.bytes, "byte"), packed.value, packed.key);
  return text + summarize(plan) + '\n';
}

std::string summarize(const PlanInfo& plan) {
  std::string text;
  for (const auto& arena : plan.arenas)
    fmt::format_to(std::back_inserter(text), "{}{} of memory, lower bound {}, ratio {:.3f}, {}",
                   plan.arenas.size() == 1 ? counted(plan.steps.size(), "step") + ", "
                                           : fmt::format("\n{}: ", arena.device),
                   counted(arena.bytes, "byte"), counted(arena.lower_bound, "byte"), arena.ratio(),
                   arena.strategy);
  if (plan.arenas.size() != 1) text = counted(plan.steps.size(), "step") + text;
  if (const auto packed = plan.packed_bytes(); packed > 0)
    text += fmt::format("; {} packed from constants", counted(packed, "byte"));
  if (const auto reordered = plan.reordered_bytes(); reordered > 0)
    text += fmt::format("; {} reordered", counted(reordered, "byte"));
  return text;
}

}  // namespace tenon
