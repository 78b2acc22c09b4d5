// States that move into memory that workers read, within one run.
#include <doctest/doctest.h>

#include <tenon/host/batched_run.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "failure_of.hpp"
#include "isolated_host.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

constexpr std::int64_t state_size = 20'000;  // workers read it in shared memory

/// A copy of x that counts its calls.
struct CountsCalls : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.state("calls", "[20000]");
  }
  void infer(Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("calls", {state_size});
  }
  void forward(const Call& call) const {
    for (auto& each : call.state<float>("calls")) each += 1;
    std::ranges::copy(call.input<float>(0), call.output<float>(0).begin());
  }
};

/// x, whatever y is.
struct Left : probes::Copy {
  static constexpr void describe(auto& op) {
    op.doc("x");
    op.types({f32});
    op.input("x", "[n]");
    op.input("y", "[m]");
    op.output("z", "[n]");
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
};

/// Left of an even size, without the node that computes y.
struct EvenLeft : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.rule("left", "left(x, relu(y))", "even_left(x)");
  }
  void infer(Infer& io) const {
    const auto x = io.input(0).shape;
    io.require(!x.known() || x[0] % 2 == 0, "x is ", x, " but needs an even number of elements");
    io.set_output(0, x);
  }
};

/// The sizes of later stages determine whether the optimized graph, which has no isolated node, or
/// the original one runs them.
struct CountedGraph : IsolatedHost {
  Graph graph{host};

  /// `late`: a node whose output's size is unknown until it has run.
  explicit CountedGraph(bool late) : IsolatedHost("plugins") {
    host.add<CountsCalls>("counts_calls");
    host.add<Left>("left");
    host.add<EvenLeft>("even_left");
    host.add<probes::AboveZero>("above");
    const auto counted = graph.add("counts_calls", {graph.input("x", f32, {-1})}, {}, "counted");
    const auto x = late ? graph.add("above", {counted}) : counted;
    const auto read = graph.add("relu", {graph.find("counted_calls")});
    graph.output("y", graph.add("left", {x, read}));
  }
};

NamedTensors ones(std::int64_t size) {
  return {{"x", Tensor::from(std::vector<float>(static_cast<std::size_t>(size), 1), {size})}};
}

float calls_of(const Session& session) {
  const auto calls = session.tensor("counted_calls");
  return calls.values<float>()[0];
}

[[noreturn]] void fail() {
  throw Error("it fails");
}

}  // namespace

TEST_CASE("moved states: a run that fails after its state has moved restores it") {
  const CountedGraph counted(true);
  Session session(counted.graph);
  session.run(ones(2));
  CHECK(calls_of(session) == 1);
  {
    const probes::Copy::During failing([](const Call&) { fail(); });
    CHECK(failure_of([&] { session.run(ones(3)); }).message.find("it fails") != std::string::npos);
  }
  CHECK(calls_of(session) == 1);
  CHECK(session.step() == 1);
  session.run(ones(3));
  CHECK(calls_of(session) == 2);
}

TEST_CASE("moved states: a search for values that are not finite changes none") {
  const CountedGraph counted(true);
  Session session(counted.graph);
  session.run(ones(2));
  CHECK(session.first_non_finite(ones(3)).empty());
  CHECK(calls_of(session) == 1);
}

TEST_CASE("moved states: batches that fail together restore a state that has moved") {
  const CountedGraph counted(false);
  Session session(counted.graph);
  session.run(ones(2));
  const auto last_fails = [](const Call& call) {
    if (call.input<float>(0).size() == 1) fail();
  };
  {
    const probes::Copy::During failing(last_fails);
    CHECK(failure_of([&] { run_in_batches(session, ones(5), 2); }).kind != 0);
  }
  CHECK(calls_of(session) == 1);
  run_in_batches(session, ones(5), 2);
  CHECK(calls_of(session) == 4);
}
