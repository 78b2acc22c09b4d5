// Export of graphs as ONNX models: their nodes, what they compute, and the graphs they are imported
// as.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tenon/compose.hpp>
#include <tenon/host/udf.hpp>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "../probe_operators.hpp"
#include "exported.hpp"

namespace export_tests {
namespace {

using exported::check_same;
using exported::ExportHost;
using exported::Inputs;
using exported::random_inputs;
using tenon::Tensor;
using tenon::Value;
using Types = std::vector<std::string>;

struct SquaredMean : tenon::Operator {
  double scale = 1;
  static constexpr void describe(auto& op) {
    op.doc("scale times the mean of squares");
    op.input("x", "any shape");
    op.output("y", "a scalar");
    op.param("scale", &SquaredMean::scale, "a factor");
  }
  void forward(tenon::Compose& c) const {
    const auto mean = c.add("mean", {c.add("square", {c.input("x")})});
    c.set_output("y", c.add("quadratic", {mean}, {{"a", 0.0}, {"b", scale}}));
  }
};

/// A custom operator without an ONNX equivalent.
struct Unknown : probes::Copy {};

/// Has a member that is not a parameter.
struct HiddenMember : SquaredMean {
  double hidden = 1;
  static constexpr void describe(auto& op) { SquaredMean::describe(op); }
  void forward(tenon::Compose& c) const {
    c.set_output("y", c.add("quadratic", {c.add("mean", {c.input("x")})}, {{"b", hidden}}));
  }
};

/// ONNX's TopK does not support bfloat16 before opset 24.
struct TwoLargest : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the two largest of x, twice");
    op.input("x", "a vector");
    op.output("y", "[2]");
  }
  void forward(tenon::Compose& c) const {
    const auto rounded =
        c.add("top_k", {c.add("cast", {c.input("x")}, {{"dtype", "bfloat16"}})}, {{"k", 2}});
    const auto exact = c.add("top_k", {c.input("x")}, {{"k", 2}});
    c.set_output("y", c.add("add", {c.add("cast", {rounded}, {{"dtype", "float32"}}), exact}));
  }
};

/// The author declares an ONNX form for a factor of 1.
struct Gate : Unknown {
  double factor = 1, slope = 0.5;
  static constexpr void describe(auto& op) {
    Unknown::describe(op);
    op.param("factor", &Gate::factor, "which no file can say");
    op.param("slope", &Gate::slope, "a number");
    op.onnx("my.ops", "Gate").since(3).until(4).attribute("steepness", "slope");
  }
};

tenon::Graph dense_net(tenon::Host& host) {
  tenon::Graph graph(host);
  const auto image = graph.input("image", tenon::f32, {-1, 1, 4, 4});
  const auto conv = graph.add("convolution", {image},
                              {{"num_filter", 3}, {"kernel", {3, 3}}, {"pad", {1}}}, "conv");
  const auto norm = graph.add("batch_norm", {graph.add("relu", {conv}, {}, "act")}, {}, "norm");
  const auto pool = graph.add("max_pool", {norm}, {{"kernel", {2, 2}}}, "pool");
  graph.output("scores", graph.add("fully_connected", {pool}, {{"num_hidden", 2}}, "fc"));
  graph.initialize(3);
  return graph;
}

}  // namespace

TEST_CASE(
    "export: layers become ONNX operators, give the same results, and are imported as the same "
    "graph") {
  ExportHost on;
  auto graph = dense_net(on.host);
  on.save(graph);
  CHECK(on.types() == Types{"Conv", "Relu", "BatchNormalization", "MaxPool", "Flatten", "Gemm"});
  CHECK(on.notes.empty());
  const Inputs inputs{{"image", tenon::random_uniform(tenon::f32, {2, 1, 4, 4}, 1)}};
  check_same(on.import(on.host), graph, inputs);
  tenon::Host bare(ExportHost::options());  // without plugins
  CHECK(tenon::onnx::load(bare, on.path).to_bytes() == graph.to_bytes());
  const auto info = tenon::onnx::describe(on.path);
  CHECK(info.ir_version == 8);
  CHECK(info.opsets == std::vector<std::pair<std::string, std::int64_t>>{{"", 17}});
  CHECK(info.inputs[0].type == "float32 [?, 1, 4, 4]");
  CHECK(info.outputs[0].name == "scores");
}

