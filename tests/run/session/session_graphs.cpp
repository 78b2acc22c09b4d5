// The graphs of a session, without a session: which one runs, and when the optimized one is
// rebuilt.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "../../application_host.hpp"
#include "device/devices.hpp"
#include "failure_of.hpp"
#include "graph/composed/expansion.hpp"
#include "run/host_impl.hpp"
#include "run/session/session_graph.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// y = x + (a + b), where a and b are variables: the optimized graph has one addition. The
/// operators are Tenon's own, because those of the application always run.
struct SumOfVariables {
  ApplicationHost host;
  Graph graph{host};
  SessionOptions options;
  std::vector<const SessionGraph*> dropped;

  SumOfVariables() {
    const auto a = graph.variable("a", vector_of({1})), b = graph.variable("b", vector_of({2}));
    graph.output("y", graph.add("sum_gradients",
                                {graph.input("x", f32, {1}), graph.add("sum_gradients", {a, b})}));
  }
  SessionGraphs graphs() {
    const auto complete = impl_of(graph).completed();
    return {impl_of(host), expanded(impl_of(complete).current, find_device("cpu")), options,
            [this](const SessionGraph& each) { dropped.push_back(&each); }};
  }
};

}  // namespace

TEST_CASE(
    "graphs of a session: the optimized one runs, and the original one is created on request") {
  SumOfVariables sum;
  auto graphs = sum.graphs();
  std::uint64_t next_stage = 0;
  auto& optimized = graphs.up_to_date();
  CHECK(graphs.is_optimized(optimized));
  CHECK(graphs.all() == std::vector<SessionGraph*>{&optimized});
  CHECK(&graphs.last() == &optimized);
  auto& original = graphs.original();
  CHECK_FALSE(graphs.is_optimized(original));
  CHECK(graphs.all().size() == 2);
  CHECK(optimized.stage_for({}, next_stage)->graph != original.stage_for({}, next_stage)->graph);
  const auto a = find_value(graphs.model(), "a");
  original.tensors[a] = Tensor();
  {
    const SessionGraphs::Change refused(graphs, original);
    CHECK_FALSE(refused.moves());
    CHECK(original.tensors[a]);  // adopted
  }
  CHECK(&graphs.last() == &optimized);
  CHECK_FALSE(original.tensors[a]);
  SessionGraphs::Change(graphs, original).commit();
  CHECK(&graphs.last() == &original);
  CHECK(original.tensors[a]);
  CHECK(sum.dropped.empty());
}

TEST_CASE("graphs of a session: without optimization there is only the original one") {
  SumOfVariables sum;
  sum.options.optimize = Optimize::none;
  auto graphs = sum.graphs();
  CHECK_FALSE(graphs.is_optimized(graphs.up_to_date()));
  CHECK(graphs.all().size() == 1);
}

TEST_CASE("graphs of a session: while the application can write to a constant, the original runs") {
  SumOfVariables sum;
  auto graphs = sum.graphs();
  const auto* const first = &graphs.up_to_date();
  {
    const auto handle = sum.graph.tensor("a");
    CHECK_FALSE(graphs.is_optimized(graphs.up_to_date()));
    CHECK(sum.dropped.empty());
  }
  auto& second = graphs.up_to_date();  // rebuilt, because the handle may have written
  CHECK(graphs.is_optimized(second));
  CHECK(sum.dropped == std::vector<const SessionGraph*>{first});
  CHECK(&graphs.up_to_date() == &second);
}

TEST_CASE("graphs of a session: a request for an unknown output drops no stage") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {1});
  constexpr unsigned outputs = 8, combinations = 1u << outputs;
  for (unsigned i = 0; i < outputs; ++i)
    graph.output("y" + std::to_string(i), graph.add("sum_gradients", {x, x}));
  const SessionOptions options;
  SessionGraphs graphs(impl_of(host), impl_of(impl_of(graph).completed()).current, options,
                       [](const SessionGraph&) {});
  auto& original = graphs.original();
  std::uint64_t next_stage = 0;
  const auto stage_of = [&](unsigned combination) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < outputs; ++i)
      if ((combination >> i) % 2 != 0) names.push_back("y" + std::to_string(i));
    return original.stage_for(names, next_stage);
  };
  std::vector<std::shared_ptr<const Stage>> stages;
  for (unsigned each = 0; each < combinations; ++each) stages.push_back(stage_of(each));
  CHECK(failure_of([&] { original.stage_for({"y0", "nothing"}, next_stage); }).kind != 0);
  for (unsigned each = 0; each < combinations; ++each) CHECK(stage_of(each) == stages[each]);
}
