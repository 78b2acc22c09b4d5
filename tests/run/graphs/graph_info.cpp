// Inspection of graphs through public headers only.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"

using tenon::Graph;
using tenon::Init;
using tenon::Role;
using tenon::Shape;
using tenon::Tensor;

namespace {

Graph sample(tenon::Host& host) {
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {-1, 4});
  const auto hidden = graph.add("fully_connected", {x}, {{"num_hidden", 3}}, "fc");
  const auto act = graph.add("quadratic", {hidden}, {{"a", 0.5}}, "act");
  graph.output("y", graph.add("counter", {act}, {}, "count"));
  graph.output("hidden", hidden);
  graph.constant("c", Tensor::from({1.f}, {1}));
  return graph;
}

std::string names_of(const std::vector<tenon::ValueInfo>& values) {
  std::string names;
  for (const auto& value : values) names += (names.empty() ? "" : " ") + value.name;
  return names;
}

}  // namespace

TEST_CASE("graph info: values by role, with names, types and docs") {
  ApplicationHost host;
  const auto graph = sample(host);
  CHECK(names_of(graph.inputs()) == "x");
  CHECK(names_of(graph.outputs()) == "y hidden");
  CHECK(names_of(graph.variables()) == "fc_weight fc_bias");
  CHECK(names_of(graph.states()) == "count_calls");
  CHECK(names_of(graph.constants()) == "c");
  const auto x = graph.inputs()[0];
  CHECK(x.role == Role::input);
  CHECK(x.dtype == tenon::f32);
  CHECK(x.shape == Shape{-1, 4});
  CHECK(x.doc == host.catalog().find("fully_connected")->info.inputs[0].doc);
  CHECK(tenon::type_text(x) == "float32 [?, 4]");
  CHECK(graph.outputs()[0].value == "count");
  CHECK(graph.outputs()[1].value == "fc");
  CHECK(graph.outputs()[1].role == Role::output);
  CHECK(graph.outputs()[1].shape == Shape{-1, 3});
  CHECK(graph.outputs()[1].doc == host.catalog().find("fully_connected")->info.outputs[0].doc);
  CHECK(graph.states()[0].doc == "[1]");
  CHECK(graph.info(graph.find("act")).name == "act");
  for (const auto& listed : {graph.inputs(), graph.variables(), graph.states(), graph.constants()})
    for (const auto& value : listed) CHECK(graph.info(graph.find(value.name)).doc == value.doc);
  CHECK(graph.info(graph.find("x")).doc == x.doc);
  CHECK(graph.info(graph.find("fc_weight")).doc ==
        host.catalog().find("fully_connected")->info.inputs[1].doc);
  CHECK(graph.info(graph.find("fc")).doc == graph.outputs()[1].doc);
  CHECK(graph.info(graph.find("c")).doc.empty());  // no node reads it
}

TEST_CASE("graph info: an input that is added after a node has the doc of its own reader") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {4});
  const auto square = graph.add("quadratic", {x}, {{"a", 1}}, "square");
  const auto z = graph.input("z", tenon::f32, {4});
  graph.output("y", graph.add("test_add", {square, z}, {}, "sum"));
  REQUIRE(names_of(graph.inputs()) == "x z");
  CHECK(graph.inputs()[1].doc == host.catalog().find("test_add")->info.inputs[1].doc);
}

TEST_CASE("graph info: nodes with inputs, outputs, states and all their parameters") {
  ApplicationHost host;
  auto graph = sample(host);
  auto nodes = graph.nodes();
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[0].name == "fc");
  CHECK(nodes[0].op == "fully_connected");
  CHECK(nodes[0].inputs == std::vector<std::string>{"x", "fc_weight", "fc_bias"});
  CHECK(nodes[0].outputs == std::vector<std::string>{"fc"});
  CHECK(nodes[2].states == std::vector<std::string>{"count_calls"});
  std::map<std::string, tenon::AttributeValue::Variant> parameters;
  for (const auto& [name, value] : nodes[1].attributes) parameters[name] = value.variant();
  CHECK(std::get<double>(parameters.at("a")) == 0.5);
  CHECK(std::get<double>(parameters.at("c")) == 0);  // a default
  graph.gradient(graph.find("act"), {graph.find("fc_weight")});
  nodes = graph.nodes();
  const auto backward = std::find_if(nodes.begin(), nodes.end(), [](const auto& node) {
    return node.kind == tenon::NodeKind::backward;
  });
  REQUIRE(backward != nodes.end());
  CHECK(backward->of == "act");
}