TEST_CASE(
    "embedded graph: a modified model is imported from its nodes; modified weights are used") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2});
  graph.output(
      "y", graph.add("add", {x, graph.variable("w", Tensor::from({1.0F, 2.0F}, {2}))}, {}, "sum"));
  on.save(graph);
  std::ifstream file(on.path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto replaced = [&](const std::string& from, const std::string& to) {
    auto copy = bytes;
    copy.replace(copy.find(from), from.size(), to);
    std::ofstream(on.path, std::ios::binary) << copy;
    return tenon::onnx::load(on.host, on.path);
  };
  const auto weights =
      replaced(std::string("\0\0\x80\x3f\0\0\0\x40", 8), std::string("\0\0\x80\x40\0\0\0\x40", 8));
  CHECK(weights.tensor("w").values<float>()[0] == 4);
  CHECK(weights.nodes()[0].name == "sum");
  const auto other = replaced("Add", "Sub");
  CHECK(other.nodes()[0].op == "sub");
  std::string kept = "tenon.graph";
  const auto damaged = replaced(kept + bytes.substr(bytes.find(kept) + kept.size(), 40),
                                kept + bytes.substr(bytes.find(kept) + kept.size(), 39) + '!');
  CHECK(damaged.nodes()[0].op == "add");
}

TEST_CASE("embedded graph: a forged one does no harm") {
  ExportHost on;
  auto graph = dense_net(on.host);
  on.save(graph);
  std::ifstream file(on.path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto from = bytes.find("tenon.graph");
  for (std::size_t at = from; at < bytes.size(); at += 151) {
    auto flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 5);
    std::ofstream(on.path, std::ios::binary) << flipped;
    const auto failure = failure_of(
        [&] { CHECK(tenon::onnx::load(on.host, on.path).nodes().size() >= graph.nodes().size()); });
    CHECK((failure.kind == 0 || failure.kind == static_cast<int>(tenon::FailureKind::file)));
  }
}

TEST_CASE("export: operators that an opset lacks are written as several nodes") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2, 6});
  auto y = graph.add("gelu", {x});
  y = graph.add("rms_norm", {graph.add("swish", {y}, {{"alpha", 2.0}})});
  y = graph.add("smooth_l1", {graph.add("quadratic", {y}, {{"a", 0.5}, {"b", -1}, {"c", 0.25}})},
                {{"sigma", 1.5}});
  graph.output("y", y);
  graph.output("again", y);
  graph.output("x", x);
  on.save(graph);
  const auto types = on.types();
  CHECK(std::find(types.begin(), types.end(), "Gelu") == types.end());
  CHECK(on.notes == Types{"output 'x' is renamed to 'x_1', because ONNX needs distinct names for "
                          "inputs and outputs"});
  const auto inputs = random_inputs(graph);
  const auto expected = tenon::Session(graph).run(inputs),
             got = tenon::Session(on.import(on.host)).run(inputs);
  CHECK(tenon::all_close(got.at("y"), expected.at("y"), {.rtol = 1e-4, .atol = 1e-5}));
  CHECK(tenon::all_close(got.at("again"), expected.at("y"), {.rtol = 1e-4, .atol = 1e-5}));
  CHECK(tenon::all_close(got.at("x_1"), expected.at("x")));
  const auto again = tenon::Session(on.import(on.host))
                         .run({{"x", Tensor::from({-1.0F, -0.5F, 0.0F, 0.5F, 1.0F, 2.0F, -1.0F,
                                                   -0.5F, 0.0F, 0.5F, 1.0F, 2.0F},
                                                  {2, 6})}});
  const auto by_onnxruntime = Tensor::from(
      {0.12453744F, 0.123083F, 0.0703125F, 0.00020306767F, 0.063661285F, 0.34728968F}, {1, 6});
  CHECK(tenon::all_close(tenon::rows(again.at("y"), 0, 1), by_onnxruntime,
                         {.rtol = 1e-4, .atol = 1e-6}));
  on.save(graph, {.opset = 20});
  CHECK(on.types()[0] == "Gelu");
  CHECK(tenon::onnx::load(on.host, on.path).to_bytes() == graph.to_bytes());
}

