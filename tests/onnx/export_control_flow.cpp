// Export of graph parameters as If, Loop and Scan. With TENON_EXPORT_TO=FOLDER the models are kept
// there for other programs.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "../failure_of.hpp"
#include "exported.hpp"

namespace export_flow_tests {
namespace {

using exported::check_same;
using exported::ExportHost;
using tenon::Tensor;
using Texts = std::vector<std::string>;

const char* const doubled =
    R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]},
                               "w": {"dtype": "float32", "shape": [2]}},
  "nodes": [{"op": "add", "name": "relu", "inputs": ["x", "x"]},
            {"op": "mul", "name": "m", "inputs": ["relu", "w"]}], "outputs": {"y": "m"}})";
const char* const same =
    R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]},
                               "w": {"dtype": "float32", "shape": [2]}},
  "nodes": [], "outputs": {"y": "x"}})";
const char* const first_row =
    R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]},
                               "w": {"dtype": "float32", "shape": [2]}},
  "nodes": [{"op": "slice", "name": "s", "inputs": ["x"],
             "attrs": {"axes": [0], "begin": [0], "end": [1]}}], "outputs": {"y": "s"}})";
const char* const small =
    R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]},
                               "n": {"dtype": "float32", "shape": []}},
  "nodes": [{"op": "less", "name": "l", "inputs": ["n", "limit"]}],
  "constants": {"limit": {"dtype": "float32", "shape": [1], "values": [3]}},
  "outputs": {"y": "l"}})";
const char* const next =
    R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]},
                               "n": {"dtype": "float32", "shape": []}},
  "nodes": [{"op": "add", "name": "a", "inputs": ["x", "x"]},
            {"op": "quadratic", "name": "q", "inputs": ["n"], "attrs": {"b": 1, "c": 1}}],
  "outputs": {"x": "a", "n": "q"}})";
const char* const longer =
    R"({"tenon": 1, "inputs": {"i": {"dtype": "int64", "shape": []},
                               "c": {"dtype": "bool", "shape": []},
  "v": {"dtype": "float32", "shape": [-1]}, "w": {"dtype": "float32", "shape": [2]}},
  "nodes": [{"op": "concat", "name": "v2", "inputs": ["v", "w"], "attrs": {"axis": 0}},
            {"op": "sum", "name": "s", "inputs": ["v2"]}],
  "outputs": {"c": "c", "v": "v2", "s": "s"}})";
const char* const steps =
    R"({"tenon": 1, "inputs": {"h": {"dtype": "float32", "shape": [2]},
                               "r": {"dtype": "float32", "shape": [2]},
  "w": {"dtype": "float32", "shape": [2]}},
  "nodes": [{"op": "mul", "name": "m", "inputs": ["h", "w"]},
            {"op": "add", "name": "a", "inputs": ["m", "r"]}], "outputs": {"h": "a", "o": "a"}})";

struct FlowExportHost : ExportHost {
  /// Exports the graph as nodes of these types, imports it from its nodes, and runs it with these
  /// inputs.
  void check(const char* name, tenon::Graph& graph, const Texts& types,
             const std::vector<exported::Inputs>& all) {
    notes.clear();
    save(graph);
    CHECK(this->types() == types);
    CHECK(notes.empty());
    const auto again = import(host);
    for (const auto& inputs : all) check_same(again, graph, inputs);
    CHECK(tenon::onnx::load(host, path).to_bytes() == graph.to_bytes());
    if (const char* const to = std::getenv("TENON_EXPORT_TO"))
      std::filesystem::copy_file(path, std::filesystem::path(to) / (std::string(name) + ".onnx"),
                                 std::filesystem::copy_options::overwrite_existing);
  }
};

exported::Inputs with(const char* name, const Tensor& tensor, std::vector<float> x = {1, -2}) {
  return {{"x", Tensor::from(x, {2})}, {"w", Tensor::from({0.5F, 3.0F}, {2})}, {name, tensor}};
}
Tensor truth(bool value) {
  auto made = Tensor::empty(tenon::boolean, tenon::Shape::scalar());
  *static_cast<bool*>(made.data()) = value;
  return made;
}

}  // namespace

