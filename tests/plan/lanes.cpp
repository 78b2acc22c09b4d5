// Plans in lanes: steps that may run at once do not touch each other's memory, chains stay together, and what does not pay is left alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "plan/lanes/in_lanes.hpp"
#include "plan_of.hpp"
#include "random_graph_host.hpp"

namespace {

using tenon::StepTime;

std::vector<StepTime> equal_costs(std::size_t steps, std::int64_t each = 100'000) {
  return std::vector<StepTime>(steps, {each, each});
}

/// What a step touches: bytes of an arena, or a value that lies elsewhere.
struct Touch {
  std::int64_t arena, begin, end;
  bool written;
};

std::vector<Touch> touches_of(const tenon::Plan& plan, std::uint32_t step) {
  std::vector<Touch> touches;
  const auto& memory = plan.memory;
  const auto touch = [&](tenon::ValueId value, bool written) {
    const auto bytes = tenon::byte_count(plan.types()[value]);
    const auto updated = memory.updated.find(value);
    if (const auto offset = memory.offset_of(value); offset >= 0)
      touches.push_back({memory.arena_of[memory.buffer_of[memory.root[value]]], offset, offset + bytes, written});
    else
      touches.push_back({-1 - std::int64_t{updated == memory.updated.end() ? memory.root[value] : updated->second}, 0, 1, written});
  };
  const auto& node = plan.node(step);
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto value = plan.model().edges[node.first_edge + i]; value != tenon::none) touch(value, false);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if (plan.write(step, i) != TENON_WRITE_NONE) touch(node.first_output + i, true);
  if (const auto buffer = memory.workspace_buffer[step]; buffer != tenon::none)
    touches.push_back({memory.arena_of[buffer], memory.offsets[buffer],
                       memory.offsets[buffer] + static_cast<std::int64_t>(memory.workspace_bytes[step]), true});
  return touches;
}

bool disturb(const std::vector<Touch>& one, const std::vector<Touch>& other) {
  for (const auto& left : one)
    for (const auto& right : other)
      if (left.arena == right.arena && left.begin < right.end && right.begin < left.end && (left.written || right.written)) return true;
  return false;
}

/// Two steps that may run at once, or the wrong way round, and touch the same memory; empty where there are none.
std::string clash_in(const tenon::Plan& plan) {
  const auto& lanes = plan.lanes;
  const auto tasks = lanes.task_count();
  std::vector<std::vector<bool>> done(tasks, std::vector<bool>(tasks));  // done[t][u]: u has ended when t begins
  std::vector<std::uint32_t> task_of(plan.step_count()), place_of(plan.step_count());
  for (std::uint32_t task = 0; task < tasks; ++task) {
    for (const auto earlier : lanes.after[task]) {
      if (earlier >= task) return "a task waits for a later one";
      done[task][earlier] = true;
      for (std::uint32_t i = 0; i < tasks; ++i)
        if (done[earlier][i]) done[task][i] = true;
    }
    for (auto i = lanes.first[task]; i < lanes.first[task + 1]; ++i) task_of[lanes.steps[i]] = task, place_of[lanes.steps[i]] = i;
  }
  std::vector<std::vector<Touch>> touches;
  for (std::uint32_t step = 0; step < plan.step_count(); ++step) touches.push_back(touches_of(plan, step));
  for (std::uint32_t later = 0; later < plan.step_count(); ++later)
    for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
      const auto one = task_of[earlier], other = task_of[later];
      const bool ordered = one == other ? place_of[earlier] < place_of[later] : done[other][one];
      if (!ordered && disturb(touches[earlier], touches[later]))
        return std::string(plan.model().strings[plan.node(earlier).name]) + " and " +
               std::string(plan.model().strings[plan.node(later).name]);
    }
  return {};
}

}  // namespace