TEST_CASE("export: a composed operator becomes a function, which runs without the plugin") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {3});
  const auto a = graph.udf(SquaredMean(), {x}, "a");
  SquaredMean other;
  other.scale = 3;
  graph.output("y", graph.add("add", {a, graph.udf(other, {x}, "b")}));
  on.save(graph);
  CHECK(on.types() == Types{"squared_mean", "squared_mean_1", "Add"});
  CHECK(on.notes.empty());
  const auto model = tenon::onnx::read_model(on.path);
  REQUIRE(model.functions.size() == 2);
  CHECK(model.functions[0].domain == "tenon.app");
  CHECK(model.functions[0].nodes[0].type == "Mul");
  ExportHost without;
  check_same(on.import(without.host), graph, random_inputs(graph));
}

TEST_CASE("export: instances with different members get separate functions") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {3});
  HiddenMember twice;
  twice.hidden = 2;
  graph.output("y",
               graph.add("add", {graph.udf(HiddenMember(), {x}, "a"), graph.udf(twice, {x}, "b")}));
  on.save(graph);
  ExportHost without;
  check_same(on.import(without.host), graph, random_inputs(graph));
}

TEST_CASE("export: index types that ONNX does not support become int64") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {3, 2}), u = graph.input("u", tenon::f32, {1, 2});
  const auto small =
      graph.constant("small", Tensor::from({std::uint8_t{2}, std::uint8_t{0}}, {1, 2}));
  const auto middle =
      graph.constant("middle", Tensor::from({std::int32_t{2}, std::int32_t{1}}, {1, 2}));
  auto y = graph.add("scatter_along", {x, small, u});
  y = graph.add(
      "add",
      {y, graph.add("gather", {y, graph.constant("rows", Tensor::from({std::int8_t{1}}, {1}))})});
  graph.output("y", graph.add("gather_along", {y, small}));
  graph.output("z", graph.add("gather_along", {y, middle}));
  graph.output("e", graph.add("gather_nd", {y, middle}));
  on.save(graph);
  CHECK(on.types() == Types{"Cast", "ScatterElements", "Cast", "Gather", "Add", "Cast",
                            "GatherElements", "GatherElements", "Cast", "GatherND"});
  check_same(on.import(on.host), graph, random_inputs(graph));
}

