#include "plan/lanes/in_lanes.hpp"

#include <algorithm>

#include "plan/lanes/lane_memory.hpp"

namespace tenon {
namespace {

constexpr std::int64_t worth_a_lane = 200'000;  // nanoseconds
constexpr int most_lanes_each = 4;
constexpr std::size_t most_clocks = 64 << 20;
constexpr std::int64_t free_growth = 16 << 20;  // bytes

// A task ends where another lane waits for it, and begins where it waits for another lane.
void cut_into_tasks(const Lanes& lanes, const StepClocks& clocks, LaneSchedule& schedule) {
  const auto count = static_cast<std::uint32_t>(lanes.lane_of.size());
  std::vector<bool> awaited(count);
  for (std::uint32_t step = 0; step < count; ++step)
    for (const auto earlier : clocks.waits(step)) awaited[earlier] = true;
  std::vector<std::uint32_t> task_of(count), open(lanes.count, none), last(lanes.count, none);
  std::vector<std::vector<std::uint32_t>> steps;
  for (std::uint32_t step = 0; step < count; ++step) {
    const auto lane = lanes.lane_of[step];
    if (open[lane] == none || !clocks.waits(step).empty()) {
      open[lane] = static_cast<std::uint32_t>(steps.size());
      steps.emplace_back();
      auto& after = schedule.after.emplace_back();
      if (last[lane] != none) after.push_back(last[lane]);
      for (const auto earlier : clocks.waits(step)) after.push_back(task_of[earlier]);
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
      last[lane] = open[lane];
    }
    task_of[step] = open[lane];
    steps[open[lane]].push_back(step);
    if (awaited[step]) open[lane] = none;
  }
  for (const auto& task : steps) {
    schedule.first.push_back(static_cast<std::uint32_t>(schedule.steps.size()));
    schedule.steps.insert(schedule.steps.end(), task.begin(), task.end());
  }
  schedule.first.push_back(count);
}

}  // namespace

std::shared_ptr<Plan> in_lanes(const Plan& plan, const StepOrder& order, std::span<const StepTime> costs, const LaneRequest& request) {
  const auto pays = [&](const Lanes& lanes) { return request.always || lanes.together + lanes.alone / 20 < lanes.alone; };
  std::int64_t work = 0;
  for (const auto& cost : costs) work += cost.work;
  auto each = static_cast<int>(std::clamp<std::int64_t>(work / request.threads / worth_a_lane, 1, most_lanes_each));
  if (request.always) each = most_lanes_each;
  for (; each > 0; each /= 2) {
    auto lanes = assign_lanes(order, costs, request.threads, each);
    if (lanes.count < 2 || !pays(lanes)) return nullptr;
    if (std::size_t{order.count()} * lanes.count > most_clocks) continue;
    auto made = std::make_shared<Plan>(plan);
    const StepClocks clocks(order, lanes);
    place_in_lanes(plan, lanes, clocks, made->memory);
    const auto bytes = plan.memory.bytes();
    if (made->memory.bytes() > (1 + request.threads) * bytes + free_growth) continue;
    auto& schedule = made->lanes;
    cut_into_tasks(lanes, clocks, schedule);
    schedule.lanes = lanes.count;
    schedule.lane_of = std::move(lanes.lane_of);
    schedule.alone = lanes.alone;
    schedule.together = lanes.together;
    return made;
  }
  return nullptr;
}

}  // namespace tenon
