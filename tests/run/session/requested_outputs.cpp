// Runs that request some of a graph's outputs.
#include <doctest/doctest.h>

#include <stop_token>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/vectors.hpp"

using tenon::Graph;
using tenon::NamedTensors;
using tenon::RunOptions;
using tenon::Session;
using tenon::Tensor;

namespace {

/// scores = 2 w x; loss = scores + label; a and b are updated by adding delta; count is label plus
/// the number of training calls.
Graph classifier(tenon::Host& host) {
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {-1}), label = graph.input("label", tenon::f32, {-1}),
             delta = graph.input("delta", tenon::f32, {1});
  const auto scores = graph.add("quadratic", {x}, {{"a", 0.0}, {"b", 2.0}}, "scores");
  graph.output("scores", scores);
  graph.output("loss", graph.add("test_add", {scores, label}, {}, "loss"));
  for (const std::string name : {"a", "b"}) {
    const auto variable = graph.variable(name, vector_of({1}));
    graph.update(variable, graph.add("test_add", {variable, delta}, {}, "next " + name));
    graph.output(name, variable);
  }
  graph.output("count", graph.add("counter", {label}, {}, "counter"));
  return graph;
}

}  // namespace

TEST_CASE("requested outputs: only what they need is computed and required") {
  ApplicationHost host;
  Session session(classifier(host));
  const auto made = session.run({{"x", vector_of({3})}}, RunOptions{.outputs = {"scores"}});
  CHECK(made.size() == 1);
  CHECK(first_of(made.at("scores")) == 6);
  CHECK(session
            .run({{"x", vector_of({3, 4})}, {"label", vector_of({1})}},
                 RunOptions{.outputs = {"scores"}})
            .at("scores")
            .size() == 2);  // label is ignored
  CHECK(session.run({{"x", vector_of({3})}, {"label", vector_of({1})}, {"delta", vector_of({1})}})
            .size() == 5);
  CHECK(first_of(session
                     .run({{"x", vector_of({3})}, {"label", vector_of({1})}},
                          RunOptions{.outputs = {"loss", "scores", "loss"}})
                     .at("loss")) == 7);
  CHECK(session.run({}, RunOptions{.outputs = {"a"}}).size() == 1);
  auto place = vector_of({10});
  session.run(
      {{"x", vector_of({3})}},
      RunOptions{.outputs = {"scores"}, .destinations = {{"scores", {place, tenon::Write::add}}}});
  CHECK(first_of(place) == 16);
}

TEST_CASE("requested outputs: missing, unknown and useless arguments are refused") {
  ApplicationHost host;
  Session session(classifier(host));
  struct Row {
    NamedTensors inputs;
    tenon::RunOptions options;
    const char* words;
  };
  const Row rows[] = {
      {{{"x", vector_of({1})}}, RunOptions{.outputs = {"loss"}}, "no value passed for input label"},
      {{{"x", vector_of({1})}},
       RunOptions{.outputs = {"score"}},
       "the graph has no output 'score'"},
      {{{"x", vector_of({1})}, {"y", vector_of({1})}},
       RunOptions{.outputs = {"scores"}},
       "the graph has no input 'y'"},
      {{{"x", vector_of({1})}},
       RunOptions{.outputs = {"scores"}, .destinations = {{"loss", {vector_of({1})}}}},
       "the destination of output 'loss'"},
      {{{"x", vector_of({1})}}, {}, "no value passed for input label"}};
  for (const auto& row : rows) {
    const auto failure = failure_of([&] { session.run(row.inputs, row.options); });
    CHECK(failure.kind == 2);
    CHECK(failure.message.find(row.words) != std::string::npos);
  }
}

TEST_CASE("requested outputs: in training, only requested variables and states change") {
  ApplicationHost host;
  Session session(classifier(host), {.training = true});
  const auto values = [&] {
    return std::array{first_of(session.tensor("a")), first_of(session.tensor("b"))};
  };
  const NamedTensors inputs{
      {"x", vector_of({2})}, {"label", vector_of({0})}, {"delta", vector_of({2})}};
  session.run(inputs, RunOptions{.outputs = {"scores"}});
  CHECK(values() == std::array{1.f, 1.f});
  session.run(inputs, RunOptions{.outputs = {"a"}});
  CHECK(values() == std::array{3.f, 1.f});
  CHECK(first_of(session.run(inputs, RunOptions{.outputs = {"count"}}).at("count")) == 1);
  session.run(inputs);
  CHECK(values() == std::array{5.f, 3.f});
  CHECK(first_of(session.run(inputs, RunOptions{.outputs = {"count"}}).at("count")) == 3);
}

TEST_CASE("a run can be stopped between nodes, and the session continues afterwards") {
  ApplicationHost host;
  host.add<probes::Copy>("stops");
  std::stop_source source;
  const probes::Copy::During stopping([&](const tenon::Call&) { source.request_stop(); });
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1});
  graph.output("y", graph.add("quadratic", {graph.add("stops", {x})}, {{"a", 1.0}}));
  Session session(graph);
  const auto failure = failure_of([&] {
    session.run({{"x", vector_of({3})}}, RunOptions{.stop = source.get_token()});
  });
  CHECK(failure.kind == 1);
  CHECK(failure.message == "the run was stopped");
  CHECK(first_of(session.run({{"x", vector_of({3})}}).at("y")) == 9);
}

TEST_CASE("the inputs that some outputs need are known before a run") {
  ApplicationHost host;
  const auto graph = classifier(host);
  const auto names = [&](const std::vector<std::string>& outputs, bool training) {
    std::string text;
    for (const auto& input : graph.needed_inputs(outputs, training)) text += input.name + ' ';
    return text;
  };
  CHECK(names({}, false) == "x label delta ");
  CHECK(names({"scores"}, false) == "x ");
  CHECK(names({"scores", "loss"}, true) == "x label ");
  CHECK(names({"a"}, true) == "delta ");  // its update runs
  CHECK(names({"a"}, false) == "");
  CHECK(failure_of([&] { names({"no"}, false); }).kind == 2);
}
