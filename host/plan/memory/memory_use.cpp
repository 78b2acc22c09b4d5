#include "plan/memory/memory_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tenon/host/failure.hpp>

namespace tenon {
namespace {

class Uses {
 public:
  Uses(const GraphModel& model, const MemoryPlan& plan)
      : model_(model),
        plan_(plan),
        first_(model.values.size(), none),
        last_(model.values.size(), none),
        reused_(model.values.size(), none) {}

  std::vector<MemoryUse> run() {
    find_intervals();
    find_sums();
    for (const auto& [variable, value] : plan_.copies)
      last_[value] = static_cast<std::uint32_t>(plan_.order.size() - 1);
    for (ValueId value = 0; value < first_.size(); ++value)
      if (first_[value] != none && plan_.offset_of(value) >= 0) add(value);
    for (std::uint32_t step = 0; step < plan_.order.size(); ++step)
      if (plan_.workspace_buffer[step] != none) add_workspace(step);
    std::stable_sort(uses_.begin(), uses_.end(), [](const MemoryUse& left, const MemoryUse& right) {
      return left.first != right.first ? left.first < right.first : left.offset < right.offset;
    });
    return std::move(uses_);
  }

 private:
  void find_intervals();
  void find_sums();
  ValueId reused_value(const NodeRecord& node, ValueId value) const;
  void add(ValueId value);
  void add_workspace(std::uint32_t step);

  const GraphModel& model_;
  const MemoryPlan& plan_;
  std::vector<std::uint32_t> first_, last_;  // of each value; none: no step writes or reads it
  std::vector<ValueId> reused_;              // of each value: the value whose memory it reuses
  std::vector<MemoryUse> uses_;
};

void Uses::find_intervals() {
  std::size_t write = 0;
  for (std::uint32_t step = 0; step < plan_.order.size(); ++step) {
    const auto& node = model_.nodes[plan_.order[step]];
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model_.edges[node.first_edge + i]; value != none) last_[value] = step;
    for (auto value = node.first_output; value < node.first_output + node.output_count;
         ++value, ++write) {
      if (plan_.writes[write] == TENON_WRITE_NONE) continue;
      first_[value] = last_[value] = step;
      if (plan_.writes[write] == TENON_WRITE_IN_PLACE) reused_[value] = reused_value(node, value);
    }
  }
}

// No step produces a fused sum: the step of its right side does, in the memory of the left side.
void Uses::find_sums() {
  auto sums = plan_.fused_sums;
  std::sort(sums.begin(), sums.end(),
            [](const FusedSum& one, const FusedSum& other) { return one.node < other.node; });
  for (const auto& sum : sums) {
    first_[sum.sum] = last_[sum.left] = first_[sum.right];
    if (last_[sum.sum] == none) last_[sum.sum] = first_[sum.sum];
    reused_[sum.sum] = sum.left;
    first_[sum.right] = none;
  }
}

ValueId Uses::reused_value(const NodeRecord& node, ValueId value) const {
  for (const auto input : std::span(model_.edges).subspan(node.first_edge, node.input_count))
    if (input != none && plan_.offset_of(input) >= 0 &&
        plan_.buffer_of[plan_.root[input]] == plan_.buffer_of[plan_.root[value]])
      return input;
  return none;
}

void Uses::add(ValueId value) {
  MemoryUse use;
  use.name = value_label(model_, value);
  if (reused_[value] != none) use.in_place_of = value_label(model_, reused_[value]);
  use.arena = plan_.arena_of[plan_.buffer_of[plan_.root[value]]];
  use.bytes = byte_count(plan_.types[value]);
  use.offset = plan_.offset_of(value);
  use.first = first_[value];
  use.last = last_[value];
  uses_.push_back(std::move(use));
}

void Uses::add_workspace(std::uint32_t step) {
  MemoryUse use;
  use.name = model_.strings[model_.nodes[plan_.order[step]].name];
  use.bytes = static_cast<std::int64_t>(plan_.workspace_bytes[step]);
  use.arena = plan_.arena_of[plan_.workspace_buffer[step]];
  use.offset = plan_.offsets[plan_.workspace_buffer[step]];
  use.first = use.last = step;
  use.workspace = true;
  uses_.push_back(std::move(use));
}

}  // namespace

std::vector<MemoryUse> memory_uses(const GraphModel& model, const MemoryPlan& plan) {
  return Uses(model, plan).run();
}

void check_arenas(const PlanInfo& plan) {
  for (const auto& use : plan.memory)
    if (use.arena >= plan.arenas.size())
      throw Failure(FailureKind::usage,
                    fmt::format("the memory of '{}' is in arena {}, but the plan has {}", use.name,
                                use.arena, plan.arenas.size()));
}

}  // namespace tenon