TEST_CASE("plans in lanes of random graphs: steps that touch the same memory are in order") {
  RandomGraphHost host;
  std::mt19937 random(3);
  int made = 0;
  for (std::uint32_t n = 0; n < 60; ++n) {
    CAPTURE(n);
    const Planned planned(random_graph(host, n));
    const auto plan = planned.whole();
    const auto order = tenon::order_of_steps(*plan, planned.kernels());
    auto costs = equal_costs(plan->step_count());
    for (auto& cost : costs) cost.work = cost.alone = 1000 + random() % 300'000;
    for (const int threads : {2, 5}) {
      const auto lanes = tenon::in_lanes(*plan, order, costs, {.threads = threads, .always = true});
      if (!lanes) continue;
      ++made;
      CHECK(lanes->lanes.lanes > 1);
      CHECK(clash_in(*lanes) == "");
      CHECK(lanes->memory.bytes() <= (1 + threads) * plan->memory.bytes() + (16 << 20));
      for (std::size_t i = 0; i < lanes->memory.buffers.size(); ++i)
        CHECK(lanes->memory.offsets[i] + lanes->memory.buffers[i].bytes <= lanes->memory.arenas[0].placement.bytes);
    }
  }
  CHECK(made > 60);
}

TEST_CASE("branches are dealt to lanes, each of which uses its memory again") {
  RandomGraphHost host;
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {64});
  std::vector<tenon::Value> ends;
  for (int branch = 0; branch < 16; ++branch) {
    auto value = x;
    for (int i = 0; i < 20; ++i) value = graph.add("mix", {value}, {{"size", 4096}});
    ends.push_back(value);
  }
  graph.output("y", graph.add("mix", ends, {{"size", 1}}));
  const Planned planned(graph);
  const auto plan = planned.whole();
  const auto order = tenon::order_of_steps(*plan, planned.kernels());
  const auto lanes = tenon::in_lanes(*plan, order, equal_costs(plan->step_count()), {.threads = 4});
  REQUIRE(lanes);
  CHECK(clash_in(*lanes) == "");
  CHECK(lanes->lanes.alone == 321 * 100'000);
  CHECK(lanes->lanes.together >= 81 * 100'000);
  CHECK(lanes->lanes.together <= 82 * 100'000);
  for (std::uint32_t branch = 0; branch < 16; ++branch)
    for (std::uint32_t i = 1; i < 20; ++i) CHECK(lanes->lanes.lane_of[20 * branch + i] == lanes->lanes.lane_of[20 * branch]);
  CHECK(lanes->memory.bytes() <= (16 + 2 * lanes->lanes.lanes) * 4 * 4096);  // the ends, and two values in each lane
}

TEST_CASE("what does not pay gets no lanes") {
  RandomGraphHost host;
  const auto lanes_of = [&](int branches, int length, std::int64_t cost, int threads) {
    tenon::Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {64});
    std::vector<tenon::Value> ends;
    for (int branch = 0; branch < branches; ++branch) {
      auto value = x;
      for (int i = 0; i < length; ++i) value = graph.add("mix", {value}, {{"size", 64}});
      ends.push_back(value);
    }
    graph.output("y", graph.add("mix", ends, {{"size", 1}}));
    const Planned planned(graph);
    const auto plan = planned.whole();
    const auto order = tenon::order_of_steps(*plan, planned.kernels());
    CHECK(order.has_width() == (branches > 1));
    return tenon::in_lanes(*plan, order, equal_costs(plan->step_count(), cost), {.threads = threads}) != nullptr;
  };
  CHECK_FALSE(lanes_of(1, 50, 100'000, 4));
  CHECK_FALSE(lanes_of(8, 1, 200, 4));  // handing over takes longer
  CHECK_FALSE(lanes_of(8, 4, 100'000, 1));
  CHECK(lanes_of(2, 2, 100'000, 2));
  CHECK(lanes_of(64, 20, 1000, 2));
}

TEST_CASE("a step that all threads help counts as long as it takes alone, and as all their work beside others") {
  tenon::StepOrder order;
  for (int i = 0; i < 4; ++i) order.add({});
  const std::vector<StepTime> helped(4, {100, 200});
  CHECK(tenon::assign_lanes(order, helped, 2, 1).together >= 400 - 100);
  const std::vector<StepTime> own(4, {200, 200});
  CHECK(tenon::assign_lanes(order, own, 2, 1).together == 400);
}
