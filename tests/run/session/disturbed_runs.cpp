// Runs during which the application takes handles, or whose graph cannot continue.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "failing_host.hpp"
#include "failure_of.hpp"
#include "run/session/session_impl.hpp"
#include "run/vectors.hpp"

using namespace tenon;
using namespace failing_runs;

TEST_CASE("disturbed runs: a handle that is taken during a run is noticed by the next run") {
  FailingHost host;
  host.add<probes::Copy>("disturbed");
  Graph graph(host);
  const auto w = graph.constant("w", vector_of({2}));
  graph.output("y", graph.add("disturbed", {graph.add("drift", {graph.add("sum_gradients", {w, w}),
                                                                graph.input("x", f32, {-1})})}));
  Session session(graph);
  const auto run = [&](const std::function<void()>& during = {}) {
    const probes::Copy::During disturbed([&](const Call&) {
      if (during) during();
    });
    return first_of(session.run({{"x", vector_of({1})}}).at("y"));
  };
  CHECK(session.optimized().nodes().size() < graph.nodes().size());
  Tensor handle;
  CHECK(run([&] { handle = graph.tensor("w"); }) == 5);
  for (const float value : {5.F, 6.F}) {
    handle.data<float>()[0] = value;
    CHECK(run() == 2 * value + 1);
    CHECK(run() == 2 * value + 1);
  }
  handle = Tensor();
  CHECK(run() == 13);
  CHECK(run([&] { graph.tensor("w").data<float>()[0] = 7; }) == 13);
  CHECK(run() == 15);
  CHECK(run() == 15);
}

namespace {

/// A copy of x, unless its objects cannot be created.
struct Configured : probes::Copy {
  static inline bool refuses = false;
  void configure() {
    if (refuses) throw Error("it refuses");
  }
};

}  // namespace

TEST_CASE("disturbed runs: if optimizing again fails, no later run uses results of old constants") {
  FailingHost host;
  host.add<Configured>("configured");
  Graph graph(host);
  const auto w = graph.constant("w", vector_of({2}));
  graph.output("y", graph.add("drift", {graph.add("sum_gradients", {w, w}),
                                        graph.add("configured", {graph.input("x", f32, {-1})})}));
  Session session(graph);
  const auto run = [&] { return first_of(session.run({{"x", vector_of({1})}}).at("y")); };
  CHECK(run() == 5);
  graph.tensor("w").data<float>()[0] = 3;
  Configured::refuses = true;
  for (int round = 0; round < 2; ++round)
    CHECK(failure_of([&] { run(); }).message.find("it refuses") != std::string::npos);
  Configured::refuses = false;
  CHECK(run() == 7);
  CHECK(run() == 7);
}

TEST_CASE("disturbed runs: accumulating destinations in the same memory are restored together") {
  FailingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto twice = graph.add("drift", {x, x});
  graph.output("a", twice);
  graph.output("b", graph.add("picky", {graph.add("drift", {graph.add("positive", {x}),
                                                            graph.add("positive", {x})})}));
  Session session(graph);
  auto memory = vector_of({100, 200});
  RunOptions options;
  options.destinations["a"] = {memory, Write::add};
  options.destinations["b"] = {memory, Write::add};
  CHECK(failure_of([&] { session.run({{"x", vector_of({-1, 2})}}, options); }).kind != 0);
  const auto values = memory.values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{100, 200});
}

