// A graph from a file: shared properties of its nodes are inferred once.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "probe_operators.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

namespace {

/// Counts its inferences.
struct Moved : probes::Line {
  static inline int inferred = 0;
  void infer(Infer& io) const {
    ++inferred;
    io.set_output(0, io.input(0).shape);
  }
};

constexpr int nodes = 100;

Value chain(Graph& graph, Value value, std::int64_t offset) {
  for (int i = 0; i < nodes; ++i) value = graph.add("moved", {value}, {{"offset", offset}});
  return value;
}

}  // namespace

TEST_CASE(
    "an opened graph: equal nodes query their operator once, and not again for inputs of the "
    "declared shape") {
  const TemporaryFolder folder;
  ApplicationHost host;
  host.add<Moved>("moved");
  Graph graph(host);
  graph.output("y", chain(graph, graph.input("x", f32, {3}), 2));
  graph.save(folder / "nodes.tenon");
  Moved::inferred = 0;
  Session session(Graph::load(host, folder / "nodes.tenon"));
  const auto y = session.run({{"x", Tensor::zeros(f32, {3})}}).at("y");
  CHECK(y.values<float>()[2] == 2 * nodes);
  CHECK(Moved::inferred <= 2);
}

TEST_CASE("an opened graph: nodes that differ in parameters or types are inferred separately") {
  const TemporaryFolder folder;
  ApplicationHost host;
  host.add<Moved>("moved");
  Graph graph(host);
  auto wide = graph.input("wide", f32, {-1, 2}), flat = graph.input("flat", f32, {-1});
  for (std::int64_t i = 0; i < 10; ++i) {
    wide = graph.add("moved", {wide}, {{"offset", i % 2}});
    flat = graph.add("moved", {flat}, {{"offset", i % 2 + 2}});
  }
  graph.output("wide_end", wide);
  graph.output("flat_end", flat);
  graph.save(folder / "nodes.tenon");
  Session session(Graph::load(host, folder / "nodes.tenon"));
  for (const std::int64_t rows : {1, 3}) {
    const auto ends = session.run(
        {{"wide", Tensor::zeros(f32, {rows, 2})}, {"flat", Tensor::zeros(f32, {rows + 4})}});
    CHECK(ends.at("wide_end").shape() == Shape{rows, 2});
    CHECK(ends.at("flat_end").shape() == Shape{rows + 4});
    CHECK(ends.at("wide_end").values<float>()[0] == 5);
    CHECK(ends.at("flat_end").values<float>()[0] == 25);
  }
}

TEST_CASE(
    "a session that takes over a graph: earlier values stay valid, other handles keep the graph") {
  ApplicationHost host;
  host.add<Moved>("moved");
  Graph graph(host);
  const auto weight = graph.variable("w", Tensor::from({4.f}, {1}));
  graph.output("y", graph.add("moved", {weight}));
  Session shared{Graph(graph)};
  graph.output("z", graph.add("moved", {weight}, {{"offset", 5}}));
  CHECK(shared.run({}).count("z") == 0);
  Session session(std::move(graph));
  CHECK(session.tensor(weight).values<float>()[0] == 4);
  CHECK(session.run({}).at("z").values<float>()[0] == 9);
}
