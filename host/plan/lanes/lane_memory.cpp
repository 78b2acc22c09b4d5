#include "plan/lanes/lane_memory.hpp"

#include <algorithm>

namespace tenon {
namespace {

/// A buffer and who uses it.
struct Use {
  std::int64_t bytes = 0;
  std::uint32_t arena = 0, first = none, last = 0;
  std::uint32_t lane = none;            // the one that uses it; only where `shared` is not set
  bool shared = false;                  // by several lanes, or when the run is over
  std::vector<std::uint32_t> latest{};  // steps, of each lane that uses it the last so far
};

class LanePlacement {
 public:
  LanePlacement(const Plan& plan, const Lanes& lanes, const StepClocks& clocks, MemoryPlan& memory)
      : plan_(plan), lanes_(lanes), clocks_(clocks), memory_(memory), before_(memory.buffer_of) {}

  void run() {
    for (std::size_t i = 0; i < memory_.buffers.size(); ++i) uses_.push_back({memory_.buffers[i].bytes, memory_.arena_of[i]});
    for (std::uint32_t step = 0; step < plan_.step_count(); ++step) find_uses(step);
    const auto end = static_cast<std::uint32_t>(plan_.step_count() - 1);
    for (const auto& [variable, value] : memory_.copies)
      if (const auto buffer = memory_.buffer_of[memory_.root[value]]; buffer != none) use(buffer, end, true);
    place_all();
  }

 private:
  void find_uses(std::uint32_t step);
  void take_over(std::uint32_t step, std::uint32_t output);
  std::uint32_t taken_over(std::uint32_t step, ValueId value) const;
  bool may_take(std::uint32_t buffer, std::uint32_t step) const;
  void use(std::uint32_t buffer, std::uint32_t step, bool shared = false);
  void place_all();
  std::int64_t place_some(const std::vector<std::uint32_t>& ids, std::int64_t base);

  const Plan& plan_;
  const Lanes& lanes_;
  const StepClocks& clocks_;
  MemoryPlan& memory_;
  const std::vector<std::uint32_t> before_;  // of each value: its buffer where steps run one after the other
  std::vector<Use> uses_;                    // of each buffer
};

void LanePlacement::find_uses(std::uint32_t step) {
  const auto& node = plan_.node(step);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if (plan_.write(step, i) == TENON_WRITE_IN_PLACE) take_over(step, i);
  for_each_access(plan_, step, [&](ValueId value, bool) {
    if (const auto buffer = memory_.buffer_of[memory_.root[value]]; buffer != none) use(buffer, step);
  });
  if (const auto buffer = memory_.workspace_buffer[step]; buffer != none) use(buffer, step);
}

// Updated variables lie in no buffer.
void LanePlacement::take_over(std::uint32_t step, std::uint32_t output) {
  const auto value = plan_.node(step).first_output + output;
  const auto root = memory_.root[value];
  if (before_[root] == none) return;
  auto buffer = taken_over(step, value);
  if (!may_take(buffer, step)) {
    uses_.push_back({byte_count(memory_.types[value]), uses_[buffer].arena});
    buffer = static_cast<std::uint32_t>(uses_.size() - 1);
    memory_.writes[memory_.first_write[step] + output] = TENON_WRITE_TO;
  }
  memory_.buffer_of[value] = memory_.buffer_of[root] = buffer;
}

// Where the input lies by now whose memory the value was to take over.
std::uint32_t LanePlacement::taken_over(std::uint32_t step, ValueId value) const {
  const auto& node = plan_.node(step);
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto input = plan_.model().edges[node.first_edge + i];
    if (input != none && before_[memory_.root[input]] == before_[memory_.root[value]]) return memory_.buffer_of[memory_.root[input]];
  }
  return before_[memory_.root[value]];
}

bool LanePlacement::may_take(std::uint32_t buffer, std::uint32_t step) const {
  const auto& latest = uses_[buffer].latest;
  return std::all_of(latest.begin(), latest.end(), [&](std::uint32_t user) { return clocks_.comes_before(user, step); });
}

void LanePlacement::use(std::uint32_t buffer, std::uint32_t step, bool shared) {
  auto& use = uses_[buffer];
  const auto lane = lanes_.lane_of[step];
  use.first = std::min(use.first, step);
  use.last = std::max(use.last, step);
  use.shared = use.shared || shared || (use.lane != none && use.lane != lane);
  use.lane = lane;
  const auto known = std::find_if(use.latest.begin(), use.latest.end(), [&](auto user) { return lanes_.lane_of[user] == lane; });
  if (known == use.latest.end())
    use.latest.push_back(step);
  else
    *known = step;
}

// In each arena one lane after the other, and behind them what several use. Those buffers begin to live with the first step that need not
// have ended when their own first step begins: what was last used before that is done.
void LanePlacement::place_all() {
  memory_.buffers.clear();
  memory_.arena_of.clear();
  for (std::uint32_t id = 0; id < uses_.size(); ++id) {
    const auto& use = uses_[id];
    const bool used = use.first != none;
    memory_.buffers.push_back({used ? use.bytes : 0, used ? use.shared ? clocks_.first_unordered(use.first) : use.first : 0, use.last});
    memory_.arena_of.push_back(use.arena);
  }
  memory_.offsets.assign(uses_.size(), 0);
  for (std::uint32_t arena = 0; arena < memory_.arenas.size(); ++arena) {
    std::vector<std::vector<std::uint32_t>> groups(lanes_.count + 1);
    for (std::uint32_t id = 0; id < uses_.size(); ++id)
      if (uses_[id].arena == arena && uses_[id].first != none) groups[uses_[id].shared ? lanes_.count : uses_[id].lane].push_back(id);
    auto& placement = memory_.arenas[arena].placement;
    placement.bytes = 0;
    placement.strategy = Strategy::lanes;
    for (const auto& group : groups) placement.bytes = place_some(group, placement.bytes);
  }
}

// Behind `base`; the end of them.
std::int64_t LanePlacement::place_some(const std::vector<std::uint32_t>& ids, std::int64_t base) {
  std::vector<Buffer> buffers;
  buffers.reserve(ids.size());
  for (const auto id : ids) buffers.push_back(memory_.buffers[id]);
  const auto placed = place(buffers);
  for (std::size_t i = 0; i < ids.size(); ++i) memory_.offsets[ids[i]] = base + placed.offsets[i];
  return base + placed.bytes;
}

}  // namespace

void place_in_lanes(const Plan& plan, const Lanes& lanes, const StepClocks& clocks, MemoryPlan& memory) {
  LanePlacement(plan, lanes, clocks, memory).run();
}

}  // namespace tenon