namespace {

/// The elements above 0, and a single 1.
struct AboveZeroAndOne : probes::AboveZero {
  static inline int calls = 0;
  static constexpr void describe(auto& op) {
    AboveZero::describe(op);
    op.output("one", "[1]");
  }
  void infer(Infer& io) const {
    AboveZero::infer(io);
    io.set_output(1, {1});
  }
  void forward(const Call& call) const {
    ++calls;
    AboveZero::forward(call);
    call.output<float>(1)[0] = 1;
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

/// Left of an even size, without y.
struct EvenLeft : EvenSized {
  static constexpr void describe(auto& op) {
    EvenSized::describe(op);
    op.rule("left", "left(x, y)", "even_left(x)");
  }
};

}  // namespace

TEST_CASE("disturbed runs: a run that cannot continue calls no node of the application twice") {
  FailingHost host;
  host.add<AboveZeroAndOne>("above");
  host.add<Left>("left");
  host.add<EvenLeft>("even_left");
  Graph graph(host);
  const auto above = graph.add("above", {graph.input("x", f32, {-1})}, {}, "above");
  graph.output("y", graph.add("left", {above, above.output(1)}));
  Session session(graph);
  const auto calls_of = [&](std::vector<float> x) {
    AboveZeroAndOne::calls = 0;
    const auto size = static_cast<std::int64_t>(x.size());
    session.run({{"x", Tensor::from(std::move(x), {size})}});
    return AboveZeroAndOne::calls;
  };
  CHECK(calls_of({1, 2}) == 1);
  const auto failure = failure_of([&] { calls_of({1, 2, 3}); });
  CHECK(failure.message.find("node 'above' must not run twice") != std::string::npos);
  CHECK(failure.hint.find("run again") != std::string::npos);
  CHECK(AboveZeroAndOne::calls == 1);
  for (int round = 0; round < 2; ++round) {
    CHECK(calls_of({1, 2, 3}) == 1);
    CHECK(calls_of({1, 2}) == 1);
  }
}

TEST_CASE("disturbed runs: the rest of the original graph ignores values that it does not read") {
  FailingHost host;
  host.add<Left>("left");
  host.add<EvenLeft>("even_left");
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto above = graph.add("positive", {x}, {}, "above");
  graph.add("left", {graph.add("positive", {above}), x});  // not among the outputs
  graph.output("y", above);
  Session session(graph);
  for (int round = 0; round < 2; ++round) {
    CHECK(floats_of(session.run({{"x", vector_of({1, 2})}}).at("y")) == std::vector<float>{1, 2});
    CHECK(floats_of(session.run({{"x", vector_of({1, 2, 3})}}).at("y")) ==
          std::vector<float>{1, 2, 3});
  }
}

namespace {

/// A copy of x, which other processes wait for.
struct Sent : probes::Copy {
  static inline int calls = 0;
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.communicates();
  }
  void forward(const Call& call) const {
    ++calls;
    Copy::forward(call);
  }
};

}  // namespace

TEST_CASE("disturbed runs: the rest of the original graph calls all nodes that communicate") {
  FailingHost host;
  host.add<Left>("left");
  host.add<EvenLeft>("even_left");
  host.add<Sent>("sent");
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1}), above = graph.add("positive", {x}, {}, "above");
  graph.add("sent", {above});  // not among the outputs
  graph.output("y", graph.add("left", {above, x}));
  Session session(graph);
  Sent::calls = 0;
  session.run({{"x", vector_of({1, 2})}});
  CHECK(Sent::calls == 1);
  for (const int calls : {2, 3}) {
    session.run({{"x", vector_of({1, 2, 3})}});
    CHECK(Sent::calls == calls);
  }
  session.run({{"x", vector_of({1, 2, 3})}}, {.outputs = {"y"}});
  CHECK(Sent::calls == 3);
}

TEST_CASE("disturbed runs: the order and repetition of requested outputs make no other plan") {
  FailingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  graph.output("a", graph.add("drift", {x, x}));
  graph.output("b", graph.add("copied", {x}));
  Session session(graph);
  const auto run = [&](std::vector<std::string> outputs) {
    return session.run({{"x", vector_of({3})}}, {.outputs = std::move(outputs)}).size();
  };
  CHECK(run({"a", "b"}) == 2);
  CHECK(run({"b", "a"}) == 2);
  CHECK(run({"b", "b", "a"}) == 2);
  CHECK(impl_of(session).plans.made() == 1);
  CHECK(run({"a"}) == 1);
  CHECK(impl_of(session).plans.made() == 2);
}

TEST_CASE("state backup: restores the first copy of a run, and frees those of other runs' states") {
  Streams streams;
  StateBackup backup(streams);
  for (int i = 0; i < 40; ++i) {
    auto state = Tensor::zeros(f32, {100 + i});
    backup.save(0, state);
    state.data<float>()[0] = 1;
    backup.save(0, state);
    state.data<float>()[0] = 2;
    backup.restore({state});
    CHECK(state.values<float>()[0] == 0);
    CHECK(backup.copies() <= 3);
  }
}

TEST_CASE("state backup: restores a value that has moved, and writes only the state's own bytes") {
  Streams streams;
  StateBackup backup(streams);
  std::vector<float> memory(20, 1);
  backup.save(0, Tensor::borrow(memory.data(), f32, {20}));
  backup.discard();
  const auto first = Tensor::borrow(memory.data(), f32, {10});  // a smaller state in that memory
  const auto moved = Tensor::from(std::vector<float>(10, 2), {10});
  backup.save(0, first);
  std::fill(memory.begin(), memory.end(), 2.F);
  backup.save(0, moved);
  backup.restore({moved});
  CHECK(floats_of(first) == std::vector<float>(10, 1));
  CHECK(floats_of(moved) == std::vector<float>(10, 1));
  CHECK(memory[10] == 2);
}
