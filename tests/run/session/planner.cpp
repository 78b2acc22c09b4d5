// The planner and the transactions of a session, without a session: which plans are found, made and
// dropped, and what is undone.
#include "run/session/planner.hpp"

#include <doctest/doctest.h>

#include <tenon/host/session.hpp>

#include "device/devices.hpp"
#include "failing_host.hpp"
#include "failure_of.hpp"
#include "graph/composed/expansion.hpp"
#include "probe_operators.hpp"
#include "run/host_impl.hpp"
#include "run/session/run_transaction.hpp"
#include "run/vectors.hpp"

using namespace tenon;
using namespace failing_runs;

namespace {

/// y = op(x), where x has an unknown size; `weighted` has a weight of that size.
Graph graph_with(Host& host, const char* op) {
  host.add<Weighted>("weighted");
  Graph graph(host);
  graph.output("y", graph.add(op, {graph.input("x", f32, {-1})}, {}, op));
  return graph;
}

/// The parts of a session that planners and transactions need.
struct SessionParts {
  explicit SessionParts(const Graph& graph)
      : host(impl_of(graph.host())),
        graphs(host, expanded(impl_of(impl_of(graph).completed()).current, find_device("cpu")),
               options, [this](const SessionGraph& each) { planner.drop(each); }) {}

  Planned& plan(std::int64_t size, std::vector<ValueId>& initialized, bool fused = true) {
    auto next = planner.first_stage({});
    const auto inputs_of = [&](const RunStage& stage) {
      StageInputs inputs{input_types(stage.graph->model(), {{"x", Shape{size}}})};
      inputs.fused = fused;
      return inputs;
    };
    return planner.plan(next, inputs_of, initialized);
  }
  Tensor weight() const { return graphs.last().tensors[find_value(graphs.model(), "weighted_w")]; }

  Host::Impl& host;
  SessionOptions options;
  SessionGraphs graphs;
  ErrorBuffer error;
  Streams streams;
  ExecutionContext context{
      .call = {.threads = host.threads, .host = &host_table(), .error = &error},
      .streams = &streams,
      .session = this};
  PlanStore plans{4, 1 << 20};
  Planner planner{host, options, graphs, plans, context, ReadConstants()};
  StateBackup backup{streams};
  std::uint64_t step = 0;
};

}  // namespace

TEST_CASE("planner: the plan of a stage is found for inputs of the same types, and else made") {
  FailingHost host;
  SessionParts parts(graph_with(host, "positive"));
  std::vector<ValueId> initialized;
  const auto* const two = &parts.plan(2, initialized);
  CHECK(&parts.plan(2, initialized) == two);
  CHECK(parts.plans.made() == 1);
  CHECK(&parts.plan(3, initialized) != two);
  CHECK(parts.plans.made() == 2);
  CHECK(&parts.plan(2, initialized, false) != two);  // with one step per node
  CHECK(parts.plans.made() == 3);
  CHECK(two->execution == nullptr);  // nothing runs
  CHECK(initialized.empty());
}

TEST_CASE("planner: what a plan initializes can be dropped, together with the plan") {
  FailingHost host;
  SessionParts parts(graph_with(host, "weighted"));
  std::vector<ValueId> initialized;
  parts.plan(3, initialized);
  CHECK(initialized.size() == 1);
  CHECK(parts.weight().shape() == Shape{3});
  CHECK(failure_of([&] { parts.plan(2, initialized); }).kind != 0);
  CHECK(parts.plans.all().size() == 1);  // inputs that are refused drop no plan
  parts.planner.drop_values(initialized);
  CHECK_FALSE(parts.weight());
  CHECK(parts.plans.all().empty());
  parts.plan(2, initialized);
  CHECK(parts.weight().shape() == Shape{2});
}

TEST_CASE("planner: the inputs of a stage are those of the graph") {
  FailingHost host;
  SessionParts parts(graph_with(host, "positive"));
  const auto stage = parts.planner.first_stage({});
  CHECK(stage_inputs(parts.graphs, stage, {{"x", vector_of({1, 2})}}).types.size() == 1);
  CHECK(failure_of([&] {
          stage_inputs(parts.graphs, stage, {});
        }).message.find("no value passed for input") == 0);
  CHECK(failure_of([&] {
          stage_inputs(parts.graphs, stage, {{"x", vector_of({1})}, {"z", vector_of({1})}});
        }).message == "the graph has no input 'z'");
}