TEST_CASE("export: inputs and attribute values of later opsets are not used in earlier ones") {
  ExportHost on;
  const auto type_in = [&](const tenon::Graph& graph, std::int64_t opset) {
    on.save(graph, {.opset = opset});
    return on.types().back();
  };
  tenon::Graph attention(on.host);
  const auto lengths = attention.constant("lengths", Tensor::from({std::int64_t{1}}, {1}));
  const auto q = attention.input("q", tenon::f32, {1, 1, 1, 2});
  attention.output(
      "y", attention.add("attention",
                         std::vector<std::pair<std::string, Value>>{
                             {"query", q}, {"key", q}, {"value", q}, {"lengths", lengths}}));
  CHECK(type_in(attention, 23) == "attention");
  CHECK(type_in(attention, 24) == "Attention");
  struct Case {
    const char *op, *type;
    tenon::Attributes parameters;
    std::int64_t since;
  };
  const Case cases[] = {
      {"pad", "Pad", {{"before", {1, 1}}, {"after", {0, 0}}, {"mode", "wrap"}}, 19},
      {"scatter_along", "ScatterElements", {{"reduction", "max"}}, 18},
      {"scatter_along", "ScatterElements", {{"reduction", "mul"}}, 16},
      {"scatter_nd", "ScatterND", {{"reduction", "min"}}, 18},
      {"resize", "Resize", {{"scale", {1, 2}}, {"coordinates", "half_pixel_symmetric"}}, 19}};
  for (const auto& one : cases) {
    CAPTURE(one.type);
    const auto& [op, type, parameters, since] = one;
    tenon::Graph graph(on.host);
    std::vector<tenon::Value> inputs{graph.input("x", tenon::f32, {3, 2})};
    if (std::string_view(op).starts_with("scatter")) {
      inputs.push_back(
          graph.constant("at", Tensor::from({std::int64_t{2}, std::int64_t{0}}, {1, 2})));
      inputs.push_back(
          graph.input("u", tenon::f32,
                      std::string_view(op) == "scatter_nd" ? tenon::Shape{1} : tenon::Shape{1, 2}));
    }
    graph.output("y", graph.add(op, inputs, parameters));
    CHECK(type_in(graph, since - 1) == op);
    CHECK(type_in(graph, since) == type);
  }
}

TEST_CASE("export: unsupported types and sizes fall back to the custom operator") {
  ExportHost on;
  tenon::Graph graph(on.host);
  graph.output("place", graph.add("argmax", {graph.input("b", tenon::boolean, {2, 2})}));
  const auto scale = graph.constant("scale", Tensor::from({1.0F, 2.0F}, {2}));
  graph.output("norm",
               graph.add("group_norm", {graph.input("x", tenon::f32, {0, 2, 3}), scale, scale},
                         {{"groups", 2}}));
  on.save(graph);
  CHECK(on.types() == Types{"argmax", "group_norm"});
  tenon::Graph hot(on.host);
  hot.output("y", hot.add("one_hot",
                          {hot.input("i", tenon::i64, {}), hot.input("size", tenon::i64, {1})}));
  on.save(hot);
  CHECK(on.types() == Types{"Unsqueeze", "Reshape", "Less", "Where", "Cast", "OneHot", "Squeeze"});
}

TEST_CASE("export: node names are unique") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2});
  const auto y = graph.add("quadratic", {x}, {{"a", 1.5}, {"b", 2.0}, {"c", 3.0}}, "a");
  graph.output("y", graph.add("relu", {y}, {}, "a/Mul"));
  on.save(graph);
  const auto model = tenon::onnx::read_model(on.path);
  std::set<std::string> names;
  for (const auto& node : model.graph.nodes) CHECK(names.emplace(node.name).second);
}

TEST_CASE("export: an attempt that fails leaves no nodes behind") {
  ExportHost on;
  tenon::Graph graph(on.host);
  graph.output("y", graph.udf(TwoLargest(), {graph.input("x", tenon::f32, {4})}, "a"));
  on.save(graph);
  const auto model = tenon::onnx::read_model(on.path);
  REQUIRE(model.functions.size() == 1);
  std::vector<std::string> types;
  for (const auto& node : model.functions[0].nodes) types.emplace_back(node.type);
  CHECK(types == Types{"Cast", "top_k", "Constant", "TopK", "Cast", "Add"});
  ExportHost without;
  check_same(on.import(without.host), graph, random_inputs(graph));
}

TEST_CASE("export: a custom operator becomes a node of its domain, with its parameters") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {3});
  graph.output("y", graph.udf(Unknown(), {x}, "a"));
  on.save(graph);
  CHECK(on.notes ==
        Types{"node 'a' is written as tenon.app::unknown, which other programs do not have"});
  check_same(on.import(on.host), graph, random_inputs(graph));
}

