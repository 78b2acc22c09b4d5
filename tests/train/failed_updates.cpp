// Sessions that update variables by the bundled optimizers, of which failed runs change none.
#include <doctest/doctest.h>

#include <stdexcept>
#include <tenon/host/session.hpp>

#include "device/devices.hpp"
#include "digits.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

Tensor two_ones() {
  return Tensor::from({1.F, 1.F}, {2});
}

Tensor rate_of_half() {
  return Tensor::from({0.5F}, Shape::scalar());
}

float first_element(const Session& session, const char* name) {
  return session.tensor(name).values<float>()[0];
}

void add_sgd_step(Graph& graph, const std::string& name, Value gradient, Value rate) {
  const auto variable = graph.variable(name, two_ones());
  graph.update(variable, graph.add("sgd", {variable, gradient, rate}, {}, name + "_step"));
}

}  // namespace

TEST_CASE("failed updates: an exception of a callback leaves all variables unchanged") {
  DigitsHost digits_host;
  Graph graph(digits_host.host);
  const auto gradient = graph.input("gradient", f32, {2}),
             rate = graph.input("rate", f32, Shape::scalar());
  add_sgd_step(graph, "a", gradient, rate);
  const auto b = graph.variable("b", two_ones());
  const auto updated = graph.add("sgd", {b, gradient, rate}, {}, "b_step");
  graph.update(b, updated);
  graph.output("updated", updated);
  Session session(graph, {.training = true});
  RunOptions request{.destinations = {{"updated", {two_ones(), Write::to}}}};
  const NamedTensors inputs{{"gradient", two_ones()}, {"rate", rate_of_half()}};
  for (const float before : {1.F, 0.5F}) {
    request.on_output_ready = [](const std::string&) { throw std::runtime_error("not now"); };
    CHECK_THROWS_AS(session.run(inputs, request), std::runtime_error);
    CHECK(first_element(session, "a") == before);
    CHECK(first_element(session, "b") == before);
    request.on_output_ready = {};
    session.run(inputs, request);
    CHECK(first_element(session, "a") == before - 0.5F);
    CHECK(first_element(session, "b") == before - 0.5F);
  }
}

TEST_CASE("failed updates: a fault that a GPU reports at the end leaves variables unchanged") {
  if (devices().size() < 2) {
    MESSAGE("skipped: it needs a GPU, or a build with TENON_CUDA=SIMULATED");
    return;
  }
  DigitsHost digits_host;
  Graph graph(digits_host.host);
  const auto row = graph.add("embedding",
                             {graph.input("index", i64, Shape::scalar()),
                              graph.constant("table", Tensor::from({1.F, 1.F, 1.F, 1.F}, {2, 2}))},
                             {{"input_dim", 2}, {"output_dim", 2}}, "row");
  add_sgd_step(graph, "a", row, graph.input("rate", f32, Shape::scalar()));
  graph.output("row", row);
  Session session(graph, {.training = true, .device = "cuda", .keep_on_device = true});
  const auto run = [&](std::int64_t index) {
    session.run({{"index", Tensor::from<std::int64_t>({index}, Shape::scalar())},
                 {"rate", rate_of_half()}});
  };
  for (const float before : {1.F, 0.5F}) {
    CHECK(failure_of([&] { run(12); }).message.find("index 12 is out of range") !=
          std::string::npos);
    CHECK(first_element(session, "a") == before);
    run(1);
    CHECK(first_element(session, "a") == before - 0.5F);
  }
}
