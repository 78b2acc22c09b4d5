#include "plan/pass_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "io/counted.hpp"
#include "isolate/isolated_plugin.hpp"
#include "plan/plan.hpp"
#include "plan/reorder.hpp"

namespace tenon {
namespace {

/// Collects counts, and phrases for the nonzero ones.
class ChangeList {
 public:
  void count(const char* what, std::size_t number) {
    changes_.counts.push_back({what, static_cast<std::int64_t>(number)});
  }
  void say(std::string phrase) { phrases_.push_back(std::move(phrase)); }
  void add(const char* what, std::size_t number, std::string_view noun, std::string_view rest = {},
           std::string_view plural = {}) {
    count(what, number);
    if (number > 0) say(counted(number, noun, plural).append(rest));
  }
  PassChanges take() {
    changes_.text = fmt::format("{}", fmt::join(phrases_, ", "));
    return std::move(changes_);
  }

 private:
  PassChanges changes_;
  std::vector<std::string> phrases_;
};

std::string bytes_text(std::int64_t bytes) {
  return readable_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

bool reorders(const Plan& plan, NodeId id) {
  return plan.graph.binding().nodes[id].op == &reorder_operator();
}

std::size_t reorder_count(const Plan& plan) {
  std::size_t count = 0;
  for (NodeId id = 0; id < plan.model().nodes.size(); ++id) count += reorders(plan, id) ? 1 : 0;
  return count;
}

/// Number of nodes of the original graph: passes append theirs.
std::size_t original_nodes(const Plan& plan) {
  const auto& graph = plan.graph;
  return plan.model().nodes.size() - graph.conversions.size() - graph.copies.size() -
         reorder_count(plan) - graph.groups.size();
}

std::size_t count_writes(const Plan& plan, std::uint8_t write) {
  return static_cast<std::size_t>(
      std::count(plan.memory.writes.begin(), plan.memory.writes.end(), write));
}

}  // namespace

PassChanges changes_of_outputs(const Plan& plan) {
  ChangeList list;
  list.add("outputs", plan.model().outputs.size(), "output");
  if (plan.graph.partial) list.say("only what they need runs");
  return list.take();
}

PassChanges changes_of_kernels(const Plan& plan) {
  const auto& graph = plan.graph;
  std::map<std::string, std::size_t> devices;
  std::size_t nodes = 0, sparse = 0;
  const auto count = original_nodes(plan);
  for (NodeId id = 0; id < count; ++id) {
    if (graph.devices[id] == nullptr) continue;
    ++nodes;
    ++devices[graph.devices[id]->name()];
    sparse += graph.sparse[id] ? 1 : 0;
  }
  ChangeList list;
  list.count("nodes", nodes);
  for (const auto& [device, number] : devices) list.say(counted(number, "node") + " on " + device);
  list.add("sparse", sparse, "sparse kernel");
  list.add("variants", graph.variants.size(), "kernel", " chosen by types");
  return list.take();
}

PassChanges changes_of_lowering(const Plan& plan) {
  ChangeList list;
  list.add("conversions", plan.graph.conversions.size(), "conversion", " to dense");
  list.add("copies", plan.graph.copies.size(), "copy", " between devices", "copies");
  return list.take();
}

PassChanges changes_of_layouts(const Plan& plan) {
  const auto& types = plan.types();
  const auto last = std::count_if(types.begin(), types.end(), [](const auto& type) {
    return type.layout == TENON_LAYOUT_CHANNELS_LAST;
  });
  std::int64_t bytes = 0;
  for (NodeId id = 0; id < plan.model().nodes.size(); ++id)
    if (reorders(plan, id)) bytes += byte_count(types[plan.model().nodes[id].first_output]);
  ChangeList list;
  list.add("values", static_cast<std::size_t>(last), "value", " channels-last");
  list.add("reorders", reorder_count(plan), "reorder", fmt::format(" of {}", bytes_text(bytes)));
  list.count("bytes", static_cast<std::size_t>(bytes));
  return list.take();
}

PassChanges changes_of_fusion(const Plan& plan) {
  std::size_t nodes = 0;
  for (const auto& group : plan.graph.groups) nodes += group.nodes.size();
  ChangeList list;
  list.count("nodes", nodes);
  list.count("steps", plan.graph.groups.size());
  if (nodes > 0)
    list.say(
        fmt::format("{} -> {}", counted(nodes, "node"), counted(plan.graph.groups.size(), "step")));
  return list.take();
}

PassChanges changes_of_order(const Plan& plan) {
  const auto steps = plan.step_count() + plan.memory.fused_sums.size();
  ChangeList list;
  list.add("steps", steps, "step");
  list.add("unused", plan.graph.order.size() - steps, "node", " removed");
  return list.take();
}

PassChanges changes_of_sums(const Plan& plan) {
  ChangeList list;
  list.add("sums", plan.memory.fused_sums.size(), "sum", " without a step");
  return list.take();
}

PassChanges changes_of_lifetimes(const Plan& plan) {
  ChangeList list;
  list.add("updates_in_place", plan.memory.updated.size(), "variable", " updated in place");
  list.add("updates_copied", plan.memory.copies.size(), "variable",
           " updated by a copy after the run");
  return list.take();
}

PassChanges changes_of_workers(const Plan& plan) {
  const auto& memory = plan.memory;
  const auto shared =
      std::count_if(memory.arena_of.begin(), memory.arena_of.end(),
                    [&](std::uint32_t arena) { return memory.arenas[arena].writer != nullptr; });
  ChangeList list;
  list.add("buffers", static_cast<std::size_t>(shared), "buffer", " written by worker processes");
  return list.take();
}

PassChanges changes_of_buffers(const Plan& plan) {
  const auto& memory = plan.memory;
  const auto workspaces =
      std::count_if(memory.workspace_buffer.begin(), memory.workspace_buffer.end(),
                    [](auto id) { return id != none; });
  ChangeList list;
  list.add("buffers", memory.buffers.size() - static_cast<std::size_t>(workspaces), "buffer");
  list.add("in_place", count_writes(plan, TENON_WRITE_IN_PLACE), "output", " in place");
  list.add("added", count_writes(plan, TENON_WRITE_ADD), "output", " added");
  list.add("not_computed", count_writes(plan, TENON_WRITE_NONE), "output", " not computed");
  return list.take();
}

PassChanges changes_of_workspaces(const Plan& plan) {
  std::size_t count = 0, bytes = 0;
  for (std::size_t step = 0; step < plan.step_count(); ++step) {
    count += plan.workspace_of(step) > 0 ? 1 : 0;
    bytes += static_cast<std::size_t>(plan.workspace_of(step));
  }
  ChangeList list;
  list.add("workspaces", count, "workspace",
           fmt::format(" of {}", bytes_text(static_cast<std::int64_t>(bytes))));
  list.count("bytes", bytes);
  return list.take();
}

PassChanges changes_of_placement(const Plan& plan) {
  ChangeList list;
  list.count("bytes", static_cast<std::size_t>(plan.memory.bytes()));
  list.count("lower_bound", static_cast<std::size_t>(plan.memory.lower_bound()));
  for (const auto& arena : plan.memory.arenas)
    if (arena.placement.bytes > 0)
      list.say(fmt::format(
          "{} on {}: {:.3f} of the lower bound, {}", bytes_text(arena.placement.bytes),
          arena.writer == nullptr ? arena.device->name()
                                  : arena.device->name() + " of " + arena.writer->name(),
          arena.placement.ratio(), name_of(arena.placement.strategy)));
  return list.take();
}

PassChanges changes_of_variables(const Plan&) {
  return {};
}

PassChanges changes_of_gpus(const Plan& plan) {
  const auto& gpus = plan.gpus;
  const auto segments = std::count_if(gpus.work.begin(), gpus.work.end(),
                                      [](const auto& work) { return work.is_segment(); });
  const auto staged = std::count_if(gpus.staging.begin(), gpus.staging.end(),
                                    [](std::int64_t offset) { return offset >= 0; });
  ChangeList list;
  list.add("devices", gpus.devices.size(), "GPU");
  list.add("streams", gpus.streams.size(), "stream");
  list.add("segments", static_cast<std::size_t>(segments), "captured segment");
  list.add("staged", static_cast<std::size_t>(staged), "copy", " staged", "copies");
  return list.take();
}

PassChanges changes_of_constants(const Plan& plan) {
  std::size_t bytes = 0;
  for (const auto& constant : plan.packed) bytes += constant.bytes;
  ChangeList list;
  list.add("constants", plan.packed.size(), "packed constant",
           fmt::format(" of {}", bytes_text(static_cast<std::int64_t>(bytes))));
  list.count("bytes", bytes);
  return list.take();
}

}  // namespace tenon
