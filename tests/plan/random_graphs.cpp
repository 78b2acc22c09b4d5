// Plans of random graphs: values that are alive at the same time do not share memory, and little
// memory is wasted.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/session.hpp>

#include "buffers.hpp"
#include "plan/memory/memory_use.hpp"
#include "plan_of.hpp"
#include "random_graph_host.hpp"
#include "run/impl_access.hpp"

namespace {

using tenon::MemoryUse;

/// Returns two uses that overlap in time and memory, other than an in-place output at the step of
/// the takeover; empty if there are none.
std::string clash_of(const std::vector<MemoryUse>& uses) {
  const auto in_place = [](const MemoryUse& taker, const MemoryUse& taken) {
    return taker.in_place_of == taken.name && taker.first == taken.last &&
           taker.offset == taken.offset && !taker.workspace && !taken.workspace;
  };
  for (const auto& one : uses) {
    for (const auto& other : uses) {
      if (&one == &other || one.bytes == 0 || other.bytes == 0) continue;
      const bool together = one.first <= other.last && other.first <= one.last;
      const bool apart =
          one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset;
      if (together && !apart && !in_place(one, other) && !in_place(other, one))
        return one.name + " and " + other.name;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("random graphs: live values are not overwritten") {
  RandomGraphHost host;
  for (std::uint32_t n = 0; n < 60; ++n) {
    CAPTURE(n);
    const auto graph = random_graph(host, n);
    const auto plan = plan_of(graph);
    const auto uses = tenon::memory_uses(model_of(graph), plan);
    CHECK(clash_of(uses) == "");
    CHECK(fault_of(plan.buffers, plan.arenas[0].placement) == "");
    for (const auto& use : uses) CHECK(use.offset + use.bytes <= plan.arenas[0].placement.bytes);
  }
}

// If all values are outputs, nothing shares memory and nothing is written in place.
TEST_CASE("random graphs: results are bit-identical to those without shared memory") {
  RandomGraphHost host;
  std::vector<float> numbers(64);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) / 64;
  const tenon::NamedTensors inputs{{"x", tenon::Tensor::from(numbers, {64})}};
  for (std::uint32_t n = 0; n < 40; ++n) {
    CAPTURE(n);
    const auto graph = random_graph(host, n);
    auto apart = graph.clone();
    const auto& model = model_of(graph);
    for (const auto& node : model.nodes)
      apart.output("of " + std::string(model.strings[node.name]),
                   apart.find(model.strings[node.name]));
    CHECK(plan_of(apart).bytes() < plan_of(graph).bytes());  // only workspaces
    const auto expected = tenon::Session(apart).run(inputs);
    for (const auto& output : tenon::Session(graph).run(inputs)) {
      CAPTURE(output.first);
      CHECK(same_bits(output.second, expected.at(output.first)));
      for (const auto value : output.second.values<float>()) REQUIRE(std::isfinite(value));
    }
  }
}

TEST_CASE(
    "random graphs: 200 plans need at most 1.02 of the largest live set on average, 1.10 at "
    "worst") {
  RandomGraphHost host;
  double sum = 0, worst = 0;
  for (std::uint32_t n = 0; n < 200; ++n) {
    const auto ratio = plan_of(random_graph(host, n)).arenas[0].placement.ratio();
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  CAPTURE(sum);
  CHECK(sum / 200 <= 1.02);
  CHECK(worst <= 1.10);
}