TEST_CASE("export If: if and branch, whose subgraphs see outer values") {
  FlowExportHost on;
  for (const auto& [op, otherwise] : {std::pair{"if", same}, {"branch", first_row}}) {
    tenon::Graph graph(on.host);
    const auto c = graph.input("c", tenon::boolean, tenon::Shape::scalar());
    const auto x = graph.add("relu", {graph.input("x", tenon::f32, {2})}, {}, "relu");
    const auto w = graph.input("w", tenon::f32, {2});
    graph.output("y", graph.add(op, {c, x, w}, {{"then", doubled}, {"else", otherwise}}, "choice"));
    on.check(op, graph, {"Relu", "If"}, {with("c", truth(true)), with("c", truth(false))});
  }
}

TEST_CASE("export If: a branch that cannot run fails in the file, too, only if it is taken") {
  FlowExportHost on;
  const char* const failing =
      R"({"tenon": 1, "inputs": {"x": {"dtype": "float32"}, "w": {"dtype": "float32"}},
    "nodes": [{"op": "tenon.fail", "name": "f", "attrs": {"message": "no such row"}}],
    "outputs": {"y": "f"}})";
  const char* const product =
      R"({"tenon": 1, "inputs": {"x": {"dtype": "float32"}, "w": {"dtype": "float32"}},
    "nodes": [{"op": "matmul", "name": "p", "inputs": ["x", "w"]}], "outputs": {"y": "p"}})";
  for (const auto& [then, why] :
       {std::pair{failing, "no such row"}, {product, "[matmul] node 'p'"}}) {
    tenon::Graph graph(on.host);
    const auto c = graph.input("c", tenon::boolean, tenon::Shape::scalar());
    const auto x = graph.input("x", tenon::f32, {2, 2}), w = graph.input("w", tenon::f32, {3});
    const char* const otherwise =
        R"({"tenon": 1, "inputs": {"x": {"dtype": "float32"}, "w": {"dtype": "float32"}},
      "nodes": [{"op": "neg", "name": "n", "inputs": ["x"]}], "outputs": {"y": "n"}})";
    graph.output("y",
                 graph.add("branch", {c, x, w}, {{"then", then}, {"else", otherwise}}, "choice"));
    on.notes.clear();
    on.save(graph);
    REQUIRE(on.notes.size() == 1);
    CHECK_MESSAGE(on.notes[0].find(why) != std::string::npos, on.notes[0]);
    const auto again = on.import(on.host);
    const auto inputs = [](bool condition) {
      return exported::Inputs{{"c", truth(condition)},
                              {"x", Tensor::from({1.0F, -2.0F, 3.0F, 4.0F}, {2, 2})},
                              {"w", Tensor::zeros(tenon::f32, {3})}};
    };
    check_same(again, graph, inputs(false));
    const auto failure = failure_of([&] { tenon::Session(again).run(inputs(true)); }).message;
    CHECK_MESSAGE(failure.find(why) != std::string::npos, failure);
  }
}

TEST_CASE(
    "export Loop: while evaluates its condition before and in the Loop; one with a limit becomes "
    "custom") {
  FlowExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2}),
             n = graph.input("n", tenon::f32, tenon::Shape::scalar());
  const auto made =
      graph.add("while", {x, n}, {{"condition", small}, {"body", next}, {"outputs", 2}}, "w");
  graph.output("y", made);
  graph.output("n_last", made.output(1));
  const auto of = [](float n) {
    return exported::Inputs{{"x", Tensor::from({1.0F, -2.0F}, {2})},
                            {"n", Tensor::from({n}, tenon::Shape::scalar())}};
  };
  on.check("while", graph, {"Less", "Reshape", "Loop"}, {of(0), of(2.5F), of(4)});
  tenon::Graph limited(on.host);
  limited.output(
      "y", limited.add("while",
                       {limited.input("x", tenon::f32, {2}),
                        limited.input("n", tenon::f32, tenon::Shape::scalar())},
                       {{"condition", small}, {"body", next}, {"outputs", 2}, {"limit", 4}}, "w"));
  on.save(limited);
  CHECK(on.types() == Texts{"while"});
  CHECK(on.notes == Texts{"node 'w' is written as tenon::while, which other programs do not have"});
}