TEST_CASE("export: an author's form is used if it covers everything") {
  ExportHost on;
  tenon::Graph graph(on.host);
  Gate gate, other;
  gate.slope = 0.25, other.factor = 2;
  const auto x = graph.input("x", tenon::f32, {3});
  graph.output("y", graph.udf(other, {graph.udf(gate, {x}, "a")}, "b"));
  on.save(graph);
  CHECK(on.types() == Types{"Gate", "gate"});
  const auto model = tenon::onnx::read_model(on.path);
  CHECK(model.opset("my.ops") == 3);
  REQUIRE(model.graph.nodes[0].attributes.size() == 1);
  CHECK(model.graph.nodes[0].attributes[0].name == "steepness");
  CHECK(std::get<float>(model.graph.nodes[0].attributes[0].value) == 0.25F);
  CHECK(model.graph.nodes[1].domain == "tenon.app");
}

TEST_CASE("export: large weights go to an external data file, aligned to 4096") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {1000});
  auto y = graph.add("add", {x, graph.variable("w", tenon::random_uniform(tenon::f32, {1000}, 1))});
  y = graph.add("mul", {y, graph.variable("v", tenon::random_uniform(tenon::f32, {1000}, 2))});
  graph.output("y", graph.add("sub", {y, graph.constant("small", Tensor::from({1.0F}, {1}))}));
  on.save(graph, {.inline_limit = 4000});
  CHECK(on.folder.names() == Types{"net.onnx", "net.onnx.data"});
  const auto model = tenon::onnx::read_model(on.path);
  std::vector<std::uint64_t> offsets;
  for (const auto& tensor : model.graph.initializers)
    if (tensor.external != nullptr) offsets.push_back(tensor.external->offset);
  CHECK(offsets == std::vector<std::uint64_t>{0, 4096});
  CHECK(tenon::onnx::load(on.host, on.path).to_bytes() == graph.to_bytes());
  check_same(on.import(on.host), graph, random_inputs(graph));
}

TEST_CASE("export: omits gradients and updates, rejects sparse tensors and unknown opsets") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {2});
  const auto w = graph.variable("w", Tensor::from({1.0F, 2.0F}, {2}));
  const auto y = graph.add("mul", {x, w});
  graph.output("y", y);
  graph.output("slope", graph.gradient(graph.add("sum", {y}), {w})[0]);
  on.save(graph);
  REQUIRE(on.notes.size() == 1);
  CHECK(on.notes[0].starts_with("output 'slope' is not written"));
  CHECK(on.types() == Types{"Mul"});
  CHECK(tenon::onnx::load(on.host, on.path).outputs().size() == 1);
  CHECK(failure_of([&] { on.save(graph, {.opset = 12}); }).message ==
        "the opset is 12 but must be from 13 to 24");
  tenon::Graph sparse(on.host);
  const auto rows = sparse.constant(
      "rows", Tensor::csr(Tensor::from({1.0F}, {1}), Tensor::from({std::int64_t{0}}, {1}),
                          Tensor::from({std::int64_t{0}, std::int64_t{1}}, {2}), {1, 2}));
  sparse.output("y", sparse.add("relu", {rows}));
  CHECK(failure_of([&] {
          on.save(sparse);
        }).message.find("'rows' is csr float32 [1, 2], but ONNX operators") == 0);
  tenon::Graph hidden(on.host);
  hidden.output("mask",
                hidden.add("dropout", {hidden.input("x", tenon::f32, {2})}, {}, "drop").output(1));
  check_says(failure_of([&] { on.save(hidden); }).message,
             {"node 'drop':", "output 'mask' is used", "no ONNX operator"});
  CHECK(failure_of([&] {
          on.save(tenon::Graph(on.host));
        }).message.find("no output that can be written") != std::string::npos);
}

}  // namespace export_tests
