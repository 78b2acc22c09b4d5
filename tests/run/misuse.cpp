// Misuse that the headers forbid and that is cheap to detect is refused: use after a move, two
// threads in one object.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/draw.hpp>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>
#include <thread>
#include <vector>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

Tensor number(float value) {
  return Tensor::from({value}, {1});
}

Graph sum_graph(Host& host) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {1});
  graph.output("y", graph.add("test_add", {x, x}, {}, "sum"));
  return graph;
}

/// Its inference blocks until it is released.
struct WaitsToInfer : probes::Copy {
  void infer(Infer& io) const {
    wait();
    io.set_output(0, io.input(0).shape);
  }
};

struct Use {
  const char* what;
  std::function<void()> act;
};

void check_refused(const std::vector<Use>& uses, const std::string& message) {
  for (const auto& use : uses) {
    CAPTURE(use.what);
    const auto failure = failure_of(use.act);
    CHECK(failure.kind == 2);
    CHECK(failure.message == message);
  }
}

std::vector<Use> uses_of(Graph& graph) {
  return {{"input", [&] { graph.input("i", f32, {1}); }},
          {"variable", [&] { graph.variable("v", number(1)); }},
          {"variable without elements", [&] { graph.variable("v", f32, {1}); }},
          {"constant", [&] { graph.constant("c", number(1)); }},
          {"add",
           [&] {
             graph.add("test_add", {Value(), Value()});
           }},
          {"add by name",
           [&] {
             graph.add("test_add", {{"lhs", Value()}});
           }},
          {"output", [&] { graph.output("o", Value()); }},
          {"gradient", [&] { graph.gradient(Value(), {}); }},
          {"stop_gradient", [&] { graph.stop_gradient(Value()); }},
          {"update", [&] { graph.update(Value(), Value()); }},
          {"clone", [&] { (void)graph.clone(); }},
          {"find", [&] { (void)graph.find("x"); }},
          {"dtype", [&] { (void)graph.dtype(Value()); }},
          {"shape", [&] { (void)graph.shape(Value()); }},
          {"tensor", [&] { (void)graph.tensor("x"); }},
          {"inputs", [&] { (void)graph.inputs(); }},
          {"outputs", [&] { (void)graph.outputs(); }},
          {"variables", [&] { (void)graph.variables(); }},
          {"states", [&] { (void)graph.states(); }},
          {"constants", [&] { (void)graph.constants(); }},
          {"nodes", [&] { (void)graph.nodes(); }},
          {"info", [&] { (void)graph.info(Value()); }},
          {"operators", [&] { (void)graph.operators(); }},
          {"training", [&] { (void)graph.training(); }},
          {"needed_inputs", [&] { (void)graph.needed_inputs({}); }},
          {"save", [&] { graph.save("/nowhere/graph.tenon"); }},
          {"to_bytes", [&] { (void)graph.to_bytes(); }},
          {"to_json", [&] { (void)graph.to_json(); }},
          {"bind", [&] { graph.bind(); }},
          {"initialize", [&] { graph.initialize(); }},
          {"a session", [&] { const Session session(graph); }},
          {"an evaluator",
           [&] { const Evaluator evaluator(graph, {.loss = "y", .scores = {}, .label = {}}); }}};
}

}  // namespace