TEST_CASE("planner: elements that determine a shape are those of the graph that ran last") {
  FailingHost host;
  host.add<TallyRuns>("tally");
  SessionParts parts(graph_with(host, "tally"));
  const auto next = parts.planner.first_stage({});
  const auto id = find_value(parts.graphs.model(), "tally_runs");
  const auto reads_state = std::make_shared<Stage>(*next.stage);
  reads_state->readable = {id};
  SessionGraph other(parts.host, parts.graphs.snapshot(), parts.graphs.last().tensors,
                     parts.options);
  parts.graphs.last().tensors[id] = vector_of({1, 2});
  other.tensors[id] = vector_of({8, 9});  // from an earlier run of this graph
  const auto inputs =
      stage_inputs(parts.graphs, {&other, reads_state, {}}, {{"x", vector_of({0, 0})}});
  CHECK(static_cast<const float*>(inputs.elements.at(id)->dense.data)[0] == 1);
}

TEST_CASE("planner: refuses to plan after writes to a constant that the session has copied") {
  for (const bool copied : {false, true}) {
    FailingHost host;
    host.add<probes::Repeated>("repeated");
    Graph graph(host);
    auto times = Tensor::from(std::vector<std::int64_t>{2}, {1});
    graph.output(
        "y", graph.add("repeated", {graph.input("x", f32, {-1}), graph.constant("times", times)}));
    SessionParts parts(graph);
    auto& tensor = parts.graphs.last().tensors[find_value(parts.graphs.model(), "times")];
    if (copied) tensor = tensor.clone();  // as for a GPU or a worker
    std::vector<ValueId> initialized;
    parts.plan(3, initialized);
    times.data<std::int64_t>()[0] = 1;
    const auto failure = failure_of([&] { parts.plan(3, initialized); });
    CHECK(failure.message.starts_with("constant 'times'") == copied);
    CHECK(failure.message.empty() != copied);
    CHECK(parts.plans.made() == (copied ? 1 : 2));
  }
}

TEST_CASE("run transactions: everything is undone unless they are committed") {
  FailingHost host;
  SessionParts parts(graph_with(host, "weighted"));
  auto state = vector_of({1, 2});
  for (const bool commits : {false, true}) {
    {
      RunTransaction run(parts.planner, parts.backup, parts.step);
      ++parts.step;
      run.save(none, state);
      state.data<float>()[0] = 9;
      parts.plan(3, run.initialized);
      if (commits) run.commit();
    }
    CHECK(parts.step == (commits ? 1 : 0));
    CHECK(first_of(state) == (commits ? 9 : 1));
    CHECK(static_cast<bool>(parts.weight()) == commits);
    CHECK(parts.plans.all().size() == (commits ? 1 : 0));
  }
}

TEST_CASE("run transactions: a parent can undo runs that were committed, but not those before it") {
  FailingHost host;
  SessionParts parts(graph_with(host, "weighted"));
  auto state = vector_of({1, 2});
  const auto run = [&](RunTransaction& parent, bool commits) {
    RunTransaction child(parts.planner, parts.backup, parts.step, &parent);
    ++parts.step;
    child.save(none, state);
    state.data<float>()[0] += 1;
    parts.plan(3, child.initialized);
    if (commits) child.commit();
  };
  for (const bool commits : {false, true}) {
    {
      StateBackup backup(parts.streams);
      RunTransaction parent(parts.planner, backup, parts.step);
      run(parent, true);
      CHECK(parent.initialized.size() == 1);
      run(parent, true);
      run(parent, false);  // undoes only its own changes
      CHECK(parts.step == 2);
      CHECK(first_of(state) == 3);
      CHECK(parts.weight());
      if (commits) parent.commit();
    }
    CHECK(parts.step == (commits ? 2 : 0));
    CHECK(first_of(state) == (commits ? 3 : 1));
    CHECK(static_cast<bool>(parts.weight()) == commits);
  }
}
