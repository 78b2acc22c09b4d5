// Which parts of a graph are exported, under which names, and with which numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tenon/compose.hpp>
#include <tenon/host/udf.hpp>

#include "../failure_of.hpp"
#include "../probe_operators.hpp"
#include "exported.hpp"

namespace export_name_tests {
namespace {

using exported::check_same;
using exported::ExportHost;
using exported::random_inputs;
using tenon::Tensor;
using Texts = std::vector<std::string>;

struct Doubled : tenon::Operator {
  double factor = 1;
  static constexpr void describe(auto& op) {
    op.doc("2 factor x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factor", &Doubled::factor, "a factor");
  }
  void forward(tenon::Compose& c) const {
    const auto scaled = c.add("quadratic", {c.input("x")}, {{"b", factor}});
    c.set_output("y", c.add("add", {scaled, scaled}));
  }
};

Texts names_of(const std::vector<tenon::onnx::ValueInfo>& values) {
  Texts names;
  for (const auto& value : values) names.push_back(value.name);
  return names;
}

}  // namespace

TEST_CASE("export: omits inputs, variables and constants that no output needs") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2}), label = graph.input("label", tenon::f32, {2});
  const auto w = graph.variable("w", Tensor::from({1.0F, 2.0F}, {2})),
             v = graph.variable("v", Tensor::from({3.0F, 4.0F}, {2}));
  graph.constant("rows",
                 Tensor::csr(Tensor::from({1.0F}, {1}), Tensor::from({std::int64_t{0}}, {1}),
                             Tensor::from({std::int64_t{0}, std::int64_t{1}}, {2}), {1, 2}));
  const auto y = graph.add("mul", {x, w});
  graph.output("y", y);
  const auto loss = graph.add("sum", {graph.add("mul", {graph.add("sub", {y, label}), v})});
  graph.output("slope", graph.gradient(loss, {w})[0]);
  on.save(graph);
  const auto model = tenon::onnx::read_model(on.path);
  REQUIRE(model.graph.initializers.size() == 1);
  CHECK(model.graph.initializers[0].name == "w");
  CHECK(names_of(tenon::onnx::describe(on.path).inputs) == Texts{"x"});
  CHECK(on.types() == Texts{"Mul"});
  CHECK(on.notes ==
        Texts{"output 'slope' is not written, because it is a gradient, which ONNX cannot express",
              "input 'label' is not written, because no exported output needs it"});
}

TEST_CASE("export: a number that does not fit float32 needs the custom operator") {
  ExportHost on;
  const auto written = [&](tenon::DType dtype, const char* op, const char* name, double value) {
    tenon::Graph graph(on.host);
    graph.output("y", graph.add(op, {graph.input("x", dtype, {2})}, {{name, value}}, "a"));
    on.notes.clear();
    on.save(graph);
    const auto nodes = on.import(on.host).nodes();
    for (const auto& [param, kept] : nodes[0].attributes)
      if (param == name)
        CHECK(std::get<double>(kept.variant()) ==
              (on.types()[0] == "Elu" ? double{static_cast<float>(value)} : value));
    return on.types();
  };
  for (const double value : {1e300, 1e-300, -1e39}) {
    CAPTURE(value);
    CHECK(written(tenon::f64, "leaky_relu", "slope", value) == Texts{"leaky_relu"});
  }
  CHECK(written(tenon::f32, "quadratic", "a", 1e-300) == Texts{"quadratic"});
  CHECK(on.notes.empty());  // its function uses float32 numbers, as the node does
  CHECK(written(tenon::f32, "elu", "alpha", 0.1) == Texts{"Elu"});
  CHECK(on.notes.empty());
  CHECK(written(tenon::f64, "elu", "alpha", 0.5) == Texts{"Elu"});
  CHECK(on.notes.empty());
  CHECK(written(tenon::f64, "elu", "alpha", 0.1) == Texts{"Elu"});
  CHECK(on.notes == Texts{"node 'a' computes in float64, but its attribute 'alpha', 0.1, is "
                          "rounded to 0.10000000149011612 in the "
                          "file, because ONNX attributes are float32"});
}

TEST_CASE("export: output names are unique, and renamed outputs are noted") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2});
  graph.output("x", x);
  graph.output("x_1", graph.add("relu", {x}));
  on.save(graph);
  CHECK(names_of(tenon::onnx::describe(on.path).outputs) == Texts{"x_2", "x_1"});
  REQUIRE(on.notes.size() == 1);
  CHECK(on.notes[0].starts_with("output 'x' is renamed to 'x_2'"));
}

TEST_CASE("export: a function is not named like another operator of its domain") {
  ExportHost on;
  on.host.add<probes::Copy>("doubled_1");  // as a second function of Doubled would be named
  tenon::Graph graph(on.host);
  Doubled other;
  other.factor = 3;
  const auto x = graph.input("x", tenon::f32, {3});
  const auto y = graph.add("add", {graph.udf(Doubled(), {x}, "a"), graph.udf(other, {x}, "b")});
  graph.output("y", graph.add("doubled_1", {y}, {}, "c"));
  on.save(graph);
  CHECK(on.types() == Texts{"doubled", "doubled_2", "Add", "doubled_1"});
  check_same(on.import(on.host), graph, random_inputs(graph));
}

TEST_CASE("export: dimension names of inputs survive a round trip") {
  ExportHost on;
  const auto graph = tenon::Graph::from_json(
      on.host, R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": ["batch", 2, -1]}},
    "nodes": [{"op": "relu", "name": "r", "inputs": ["x"]}], "outputs": {"y": "r"}})");
  on.save(graph);
  CHECK(tenon::onnx::describe(on.path).inputs[0].type == "float32 [batch, 2, ?]");
  CHECK(tenon::type_text(on.import(on.host).inputs()[0]) == "float32 [batch, 2, ?]");
}

TEST_CASE("exported one_hot: a scalar gets a temporary axis, which ONNX needs") {
  ExportHost on;
  for (const std::int64_t axis : {-1, 0}) {
    tenon::Graph graph(on.host);
    graph.output("y", graph.add("one_hot", {graph.input("i", tenon::i64, tenon::Shape::scalar())},
                                {{"depth", 4}, {"axis", axis}}));
    on.save(graph);
    CHECK(on.types() == Texts{"Unsqueeze", "Less", "Where", "Cast", "OneHot", "Squeeze"});
    check_same(on.import(on.host), graph,
               {{"i", Tensor::from({std::int64_t{2}}, tenon::Shape::scalar())}});
  }
}

}  // namespace export_name_tests
