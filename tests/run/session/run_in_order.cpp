// Positional runs: the same results as runs by names, on every internal path.
#include <doctest/doctest.h>

#include <stop_token>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace run_in_order {
namespace {

struct TwoOutputs {
  ApplicationHost host;
  Graph graph{host};
  TwoOutputs() {
    const auto x = graph.input("x", f32, {-1}), y = graph.input("y", f32, {-1});
    graph.output("z", graph.add("test_add", {x, y}));
    graph.output("a", graph.add("quadratic", {x}, {{"b", 2.0}}));
  }
};

}  // namespace

TEST_CASE("run_in_order: inputs and outputs in the graph's order, for a sequence of shapes") {
  TwoOutputs of;
  for (const int plans : {1, 64}) {  // 1: each change of shapes evicts the previous plan
    Session session(of.graph, {.plans = plans});
    for (const std::int64_t length : {3, 3, 3, 5, 5, 3, 0, 0, 3}) {
      const Tensor inputs[] = {arange(f32, length), arange(f32, length, 100)};
      Tensor outputs[2];
      session.run_in_order(inputs, outputs);
      const auto expected = session.run({{"x", inputs[0]}, {"y", inputs[1]}});
      CHECK(same_bits(outputs[0], expected.at("z")));
      CHECK(same_bits(outputs[1], expected.at("a")));
      REQUIRE(outputs[0].size() == length);
      if (length > 0) CHECK(outputs[0].values<float>()[0] == 100);
      Tensor again[2];
      session.run_in_order(inputs, again);  // after a run by names
      CHECK(same_bits(again[0], expected.at("z")));
    }
  }
}

TEST_CASE(
    "repeated runs by names: equal to a new session's, in new tensors, with the same refusals") {
  TwoOutputs of;
  Session session(of.graph);
  std::vector<std::pair<NamedTensors, NamedTensors>> found_and_expected;
  float first = 0;
  for (const std::int64_t length : {3, 3, 3, 5, 5, 3, 0, 0, 3, 3, 3}) {
    const NamedTensors inputs{{"x", arange(f32, length, ++first)}, {"y", arange(f32, length, 100)}};
    found_and_expected.emplace_back(session.run(inputs), Session(of.graph).run(inputs));
    CHECK(failure_of([&] {
            session.run({{"x", inputs.at("x")}, {"w", inputs.at("y")}});
          }).message == "the graph has no input 'w'");
    CHECK(failure_of([&] {
            session.run({{"x", inputs.at("x")}});
          }).message == "no value passed for input y");
    CHECK(failure_of([&] {
            session.run({{"x", inputs.at("x")}, {"y", Tensor()}});
          }).message == "no value passed for input y");
    found_and_expected.emplace_back(session.run(inputs), found_and_expected.back().second);
    found_and_expected.emplace_back(session.run(inputs), found_and_expected.back().second);
    CHECK(session.run(inputs, RunOptions{.outputs = {"a"}}).size() == 1);
    const auto mine = Tensor::zeros(f32, {length});
    CHECK(same_bits(session.run(inputs, Destinations{{"a", Destination{mine}}}).at("z"),
                    found_and_expected.back().second.at("z")));
    CHECK(same_bits(mine, found_and_expected.back().second.at("a")));
    CHECK(session.run({{"x", inputs.at("x")}, {"y", arange(f32, length, 100)}}).size() == 2);
  }
  CHECK(session.step() == 11 * 6);  // refused runs do not count
  for (const auto& each : found_and_expected) {
    REQUIRE(each.first.size() == 2);
    CHECK(same_bits(each.first.at("z"), each.second.at("z")));
    CHECK(same_bits(each.first.at("a"), each.second.at("a")));
  }
}

TEST_CASE("run_in_order: passed outputs are written, and only matching ones are accepted") {
  TwoOutputs of;
  Session session(of.graph);
  const Tensor inputs[] = {vector_of({1, 2}), vector_of({10, 20})};
  for (int run = 0; run < 3; ++run) {
    const auto mine = vector_of({-1, -1});
    Tensor outputs[] = {mine, Tensor()};
    session.run_in_order(inputs, outputs);
    CHECK(mine.values<float>()[1] == 22);
    CHECK(outputs[1].values<float>()[1] == 4);
    Tensor wrong[] = {vector_of({1, 2, 3}), Tensor()};
    CHECK(failure_of([&] {
            session.run_in_order(inputs, wrong);
          }).message.starts_with("the destination of output 'z' is float32 [3]"));
  }
}