TEST_CASE("export Loop: loop, whose carried values may grow") {
  FlowExportHost on;
  tenon::Graph graph(on.host);
  const auto runs = graph.input("runs", tenon::i64, tenon::Shape::scalar());
  const auto x = graph.input("x", tenon::f32, {2}), w = graph.input("w", tenon::f32, {2});
  const auto made = graph.add("loop", {runs, graph.constant("yes", truth(true)), x, w},
                              {{"body", longer}, {"carries", 1}, {"outputs", 2}});
  graph.output("y", made);
  graph.output("sums", made.output(1));
  const auto times = [](std::int64_t n) {
    return with("runs", Tensor::from({n}, tenon::Shape::scalar()));
  };
  on.check("loop", graph, {"Loop"}, {times(3), times(1), times(0)});
}

TEST_CASE(
    "export Scan: zero steps pass the carried values on, because onnxruntime does not support "
    "them") {
  FlowExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2}), rows = graph.input("rows", tenon::f32, {0, 2}),
             w = graph.input("w", tenon::f32, {2});
  const auto made = graph.add("scan", {x, rows, w}, {{"body", steps}, {"outputs", 2}}, "s");
  graph.output("h", made.output(0));
  graph.output("o", made.output(1));
  on.save(graph);
  CHECK(on.types() == Texts{"Identity", "Identity"});
  check_same(on.import(on.host), graph, with("rows", Tensor::zeros(tenon::f32, {0, 2})));
}

TEST_CASE("export Scan: scan in both directions") {
  FlowExportHost on;
  for (const bool reverse : {false, true}) {
    tenon::Graph graph(on.host);
    const auto rows = graph.input("rows", tenon::f32, {3, 2});
    const auto x = graph.input("x", tenon::f32, {2}), w = graph.input("w", tenon::f32, {2});
    const auto made =
        graph.add("scan", {x, rows, w}, {{"body", steps}, {"outputs", 2}, {"reverse", reverse}});
    graph.output("y", made);
    graph.output("all", made.output(1));
    on.check(reverse ? "scan_reverse" : "scan", graph, {"Scan"},
             {with("rows", Tensor::from({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {3, 2}))});
  }
}

TEST_CASE("export control flow: nested subgraphs have unique names and see both enclosing graphs") {
  FlowExportHost on;
  tenon::Graph body(on.host);
  const auto h = body.input("h", tenon::f32, {2}), r = body.input("r", tenon::f32, {2}),
             w = body.input("w", tenon::f32, {2});
  const auto c =
      body.add("greater", {body.add("sum", {h}, {}, "relu"), body.add("sum", {r})}, {}, "c");
  const auto chosen = body.add("if", {c, h, w}, {{"then", doubled}, {"else", same}}, "if");
  body.output("h", body.add("gelu", {body.add("add", {chosen, r})}));
  tenon::Graph graph(on.host);
  const auto x = graph.add("relu", {graph.input("x", tenon::f32, {2})}, {}, "relu"),
             rows = graph.input("rows", tenon::f32, {3, 2});
  graph.output("y", graph.add("scan", {x, rows, graph.input("w", tenon::f32, {2})},
                              {{"body", body.to_json()}}, "s"));
  on.check("nested", graph, {"Relu", "Scan"},
           {with("rows", Tensor::from({1.0F, -2.0F, 0.5F, 1.0F, 5.0F, 6.0F}, {3, 2}))});
}

}  // namespace export_flow_tests
