// Initial values of states: set by the operator, unless the graph does.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "temporary_folder.hpp"

using tenon::DType;
using tenon::Graph;
using tenon::Session;
using tenon::Tensor;

namespace {

/// data + level + offset; the states have data's shape and never change.
struct Levels : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data plus two states");
    op.types({tenon::f32});
    op.input("data", "any shape");
    op.output("sum", "same shape as data");
    op.state("level", "same shape as data").initial(2.5);
    op.state("offset", "same shape as data");
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("level", io.input(0).shape);
    io.set_state("offset", io.input(0).shape, tenon::f64);
  }
  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    const auto sum = call.output<float>(0);
    for (std::int64_t i = 0; i < data.size(); ++i)
      sum[i] = data[i] + call.state<float>("level")[i] +
               static_cast<float>(call.state<double>("offset")[i]);
  }
};

/// A state whose declared initial value does not fit its dtype.
struct TooMuch : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.state("byte", "[1]").initial(256);
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("byte", {1}, tenon::u8);
  }
};

struct LevelHost : ApplicationHost {
  LevelHost() {
    add<Levels>();
    add<TooMuch>();
  }
};

Graph levels(tenon::Host& host, const tenon::Shape& shape) {
  Graph graph(host);
  graph.output("y", graph.add("levels", {graph.input("x", DType::f32, shape)}, {}, "node"));
  return graph;
}

float first_result(const Graph& graph) {
  return Session(graph.clone())
      .run({{"x", Tensor::from({1.F, 2.F}, {2})}})
      .at("y")
      .values<float>()[0];
}

}  // namespace

TEST_CASE("initial states: a state begins as its operator declares") {
  LevelHost host;
  CHECK(host.call("levels", {Tensor::from({1.F, 2.F}, {2})}).values<float>()[1] == 4.5F);
  CHECK(first_result(levels(host, {2})) == 3.5F);
  CHECK(first_result(levels(host, {-1})) == 3.5F);  // shape known only from the input

  const TemporaryFolder folder;
  for (const auto& shape : {tenon::Shape{2}, tenon::Shape{-1}}) {
    auto graph = levels(host, shape);
    graph.save(folder / "levels.tenon");
    CHECK(first_result(Graph::load(host, folder / "levels.tenon")) == 3.5F);
  }
  CHECK(first_result(Graph::from_json(host, levels(host, {2}).to_json())) == 3.5F);
}

TEST_CASE("initial states: the graph takes precedence") {
  LevelHost host;
  const auto graph =
      Graph::from_json(host, R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]}},
    "states": {"node_level": {"init": "zeros"}, "node_offset": {"init": {"value": 7}}},
    "nodes": [{"name": "node", "op": "levels", "inputs": ["x"]}], "outputs": {"y": "node"}})");
  CHECK(first_result(graph) == 8.F);
}

TEST_CASE("initial states: a value that does not fit the dtype is refused") {
  LevelHost host;
  const auto x = Tensor::from({1.F}, {1});
  check_says(failure_of([&] { host.call("too_much", {x}); }).message,
             {"[too_much] the initial value of 'byte' is 256", "does not fit uint8"});
  Graph graph(host);
  graph.output("y", graph.add("too_much", {graph.input("x", DType::f32, {1})}, {}, "node"));
  check_says(failure_of([&] {
               Session(graph).run({{"x", x}});
             }).message,
             {"initial value of 'node_byte' is 256", "does not fit uint8"});
}