TEST_CASE("misuse: use after a move") {
  ApplicationHost host;
  auto graph = sum_graph(host);
  const std::vector<Tensor> inputs{number(1), number(2)};
  std::vector<Tensor> outputs(1);
  const Argument one{.dtype = f32, .shape = {1}};

  Session session(graph);
  const auto session_moved = std::move(session);
  check_refused({{"run",
                  [&] {
                    session.run({{"x", number(1)}});
                  }},
                 {"plan", [&] { session.plan({}); }},
                 {"describe_plan", [&] { session.describe_plan({}); }},
                 {"plan_bytes", [&] { session.plan_bytes({}); }},
                 {"first_non_finite", [&] { session.first_non_finite({}); }},
                 {"step", [&] { (void)session.step(); }},
                 {"set_step", [&] { session.set_step(1); }},
                 {"tensor", [&] { (void)session.tensor("x"); }},
                 {"tensor of a value", [&] { (void)session.tensor(Value()); }},
                 {"graph", [&] { (void)session.graph(); }}},
                "the session was moved from");

  auto call = host.prepare("test_add", {one, one});
  const auto call_moved = std::move(call);
  check_refused({{"forward", [&] { call.forward(inputs, outputs); }},
                 {"operator()", [&] { call(inputs); }},
                 {"backward", [&] { call.backward({}, inputs, outputs); }},
                 {"inputs", [&] { (void)call.inputs(); }},
                 {"outputs", [&] { (void)call.outputs(); }},
                 {"states", [&] { (void)call.states(); }},
                 {"has_backward", [&] { (void)call.has_backward(); }},
                 {"make_states", [&] { (void)call.make_states(); }}},
                "the prepared call was moved from");

  Tensor tensor = number(1);
  const auto tensor_moved = std::move(tensor);
  check_refused({{"values", [&] { (void)tensor.values<float>(); }},
                 {"shape", [&] { (void)tensor.shape(); }},
                 {"data", [&] { (void)tensor.data(); }},
                 {"clone", [&] { (void)tensor.clone(); }},
                 {"to", [&] { (void)tensor.to("cpu"); }},
                 {"cast_storage", [&] { (void)cast_storage(tensor, Storage::csr); }}},
                "this tensor is empty: it has no dtype, shape or elements");
  CHECK_FALSE(tensor);

  const auto graph_moved = std::move(graph);
  check_refused(uses_of(graph), "the graph was moved from");
  check_refused({{"host", [&] { (void)graph.host(); }}, {"draw", [&] { (void)draw_graph(graph); }}},
                "the graph was moved from");
  graph = sum_graph(host);  // assignment is allowed
  CHECK(Session(graph).run({{"x", number(2)}}).at("y").values<float>()[0] == 4);
}

TEST_CASE("misuse: a graph that another thread is changing") {
  ApplicationHost host;
  host.add<WaitsToInfer>();
  auto graph = sum_graph(host);
  const auto x = graph.find("x");
  probes::Copy::hold([&] { graph.add("waits_to_infer", {x}, {}, "late"); },
                     [&] {
                       check_refused(uses_of(graph), "the graph is in use by another thread");
                       CHECK(graph.host().threads() > 0);  // the host is not part of the graph
                     });
  CHECK(graph.nodes().size() == 2);
  CHECK(graph.shape(graph.find("late")) == Shape{1});
}

TEST_CASE("misuse: results of a graph, a session and a call outlive the host") {
  auto host = std::make_unique<ApplicationHost>();
  auto graph = std::make_unique<Graph>(sum_graph(*host));
  auto session = std::make_unique<Session>(*graph);
  const auto catalog = host->catalog();
  const auto eager = host->call("test_add", {number(1), number(2)});
  const auto made = session->run({{"x", number(3)}}).at("y");
  host.reset();
  graph->add("test_add", {graph->find("x"), graph->find("sum")}, {}, "after");
  const auto own = graph->tensor(graph->variable("w", number(5)));
  graph.reset();
  CHECK(session->run({{"x", number(4)}}).at("y").values<float>()[0] == 8);
  session.reset();
  CHECK(eager.values<float>()[0] == 3);
  CHECK(made.values<float>()[0] == 6);
  CHECK(own.values<float>()[0] == 5);
  CHECK(catalog.find("test_add") != nullptr);
}

// ThreadSanitizer verifies here that refusing is enough: each call does all of its work or nothing.
TEST_CASE("misuse: many threads in one session, one call and one graph concurrently") {
  ApplicationHost host(1);
  auto graph = sum_graph(host);
  const auto x = graph.find("x");
  Session session(graph);
  auto call =
      host.prepare("test_add", {{.dtype = f32, .shape = {1}}, {.dtype = f32, .shape = {1}}});
  std::atomic<int> wrong = 0, added = 0;
  const auto allowed = [&](const auto& act) {
    const auto failure = failure_of(act);
    if (failure.kind != 0 &&
        failure.message.find("is in use by another thread") == std::string::npos)
      ++wrong;
    return failure.kind == 0;
  };
  const auto work = [&](int thread) {
    for (int i = 0; i < 50; ++i) {
      const auto value = static_cast<float>(100 * thread + i);
      allowed([&] {
        wrong += session.run({{"x", number(value)}}).at("y").values<float>()[0] != 2 * value;
      });
      allowed([&] {
        wrong += call(std::vector{number(value), number(1)}).values<float>()[0] != value + 1;
      });
      allowed([&] { wrong += graph.nodes().empty(); });
      added += allowed([&] { graph.add("test_add", {x, x}); });
      allowed([&] {
        wrong += Session(graph).run({{"x", number(value)}}).at("y").values<float>()[0] != 2 * value;
      });
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back(work, thread);
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(graph.nodes().size() == static_cast<std::size_t>(1 + added));
  CHECK(session.step() <= 200);
}