TEST_CASE("run_in_order: inputs of other types are refused after any number of runs") {
  TwoOutputs of;
  Session session(of.graph);
  const Tensor inputs[] = {vector_of({1, 2}), vector_of({10, 20})};
  Tensor outputs[2];
  for (int run = 0; run < 3; ++run) {
    session.run_in_order(inputs, outputs);
    const Tensor other[] = {vector_of({1, 2}), Tensor::zeros(f64, {2})};
    CHECK(failure_of([&] {
            session.run_in_order(other, outputs);
          }).message.find("input 'y' is float64 [2]") != std::string::npos);
    const Tensor missing[] = {vector_of({1, 2}), Tensor()};
    CHECK(failure_of([&] { session.run_in_order(missing, outputs); }).message ==
          "no value passed for input y");
    CHECK(failure_of([&] {
            session.run_in_order({inputs, 1}, outputs);
          }).message == "got 1 inputs but the graph has 2");
    CHECK(failure_of([&] {
            session.run_in_order(inputs, {outputs, 1});
          }).message == "got 1 outputs but the graph has 2");
    outputs[0] = outputs[1] = Tensor();
  }
}

TEST_CASE(
    "run_in_order: strided inputs, values with two names, and inputs that are outputs use the slow "
    "path") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto y = graph.add("quadratic", {x}, {{"b", 2.0}});
  graph.output("y", y);
  graph.output("too", y);
  graph.output("x again", x);
  Session session(graph);
  std::vector<float> memory = {1, 0, 2, 0};
  const std::int64_t strides[] = {2};
  const Tensor inputs[] = {Tensor::borrow(memory.data(), f32, {2}, strides)};
  for (int run = 0; run < 3; ++run) {
    Tensor outputs[3];
    session.run_in_order(inputs, outputs);
    CHECK(same_bits(outputs[0], vector_of({2, 4})));
    CHECK(same_bits(outputs[1], vector_of({2, 4})));
    CHECK(same_bits(outputs[2].clone(), vector_of({1, 2})));
  }
}

TEST_CASE("run_in_order: counts steps, changes states, and stops, like run()") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {4});
  graph.output("sum", graph.add("counter", {x}, {}, "c"));
  graph.output("dropped", graph.add("dropout", {x}, {{"p", 0.5}}));
  Session by_place(graph, {.seed = 7, .training = true}),
      by_name(graph, {.seed = 7, .training = true});
  const Tensor inputs[] = {ones(f32, {4})};
  for (int run = 0; run < 4; ++run) {
    Tensor outputs[2];
    by_place.run_in_order(inputs, outputs);
    const auto expected = by_name.run({{"x", inputs[0]}});
    CHECK(same_bits(outputs[0], expected.at("sum")));
    CHECK(same_bits(outputs[1], expected.at("dropped")));
    CHECK(by_place.step() == by_name.step());
  }
  std::stop_source source;
  source.request_stop();
  Tensor outputs[2];
  CHECK(failure_of([&] { by_place.run_in_order(inputs, outputs, source.get_token()); }).message ==
        "the run was stopped");
  CHECK(by_place.tensor("c_calls").values<float>()[0] == 4);
}

TEST_CASE("run_in_order: a failing kernel leaves the session usable") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("reverse", {graph.input("x", f32, {2})}));
  Session session(graph);
  const Tensor good[] = {vector_of({1, 2})}, bad[] = {vector_of({1, -2})};
  for (int run = 0; run < 3; ++run) {
    Tensor outputs[1];
    session.run_in_order(good, outputs);
    CHECK(same_bits(outputs[0], vector_of({2, 1})));
    outputs[0] = Tensor();
    CHECK(failure_of([&] { session.run_in_order(bad, outputs); }).message.find("reverse") !=
          std::string::npos);
  }
}

}  // namespace run_in_order