TEST_CASE("graph info: storage and unknown dimensions of a type as text") {
  tenon::ValueInfo value;
  CHECK(tenon::type_text(value) == "? [...]");
  value.dtype = tenon::i64;
  CHECK(tenon::type_text(value) == "int64 [...]");
  value.shape = {2, -1};
  value.storage = tenon::Storage::csr;
  CHECK(tenon::type_text(value) == "csr int64 [2, ?]");
}

TEST_CASE("graph info: the operators that a graph uses") {
  ApplicationHost host;
  const auto graph = sample(host);
  const auto operators = graph.operators();
  REQUIRE(operators.size() == 3);
  CHECK(operators[0].name == "fully_connected");
  CHECK(operators[2].name == "counter");
  CHECK(operators[1].version == host.catalog().find("quadratic")->info.version);
  CHECK(operators[1].plugin.empty());  // the application's own
  CHECK_FALSE(graph.training());
}

TEST_CASE("graph info: the lists suffice to feed an unknown graph") {
  ApplicationHost host;
  auto made = sample(host);
  const auto bytes = made.to_bytes();
  auto graph = Graph::from_bytes(host, bytes);
  tenon::NamedTensors inputs;
  for (const auto& input : graph.inputs()) {
    auto shape = input.shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] < 0) shape.set(axis, 2);
    inputs.emplace(input.name, Tensor::zeros(*input.dtype, shape));
  }
  const auto outputs = tenon::Session(graph).run(inputs);
  for (const auto& output : graph.outputs()) CHECK(outputs.count(output.name) == 1);
  CHECK(graph.to_bytes() == bytes);
  auto damaged = bytes;
  damaged.back() ^= std::byte{1};
  CHECK(failure_of([&] { Graph::from_bytes(host, damaged); }).kind == 4);
  CHECK(failure_of([&] { Graph::from_bytes(host, std::span(bytes).first(100)); }).kind == 4);
  CHECK(failure_of([&] { Graph::from_bytes(host, {}); }).kind == 4);
}

TEST_CASE("variables from an initializer: drawn from the seed, by name") {
  ApplicationHost host;
  Graph graph(host);
  const auto w = graph.variable("w", tenon::f32, {3, 5}, Init::uniform(2, 3));
  const auto b = graph.variable("b", tenon::f32, {3}, Init::value(7));
  CHECK_FALSE(graph.tensor("w"));
  const auto x = graph.input("x", tenon::f32, {1, 5});
  graph.output("y", graph.add("fully_connected", {x, w, b}, {{"num_hidden", 3}}));
  const auto one = tenon::Session(graph, {.seed = 1}), same = tenon::Session(graph, {.seed = 1}),
             other = tenon::Session(graph, {.seed = 2});
  for (const auto value : one.tensor("w").values<float>()) CHECK((value >= 2 && value < 3));
  for (const auto value : one.tensor("b").values<float>()) CHECK(value == 7);
  CHECK(same_bits(one.tensor("w"), same.tensor("w")));
  CHECK_FALSE(same_bits(one.tensor("w"), other.tensor("w")));
  graph.initialize(1);
  CHECK(same_bits(graph.tensor("w"), one.tensor("w")));
  CHECK(graph.info(w).role == Role::variable);
  CHECK(failure_of([&] { graph.variable("w", tenon::f32, {1}); }).kind == 2);
}
