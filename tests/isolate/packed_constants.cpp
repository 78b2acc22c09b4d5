// Packed constants, which workers do not have.
#include <doctest/doctest.h>

#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "isolate/shared_memory.hpp"
#include "isolated_host.hpp"

using namespace tenon;

TEST_CASE(
    "isolate: a kernel that packs its weight runs without that in a worker, with a note in the "
    "plan and bit-identical results") {
  std::vector<Tensor> results;
  for (const bool isolate : {false, true}) {
    CAPTURE(isolate);
    IsolatedHost each("tests/examples", isolate);
    Graph graph(each.host);
    const auto x = graph.input("x", f32, {3, 40});
    graph.output(
        "y",
        graph.add("project", {x, graph.variable("w", random_uniform(f32, {7, 40}, 1))}, {}, "p"));
    Session session(graph);
    const auto plan = session.plan({});
    REQUIRE(plan.steps.size() == 1);
    CHECK(plan.packed_bytes() == (isolate ? 0 : 7 * 40 * 4));
    CHECK(plan.steps[0].without == (isolate ? "cannot pack constants in a worker process" : ""));
    CHECK((describe(plan).find("cannot pack constants in a worker process") != std::string::npos) ==
          isolate);
    results.push_back(session.run({{"x", random_uniform(f32, {3, 40}, 2)}}).at("y"));
  }
  CHECK(same_bits(results[0], results[1]));
}

TEST_CASE(
    "isolate: a kernel that reports its algorithm reports none from a worker, without an error") {
  for (const bool isolate : {false, true}) {
    CAPTURE(isolate);
    IsolatedHost each("plugins", isolate);
    Graph graph(each.host);
    const auto x = graph.input("x", f32, {3, 40});
    graph.output(
        "y", graph.add("fully_connected", {x, graph.variable("w", random_uniform(f32, {7, 40}, 1))},
                       {{"num_hidden", 7}, {"no_bias", true}}, "dense"));
    const auto plan = Session(graph).plan({});
    REQUIRE(plan.steps.size() == 1);
    CHECK(plan.steps[0].algorithm.empty() == isolate);
    CHECK((describe(plan).find("  algorithm ") == std::string::npos) == isolate);
  }
}

TEST_CASE("isolate: a session's large weights are in memory that workers share") {
  for (const bool isolate : {false, true}) {
    CAPTURE(isolate);
    IsolatedHost each("plugins", isolate);
    Graph graph(each.host);
    auto x = graph.input("x", f32, {3, 128});
    for (const std::int64_t size : {128, 127}) {  // 64 KiB, and slightly less
      const auto weight =
          graph.variable(size == 128 ? "large" : "small", random_uniform(f32, {size, 128}, 1));
      x = graph.add("fully_connected", {x, weight}, {{"num_hidden", size}, {"no_bias", true}});
    }
    graph.output("y", x);
    Session session(graph);
    session.run({{"x", random_uniform(f32, {3, 128}, 2)}});
    const auto is_shared = [&](const char* name) {
      const auto weight = session.tensor(name);
      return shared_memory::find(weight.data(), static_cast<std::uint64_t>(weight.bytes())) !=
             nullptr;
    };
    CHECK(is_shared("large") == isolate);
    CHECK_FALSE(is_shared("small"));
  }
}
