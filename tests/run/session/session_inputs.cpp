// State that a session must not carry over from an earlier run: its inputs' dtype, and sums that a
// kernel accumulated for one name.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE(
    "session: inputs of another dtype are refused, whether or not their shape was planned for") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("quadratic", {graph.input("x", f32, {-1})}, {{"b", 1.0}}));
  Session session(graph);
  for (int i = 0; i < 2; ++i) {
    for (const auto dtype : {f64, u8, f16}) {
      const auto failure = failure_of([&] { session.run({{"x", Tensor::zeros(dtype, {4})}}); });
      CHECK(failure.message.find("input 'x' is " + std::string(name_of(dtype)) +
                                 " [4] but the graph needs float32") != std::string::npos);
    }
    session.run({{"x", Tensor::zeros(f32, {4})}});
  }
}

TEST_CASE("session: a value with two names accumulates into each destination separately") {
  ApplicationHost host;
  Graph graph(host);
  const auto y = graph.add("quadratic", {graph.input("x", f32, {1})}, {{"b", 1.0}});
  graph.output("y", y);
  graph.output("z", y);
  for (const auto write : {Write::add, Write::to}) {
    Session session(graph);
    const auto first = Tensor::from({100.0f}, {1}), second = Tensor::from({10.0f}, {1});
    session.run({{"x", Tensor::from({1.0f}, {1})}},
                {{"y", {first, Write::add}}, {"z", {second, write}}});
    CHECK(first.values<float>()[0] == 101);
    CHECK(second.values<float>()[0] == (write == Write::add ? 11 : 1));
  }
}

TEST_CASE("session: a plan needs the rank of each input, also after a run with a scalar") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("quadratic", {graph.input("x", f32, Shape())}, {{"b", 1.0}}));
  Session session(graph);
  for (int round = 0; round < 2; ++round) {
    CHECK(failure_of([&] { session.plan({}); }).message.find("must be known") != std::string::npos);
    session.run({{"x", Tensor::zeros(f32, Shape::scalar())}});
  }
  CHECK(session.plan({{"x", {2}}}).steps.size() == 1);
}

TEST_CASE("session: messages list few of a graph's many inputs and outputs") {
  ApplicationHost host;
  Graph graph(host);
  for (int i = 0; i < 1000; ++i) {
    const auto number = std::to_string(i);
    graph.output("y" + number, graph.input("x" + number, f32, {1}));
  }
  Session session(graph);
  const auto missing = failure_of([&] { session.run({}); });
  const auto unknown = failure_of([&] { session.run({{"none", Tensor::zeros(f32, {1})}}); });
  const auto no_output = failure_of([&] { session.run({}, {.outputs = {"none"}}); });
  for (const auto& failure : {missing, unknown, no_output})
    CHECK(failure.message.size() + failure.hint.size() < 400);
  CHECK(missing.message.ends_with(" and 984 more"));
  CHECK(unknown.hint.ends_with(" and 984 more"));
  CHECK(no_output.hint.ends_with(" and 984 more"));
}
