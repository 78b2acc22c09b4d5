// If, Loop and Scan. Expected numbers are derived by hand from the ONNX specification.
#include <doctest/doctest.h>

#include <fstream>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>

#include "../built.hpp"
#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "onnx_bytes.hpp"
#include "run/vectors.hpp"

namespace control_flow_tests {
namespace {

using onnx_bytes::float_tensor;
using onnx_bytes::GraphFields;
using onnx_bytes::int64_tensor;
using onnx_bytes::ints_attribute;
using onnx_bytes::NodeFields;
using onnx_bytes::Texts;
using Values = std::vector<float>;
using Ints = std::vector<std::int64_t>;

std::string inner(const std::string& name, const GraphFields& graph) {
  return onnx_bytes::message_attribute(name, 5, 6, graph.bytes());
}
std::string truth(const std::string& name, bool value) {
  return onnx_bytes::tensor(name, 9, {}, onnx_bytes::raw_data(std::string(1, value ? '\1' : '\0')));
}
Texts named(const Texts& names) {
  Texts values;
  for (const auto& name : names)
    values.push_back(onnx_bytes::value(name, onnx_bytes::tensor_type(1, {})));
  return values;
}

/// Loads models of opset 17 with input x and output y.
struct FlowHost {
  FlowHost() : host(options()) { host.add_plugins(built("plugins")); }
  static tenon::HostOptions options() {
    tenon::HostOptions options;
    options.search_defaults = false;
    return options;
  }
  tenon::Graph load(const std::vector<NodeFields>& nodes, const Texts& initializers,
                    const std::vector<onnx_bytes::Dim>& x = {{2}, {2}}) {
    onnx_bytes::ModelFields model;
    model.graph.nodes = nodes;
    model.graph.inputs = {onnx_bytes::value("x", onnx_bytes::tensor_type(1, x))};
    model.graph.outputs = named({"y"});
    model.graph.initializers = initializers;
    const auto path = folder / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.bytes();
    return tenon::onnx::load(host, path);
  }
  static tenon::Tensor run(const tenon::Graph& graph, const Values& x,
                           const tenon::Shape& shape = {2, 2}) {
    return tenon::Session(graph).run({{"x", tenon::Tensor::from(x, shape)}}).at("y");
  }
  TemporaryFolder folder;
  tenon::Host host;
};

std::size_t count_of(const tenon::Graph& graph, const std::string& op) {
  std::size_t count = 0;
  for (const auto& node : graph.nodes()) count += node.op == op ? 1U : 0U;
  return count;
}

/// c: whether the sum of x is positive.
const NodeFields sum{"ReduceSum", {"x"}, {"s"}, {onnx_bytes::int_attribute("keepdims", 0)}};
const NodeFields positive{"Greater", {"s", "zero"}, {"c"}};
const std::string zero = float_tensor("zero", {}, {0});

NodeFields choice(const GraphFields& then, const GraphFields& otherwise,
                  const std::string& condition = "c") {
  return {"If",
          {condition},
          {"y"},
          {inner("then_branch", then), inner("else_branch", otherwise)},
          "choice"};
}

}  // namespace

TEST_CASE("import If: runs one branch; branches see outer names; weights stay variables") {
  FlowHost on;
  const GraphFields then{{{"Add", {"x", "w"}, {"a"}}, {"Mul", {"a", "two"}, {"r"}}},
                         {},
                         named({"r"}),
                         {float_tensor("two", {}, {2})}};
  const GraphFields otherwise{{{"Neg", {"x"}, {"r2"}}}, {}, named({"r2"})};
  const auto graph =
      on.load({sum, positive, choice(then, otherwise)}, {zero, float_tensor("w", {2}, {10, 20})});
  CHECK(count_of(graph, "if") == 1);
  REQUIRE(graph.variables().size() == 1);
  CHECK(graph.variables()[0].name == "w");
  CHECK(floats_of(on.run(graph, {1, 2, 3, 4})) == Values{22, 44, 26, 48});
  CHECK(floats_of(on.run(graph, {1, 2, 3, -40})) == Values{-1, -2, -3, 40});
  const GraphFields nothing{{}, {}, named({"x"})};
  const auto as_it_is = on.load({sum, positive, choice(nothing, otherwise)}, {zero});
  CHECK(count_of(as_it_is, "if") == 1);
  CHECK(floats_of(on.run(as_it_is, {1, 2, 3, 4})) == Values{1, 2, 3, 4});
}

TEST_CASE("import If: branches may return different sizes, which later nodes use") {
  FlowHost on;
  const GraphFields then{{{"Identity", {"x"}, {"r"}}}, {}, named({"r"})};
  const GraphFields otherwise{{{"Slice", {"x", "begin", "end"}, {"r2"}}}, {}, named({"r2"})};
  auto node = choice(then, otherwise);
  node.outputs = {"part"};
  const auto graph =
      on.load({sum, positive, node, {"Add", {"part", "part"}, {"y"}}},
              {zero, int64_tensor("begin", {1}, {0}), int64_tensor("end", {1}, {1})});
  CHECK(count_of(graph, "branch") == 1);
  CHECK(on.run(graph, {1, 2, 3, 4}).shape() == tenon::Shape{2, 2});
  const auto small = on.run(graph, {1, 2, 3, -40});
  CHECK(small.shape() == tenon::Shape{1, 2});
  CHECK(floats_of(small) == Values{2, 4});
}

TEST_CASE("import If: a constant condition inlines its branch, whose names stay local") {
  FlowHost on;
  const GraphFields then{{{"Neg", {"x"}, {"r"}}}, {}, named({"r"})};
  const GraphFields again{{{"Exp", {"x"}, {"r"}}}, {}, named({"r"})};
  auto first = choice(then, again, "yes"), second = choice(again, then, "no");
  first.outputs = {"p"}, second.outputs = {"q"};
  const auto graph = on.load({first, second, {"Add", {"p", "q"}, {"y"}}},
                             {truth("yes", true), truth("no", false)});
  CHECK(graph.nodes().size() == 3);
  CHECK(floats_of(on.run(graph, {1, 2, 3, 4})) == Values{-2, -4, -6, -8});
}

TEST_CASE(
    "import Loop: a known trip count gives a scan, a data-dependent one a loop whose values may "
    "grow") {
  FlowHost on;
  // v = v + x, with every v stacked
  const auto keep = named({"i", "again", "v"});
  const GraphFields counted{
      {{"Identity", {"again"}, {"c2"}}, {"Add", {"v", "x"}, {"v2"}}, {"Identity", {"v2"}, {"out"}}},
      keep,
      named({"c2", "v2", "out"})};
  const auto scan =
      on.load({{"Loop", {"three", "", "start"}, {"last", "y"}, {inner("body", counted)}}},
              {int64_tensor("three", {}, {3}), float_tensor("start", {2, 2}, {0, 0, 0, 1})});
  CHECK(count_of(scan, "scan") == 1);
  CHECK(floats_of(on.run(scan, {1, 2, 3, 4})) == Values{1, 2, 3, 5, 2, 4, 6, 9, 3, 6, 9, 13});

  // doubles the length of v while its sum is below 20
  const GraphFields growing{
      {{"Concat", {"v", "v"}, {"v2"}, {onnx_bytes::int_attribute("axis", 0)}},
       {"ReduceSum", {"v2"}, {"s"}, {onnx_bytes::int_attribute("keepdims", 0)}},
       {"Less", {"s", "twenty"}, {"c2"}}},
      keep,
      named({"c2", "v2"})};
  const auto loop = on.load({{"Loop", {"", "yes", "x"}, {"y"}, {inner("body", growing)}}},
                            {truth("yes", true), float_tensor("twenty", {}, {20})});
  CHECK(count_of(loop, "loop") == 1);
  CHECK(on.run(loop, {1, 2, 3, 4}).shape() == tenon::Shape{4, 2});
  CHECK(on.run(loop, {1, 1, 1, 0}).shape() == tenon::Shape{16, 2});
}

TEST_CASE(
    "import Loop: zero iterations return the initial values; an If inside sees both enclosing "
    "graphs") {
  FlowHost on;
  const auto keep = named({"i", "again", "v"});
  const GraphFields up{{{"Add", {"v", "x"}, {"r"}}}, {}, named({"r"})},
      down{{{"Sub", {"v", "one"}, {"r2"}}}, {}, named({"r2"})};
  NodeFields inside = choice(up, down, "c3");
  inside.outputs = {"v2"};
  const GraphFields body{
      {{"Equal", {"i", "first"}, {"c3"}}, inside, {"Identity", {"again"}, {"c2"}}},
      keep,
      named({"c2", "v2"}),
      {int64_tensor("first", {}, {0})}};
  const auto load = [&](std::int64_t runs) {
    return on.load({{"Loop", {"runs", "", "x"}, {"y"}, {inner("body", body)}}},
                   {int64_tensor("runs", {}, {runs}), float_tensor("one", {}, {1})});
  };
  CHECK(floats_of(on.run(load(3), {1, 2, 3, 4})) == Values{0, 2, 4, 6});  // x + x - 1 - 1
  CHECK(floats_of(on.run(load(0), {1, 2, 3, 4})) == Values{1, 2, 3, 4});
}

TEST_CASE("import Scan: any axis, in both directions") {
  FlowHost on;
  const GraphFields body{{{"Add", {"h", "row"}, {"h2"}}, {"Identity", {"h2"}, {"out"}}},
                         named({"h", "row"}),
                         named({"h2", "out"})};
  const auto load = [&](const Texts& attributes) {
    Texts all{onnx_bytes::int_attribute("num_scan_inputs", 1), inner("body", body)};
    all.insert(all.end(), attributes.begin(), attributes.end());
    return on.load({{"Scan", {"start", "x"}, {"last", "y"}, all}},
                   {float_tensor("start", {2}, {0, 100})});
  };
  CHECK(floats_of(on.run(load({}), {1, 2, 3, 4})) == Values{1, 102, 4, 106});
  CHECK(floats_of(on.run(load({ints_attribute("scan_input_directions", {1})}), {1, 2, 3, 4})) ==
        Values{3, 104, 4, 106});
  CHECK(floats_of(on.run(load({ints_attribute("scan_input_directions", {1}),
                               ints_attribute("scan_output_directions", {1})}),
                         {1, 2, 3, 4})) == Values{4, 106, 3, 104});
  CHECK(floats_of(on.run(load({ints_attribute("scan_input_axes", {1}),
                               ints_attribute("scan_output_axes", {-1})}),
                         {1, 2, 3, 4})) == Values{1, 3, 103, 107});
}

TEST_CASE("import control flow: errors name the node") {
  FlowHost on;
  const auto refused = [&](const NodeFields& node) {
    const auto failure = failure_of([&] {
      on.load({sum, positive, node},
              {zero, int64_tensor("three", {}, {3}), float_tensor("start", {2, 2}, {0, 0, 0, 1})});
    });
    CHECK(failure.message.find(node.type + " node ") != std::string::npos);
    return failure.message;
  };
  const GraphFields one{{{"Neg", {"x"}, {"r"}}}, {}, named({"r"})};
  const GraphFields two{{{"Neg", {"x"}, {"r"}}, {"Exp", {"x"}, {"r2"}}}, {}, named({"r", "r2"})};
  CHECK(refused(choice(one, two)).find("a branch has 2 outputs, but the node has 1") !=
        std::string::npos);
  const GraphFields lost{{{"Neg", {"nowhere"}, {"r"}}}, {}, named({"r"})};
  CHECK(refused({"If", {"c"}, {"y"}, {inner("then_branch", one)}})
            .find("'else_branch' is not a graph") != std::string::npos);
  CHECK(failure_of([&] {
          on.load({sum, positive, choice(one, lost)}, {zero});
        }).message.find("'nowhere' is used before it is produced") != std::string::npos);
  const GraphFields cast{{{"Cast", {"v"}, {"v2"}, {onnx_bytes::int_attribute("to", 7)}},
                          {"Identity", {"again"}, {"c2"}}},
                         named({"i", "again", "v"}),
                         named({"c2", "v2"})};
  CHECK(refused({"Loop", {"three", "", "start"}, {"y"}, {inner("body", cast)}})
            .find("loop-carried value 0 changes from float32") != std::string::npos);
  const GraphFields drawing{
      {{"RandomNormal", {}, {"r"}, {ints_attribute("shape", {2, 2})}}}, {}, named({"r"})};
  const auto random = failure_of([&] {
                        on.load({sum, positive, choice(drawing, drawing)}, {zero});
                      }).message;
  check_says(random,
             {"RandomNormal node that produces 'r'", "subgraphs cannot draw random numbers"});
}

TEST_CASE("import If: a branch that cannot be computed fails only if it is taken") {
  FlowHost on;
  const GraphFields otherwise{{{"Neg", {"x"}, {"r2"}}}, {}, named({"r2"})};
  const GraphFields missed{{{"Gather", {"k", "seven"}, {"r"}}}, {}, named({"r"})};
  const GraphFields odd{{{"Reshape", {"k", "two"}, {"e"}}}, {}, named({"e"})};
  const auto inside = [](NodeFields node, const std::string& made) {
    node.outputs = {made};
    return GraphFields{{node}, {}, named({made})};
  };
  const GraphFields body{{{"Gather", {"k", "seven"}, {"g"}},
                          {"Add", {"v", "g"}, {"v2"}},
                          {"Identity", {"again"}, {"c2"}}},
                         named({"i", "again", "v"}),
                         named({"c2", "v2"})};
  const struct {
    const char* name;
    GraphFields then;
    const char* message;
  } cases[] = {
      {"elements", missed,
       "Gather node that produces 'r': [gather] element 0 of indices is 7, but the axis has size "
       "3"},
      {"sizes", odd, "Reshape node that produces 'e'"},
      {"an attribute",
       {{{"CumSum", {"k", "five"}, {"r"}}}, {}, named({"r"})},
       "CumSum node that produces 'r'"},
      {"random numbers",
       {{{"RandomNormal", {}, {"r"}, {ints_attribute("shape", {2, 2})}}}, {}, named({"r"})},
       "subgraphs cannot draw random numbers"},
      {"an If whose branches fail both", inside(choice(missed, odd), "n"),
       "Gather node that produces 'r'"},
      {"an If of which one branch fails", inside(choice(missed, otherwise), "n"),
       "Gather node that produces 'r'"},
      {"a Loop", inside({"Loop", {"two", "", "x"}, {}, {inner("body", body)}}, "n"),
       "Gather node that produces 'g'"},
  };
  for (const auto& [name, then, message] : cases) {
    const std::string tried = name;
    CAPTURE(tried);
    auto graph = on.load({sum, positive, choice(then, otherwise)},
                         {zero, float_tensor("k", {3}, {1, 2, 3}), int64_tensor("seven", {}, {7}),
                          int64_tensor("five", {}, {5}), int64_tensor("two", {1}, {2})});
    CHECK(floats_of(on.run(graph, {1, 2, 3, -40})) == Values{-1, -2, -3, 40});
    const auto failure = failure_of([&] { on.run(graph, {1, 2, 3, 4}); }).message;
    CHECK_MESSAGE(failure.find(message) != std::string::npos, failure);
    CHECK(failure.find(on.folder.path().string()) == std::string::npos);
    const auto again = tenon::Graph::from_bytes(on.host, graph.to_bytes());
    CHECK(floats_of(on.run(again, {1, 2, 3, -40})) == Values{-1, -2, -3, 40});
  }
}

TEST_CASE("import control flow: too deeply nested graphs are rejected, naming the node") {
  FlowHost on;
  GraphFields graph{{{"Neg", {"x"}, {"r0"}}}, {}, named({"r0"})};
  for (int depth = 1; depth <= 20; ++depth) {
    const auto made = "r" + std::to_string(depth);
    const GraphFields other{{{"Exp", {"x"}, {"e" + made}}}, {}, named({"e" + made})};
    graph = {{{"If", {"c"}, {made}, {inner("then_branch", graph), inner("else_branch", other)}}},
             {},
             named({made})};
  }
  const auto message = failure_of([&] {
                         on.load({sum, positive, choice(graph, graph)}, {zero});
                       }).message;
  CHECK(message.find("nested deeper than") != std::string::npos);
  CHECK(message.size() < 500);
}

}  // namespace control_flow_tests
