// Import of models written by hand. Expected numbers are derived by hand from the ONNX
// specification.
#include <doctest/doctest.h>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "imported.hpp"

namespace import_tests {
namespace {

using namespace imported;
using onnx_bytes::GraphFields;
using onnx_bytes::value;
using Floats = std::vector<float>;

std::string body(const std::string& name, const GraphFields& graph) {
  return onnx_bytes::message_attribute(name, 5, 6, graph.bytes());
}
/// A sequence (field 4) or an optional (field 9) of this type.
std::string wrapped(std::uint32_t field, const std::string& type) {
  return onnx_bytes::message([&](auto& to) {
    to.add_message(field, onnx_bytes::message([&](auto& of) { of.add_message(1, type); }));
  });
}
onnx_bytes::Texts sequence_constants() {
  using onnx_bytes::int64_tensor;
  return {int64_tensor("zero", {}, {0}),       int64_tensor("one64", {}, {1}),
          int64_tensor("two", {}, {2}),        int64_tensor("three", {}, {3}),
          int64_tensor("minus", {}, {-1}),     int64_tensor("minus3", {}, {-3}),
          int64_tensor("sizes", {2}, {1, 1}),  int64_tensor("three1", {1}, {3}),
          int64_tensor("many", {}, {1 << 30}), float_tensor("one", {}, {1})};
}

}  // namespace

TEST_CASE(
    "import: a Gemm becomes a fully connected layer if possible, with variables for weights") {
  OnnxHost on;
  const auto graph =
      on.load({{NodeFields{"Gemm", {"x", "w", "b"}, {"y"}, {int_attribute("transB", 1)}}},
               {float_tensor("w", {1, 2}, {10, 1}), float_tensor("b", {1}, {0.5F})}});
  CHECK(on.run(graph) == Floats{12.5F, 34.5F});
  CHECK(graph.nodes().size() == 1);
  CHECK(graph.nodes()[0].op == "fully_connected");
  CHECK(graph.variables().size() == 2);
  CHECK(graph.variables()[0].name == "w");
}

TEST_CASE("import: other forms of Gemm become a product and a sum") {
  OnnxHost on;
  CHECK(on.run(on.load({{NodeFields{"Gemm", {"x", "w", "b"}, {"y"}, {int_attribute("transA", 1)}}},
                        {float_tensor("w", {2, 1}, {10, 1}), float_tensor("b", {1}, {0.5F})}})) ==
        Floats{13.5F, 24.5F});
}

TEST_CASE("import: constants are folded, and equal elements become one value") {
  OnnxHost on;
  const auto graph =
      on.load({{NodeFields{"Add", {"two", "two"}, {"four"}},
                NodeFields{"Mul", {"x", "four"}, {"z"}}, NodeFields{"Add", {"z", "four"}, {"y"}}},
               {float_tensor("two", {}, {2})}});
  CHECK(on.run(graph) == Floats{8, 12, 16, 20});
  CHECK(graph.nodes().size() == 2);
  CHECK(graph.constants().size() == 1);
}

TEST_CASE("import: weights of 8 bits stay integers for rules, and sessions fold the others") {
  OnnxHost on;
  const onnx_bytes::Texts tensors{
      float_tensor("s", {}, {0.5F}), float_tensor("ws", {2}, {0.25F, 2}),
      onnx_bytes::tensor("z", 2, {}, onnx_bytes::raw_data("\2")),
      onnx_bytes::tensor("w", 3, {2, 2}, onnx_bytes::raw_data({"\1\2\377\4", 4}))};
  const NodeFields quantize{"QuantizeLinear", {"x", "s", "z"}, {"xq"}},
      dequantize{"DequantizeLinear", {"xq", "s", "z"}, {"xf"}};
  const auto weight = [](int axis) {
    return NodeFields{"DequantizeLinear", {"w", "ws"}, {"wf"}, {int_attribute("axis", axis)}};
  };
  const auto run_by = [&](const NodeFields& dequantized, const NodeFields& last) {
    const auto graph = on.load({{quantize, dequantize, dequantized, last}, tensors});
    std::vector<std::string> names;
    for (const auto& node : tenon::Session(graph).optimized().nodes()) names.push_back(node.op);
    return std::pair{names, on.run(graph)};
  };
  using Names = std::vector<std::string>;
  CHECK(run_by(weight(1), {"MatMul", {"xf", "wf"}, {"y"}}) ==
        std::pair{Names{"quantize", "quantized_matmul"}, Floats{-0.25F, 20, -0.25F, 44}});
  CHECK(run_by(weight(0), {"Gemm", {"xf", "wf"}, {"y"}, {int_attribute("transB", 1)}}) ==
        std::pair{Names{"quantize", "quantized_matmul"}, Floats{1.25F, 14, 2.75F, 26}});
  CHECK(run_by(weight(1), {"Add", {"xf", "wf"}, {"y"}}) ==
        std::pair{Names{"quantize", "dequantize", "add"}, Floats{1.25F, 6, 2.75F, 12}});
}

TEST_CASE("import: all missing operators are reported at once, with counts") {
  OnnxHost on;
  const auto failure = failure_of([&] {
    on.load({{NodeFields{"Strange", {"x"}, {"a"}, {}, "", "my.ops"},
              NodeFields{"Strange", {"a"}, {"b"}, {}, "", "my.ops"},
              NodeFields{"Odd", {"b"}, {"y"}, {}, "", "my.ops"}},
             {}});
  });
  CHECK(failure.message.find("my.ops::Strange (2 nodes") != std::string::npos);
  CHECK(failure.hint.find("name the operator that computes") != std::string::npos);
}

TEST_CASE("import: an operator is found by the user's mapping, and by name, which is noted") {
  OnnxHost on;
  tenon::onnx::ImportOptions options;
  options.map.emplace("my.ops::Strange", "relu");
  CHECK(on.run(on.load({{NodeFields{"Neg", {"x"}, {"n"}},
                         NodeFields{"Strange", {"n"}, {"y"}, {}, "", "my.ops"}},
                        {}},
                       options)) == Floats{0, 0, 0, 0});
  std::vector<std::string> notes;
  tenon::onnx::ImportOptions noted;
  noted.note = [&](const std::string& text) { notes.push_back(text); };
  CHECK(on.run(on.load({{NodeFields{"LeakyRelu", {"x"}, {"y"}, {}, "", "my.ops"}}, {}}, noted)) ==
        Floats{1, 2, 3, 4});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("my.ops::LeakyRelu is computed by tenon.leaky_relu") != std::string::npos);
}

TEST_CASE("import: an unsupported attribute is an error that names the attribute and the node") {
  OnnxHost on;
  const auto failure = failure_of([&] {
    on.load({{NodeFields{"Relu", {"x"}, {"y"}, {int_attribute("colour", 3)}}}, {}});
  });
  CHECK(failure.message.find("Relu node that produces 'y'") != std::string::npos);
  CHECK(failure.message.find("'colour'") != std::string::npos);
}

TEST_CASE("import: functions are inlined with their callers' attributes") {
  OnnxHost on;
  const onnx_bytes::FunctionFields function{
      "my.ops",
      "Rows",
      {"in"},
      {"out"},
      {"which"},
      {NodeFields{"Softmax", {"in"}, {"s"}, {reference("axis", "which")}},
       NodeFields{"Sub", {"s", "s"}, {"zero"}}, NodeFields{"Add", {"in", "zero"}, {"out"}}}};
  const Written written{
      {NodeFields{"Rows", {"x"}, {"y"}, {int_attribute("which", 0)}, "", "my.ops"}},
      {},
      {function}};
  CHECK(on.run(on.load(written)) == Floats{1, 2, 3, 4});
  CHECK(on.load(written).nodes()[0].op == "softmax");
  const auto failure = failure_of([&] {
    on.load({{NodeFields{"Rows", {"x"}, {"y"}, {}, "", "my.ops"}}, {}, {function}});
  });
  CHECK(failure.message.find("'which' is missing; its function requires it") != std::string::npos);
}

TEST_CASE("import: computed shapes are known to the plan, for any sizes") {
  OnnxHost on;
  // x [n, m] -> [m, n], by Shape, Gather, Concat and Reshape
  const auto indices = onnx_bytes::tensor(
      "swap", 7, {2}, onnx_bytes::raw_data(onnx_bytes::raw(std::vector<std::int64_t>{1, 0})));
  Written written{{NodeFields{"Shape", {"x"}, {"s"}}, NodeFields{"Gather", {"s", "swap"}, {"t"}},
                   NodeFields{"Reshape", {"x", "t"}, {"y"}}},
                  {indices}};
  written.x = {{-1, "n"}, {-1, "m"}};
  const auto graph = on.load(written);
  tenon::Session session(graph);
  CHECK(session.run({{"x", tenon::Tensor::zeros(tenon::f32, {2, 3})}}).at("y").shape() ==
        tenon::Shape{3, 2});
  CHECK(session.run({{"x", tenon::Tensor::zeros(tenon::f32, {4, 5})}}).at("y").shape() ==
        tenon::Shape{5, 4});
  CHECK(session.plan({{"x", {4, 5}}}).steps.size() == 1);
}

TEST_CASE("import: user-provided input shapes and constants") {
  OnnxHost on;
  const Written written{{NodeFields{"Relu", {"x"}, {"y"}}}, {}, {}, {{-1, "n"}, {2, ""}}};
  tenon::onnx::ImportOptions options;
  options.shapes.emplace("x", tenon::Shape{7, 2});
  CHECK(on.load(written, options).inputs()[0].shape == tenon::Shape{7, 2});
  options.shapes.at("x") = tenon::Shape{7, 3};
  CHECK(failure_of([&] { on.load(written, options); }).message.find("cannot become") !=
        std::string::npos);
  options.shapes = {{"z", tenon::Shape{1}}};
  CHECK(failure_of([&] { on.load(written, options); }).message.find("no input 'z'") !=
        std::string::npos);
}

TEST_CASE("import: sequences of known length and optionals") {
  OnnxHost on;
  const NodeFields negated{"Neg", {"x"}, {"n"}}, doubled{"Add", {"x", "x"}, {"d"}};
  const NodeFields joined{"ConcatFromSequence", {"s"}, {"y"}, {int_attribute("axis", 0)}};
  const NodeFields pair{"SequenceConstruct", {"x", "n"}, {"s"}};
  const auto columns = [](int keepdims) {
    return NodeFields{"SplitToSequence",
                      {"x"},
                      {"s"},
                      {int_attribute("axis", 1), int_attribute("keepdims", keepdims)}};
  };
  const GraphFields scaled{{{"Mul", {"e", "f"}, {"r"}}, {"Sub", {"r", "one"}, {"r2"}}},
                           {value("e"), value("f")},
                           {value("r2")}};
  const GraphFields grown{{{"Cast", {"i"}, {"k"}, {int_attribute("to", 1)}},
                           {"Mul", {"x", "k"}, {"r"}},
                           {"SequenceInsert", {"t", "r"}, {"t2"}},
                           {"ReduceSum", {"r"}, {"row"}, {int_attribute("keepdims", 0)}},
                           {"Identity", {"c"}, {"c2"}}},
                          {value("i"), value("c"), value("t")},
                          {value("c2"), value("t2"), value("row")}};
  const GraphFields first{{{"SequenceAt", {"s", "zero"}, {"r"}}}, {}, {value("r")}};
  const GraphFields second{{{"SequenceAt", {"s", "minus"}, {"r2"}}}, {}, {value("r2")}};
  const auto choice = [&](const std::string& condition) {
    return NodeFields{
        "If", {condition}, {"y"}, {body("then_branch", first), body("else_branch", second)}};
  };
  const NodeFields loop{"Loop", {"two", "", "e"}, {"s", "rows"}, {body("body", grown)}};
  const NodeFields nothing{"SequenceEmpty", {}, {"e"}};
  struct Case {
    const char* name;
    std::vector<NodeFields> nodes;
    Floats y;
  };
  for (const auto& [name, nodes, y] : std::vector<Case>{
           {"position from the end",
            {negated, pair, {"SequenceAt", {"s", "minus"}, {"y"}}},
            {-1, -2, -3, -4}},
           {"inserted in front, before the last and at the end, one erased",
            {negated,
             doubled,
             {"SequenceConstruct", {"x"}, {"a"}},
             {"SequenceInsert", {"a", "n", "minus"}, {"b"}},
             {"SequenceInsert", {"b", "d"}, {"c"}},
             {"SequenceErase", {"c", "one64"}, {"s"}},
             joined},
            {-1, -2, -3, -4, 2, 4, 6, 8}},
           {"the last erased",
            {negated, pair, {"SequenceErase", {"s"}, {"t"}}, {"SequenceAt", {"t", "minus"}, {"y"}}},
            {1, 2, 3, 4}},
           {"length",
            {negated,
             pair,
             {"Identity", {"s"}, {"t"}},
             {"SequenceLength", {"t"}, {"l"}},
             {"Cast", {"l"}, {"f"}, {int_attribute("to", 1)}},
             {"Add", {"x", "f"}, {"y"}}},
            {3, 4, 5, 6}},
           {"split into columns", {columns(0), joined}, {1, 3, 2, 4}},
           {"split into matrices", {columns(1), joined}, {1, 3, 2, 4}},
           {"split by size, the last one smaller",
            {{"Concat", {"x", "x"}, {"w"}, {int_attribute("axis", 0)}},
             {"SplitToSequence", {"w", "three"}, {"s"}},
             {"SequenceAt", {"s", "minus"}, {"y"}}},
            {3, 4}},
           {"split by sizes",
            {{"SplitToSequence", {"x", "sizes"}, {"s"}, {int_attribute("keepdims", 0)}}, joined},
            {1, 2, 3, 4}},
           {"stacked on a new axis",
            {negated,
             pair,
             {"ConcatFromSequence",
              {"s"},
              {"y"},
              {int_attribute("axis", 2), int_attribute("new_axis", 1)}}},
            {1, -1, 2, -2, 3, -3, 4, -4}},
           {"mapped with a tensor",
            {negated,
             pair,
             {"SequenceMap", {"s", "x"}, {"m"}, {body("body", scaled)}},
             {"ConcatFromSequence", {"m"}, {"y"}, {int_attribute("axis", 0)}}},
            {0, 3, 8, 15, -2, -5, -10, -17}},
           {"carried by a Loop", {nothing, loop, joined}, {0, 0, 0, 0, 1, 2, 3, 4}},
           {"carried by a Loop with results of each iteration",
            {nothing, loop, {"Identity", {"rows"}, {"y"}}},
            {0, 10}},
           {"read by the branch that runs",
            {negated,
             pair,
             {"ReduceSum", {"x"}, {"z"}, {int_attribute("keepdims", 0)}},
             {"Less", {"z", "one"}, {"c"}},
             choice("c")},
            {-1, -2, -3, -4}},
           {"an optional with an element",
            {{"Optional", {"x"}, {"o"}},
             {"OptionalHasElement", {"o"}, {"c"}},
             {"Identity", {"o"}, {"o2"}},
             {"OptionalGetElement", {"o2"}, {"g"}},
             {"Where", {"c", "g", "one"}, {"y"}}},
            {1, 2, 3, 4}},
           {"an optional without one",
            {{"Optional", {}, {"o"}},
             {"OptionalHasElement", {"o"}, {"c"}},
             {"Where", {"c", "x", "one"}, {"y"}}},
            {1, 1, 1, 1}},
       }) {
    const std::string tried = name;
    CAPTURE(tried);
    CHECK(on.run(on.load({nodes, sequence_constants()})) == y);
  }
}

TEST_CASE("import: a graph has an input and an output for each element of a sequence") {
  OnnxHost on;
  onnx_bytes::ModelFields model;
  model.graph.nodes = {{"OptionalGetElement", {"o"}, {"x"}},
                       {"SequenceInsert", {"s", "x", "zero"}, {"t"}}};
  const auto floats = onnx_bytes::tensor_type(1, {{2}});
  model.graph.inputs = {value("s", wrapped(4, floats)), value("o", wrapped(9, floats))};
  model.graph.outputs = {value("t")};
  model.graph.initializers = sequence_constants();
  const auto path = on.folder / "sequences.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes();
  std::vector<std::string> notes;
  tenon::onnx::ImportOptions options;
  options.note = [&](const std::string& text) { notes.push_back(text); };
  const auto tried = [&] { return tenon::onnx::load(on.host, path, options); };
  const auto without = failure_of(tried);
  check_says(without.message, {"input 's' is a sequence"});
  CHECK(without.hint == "give the input a known length");
  options.lengths = {{"s", 2}};
  const auto graph = tried();
  const auto pair = [](float one, float other) { return tenon::Tensor::from({one, other}, {2}); };
  const auto made =
      tenon::Session(graph).run({{"s_0", pair(1, 2)}, {"s_1", pair(3, 4)}, {"o", pair(5, 6)}});
  REQUIRE(made.size() == 3);
  Floats all;
  for (const auto* name : {"t_0", "t_1", "t_2"})
    for (const auto one : made.at(name).values<float>()) all.push_back(one);
  CHECK(all == Floats{5, 6, 1, 2, 3, 4});
  CHECK(notes ==
        std::vector<std::string>{"input 'o' is optional in the model, but required in the graph",
                                 "input 's' is a sequence; its elements are s_0, s_1",
                                 "output 't' is a sequence; its elements are t_0, t_1, t_2"});
  for (const auto& [name, length, message] :
       std::vector<std::tuple<const char*, std::int64_t, const char*>>{
           {"o", 1, "no input 'o' that is a sequence"},
           {"s", -1, "input 's' cannot have -1 elements"},
           {"s", 1 << 20, "input 's' cannot have 1048576 elements"}}) {
    options.lengths = {{"s", 2}};
    options.lengths[name] = length;
    check_says(failure_of(tried).message, {message});
  }
}

TEST_CASE("import: sequences that are not known or misplaced are refused, naming the node") {
  OnnxHost on;
  const NodeFields pair{"SequenceConstruct", {"x", "x"}, {"s"}};
  const NodeFields position{"Cast", {"x"}, {"p"}, {int_attribute("to", 7)}};
  const GraphFields same{{}, {}, {value("s")}};
  const GraphFields grown{{{"SequenceInsert", {"t", "x"}, {"t2"}}},
                          {value("i"), value("c"), value("t")},
                          {value("c"), value("t2")}};
  struct Case {
    std::vector<NodeFields> nodes;
    std::string message;
  };
  for (const auto& [nodes, message] : std::vector<Case>{
           {{pair, {"Relu", {"s"}, {"y"}}},
            "Relu node that produces 'y': its input 's' is a sequence"},
           {{pair, {"SequenceConstruct", {"s"}, {"y"}}}, "its input 0 is not a tensor"},
           {{{"SequenceAt", {"x", "zero"}, {"y"}}}, "its input 0 is not a sequence"},
           {{pair, {"SequenceAt", {"s", "three"}, {"y"}}}, "its position 3 is out of range for 2"},
           {{pair, {"SequenceAt", {"s", "minus3"}, {"y"}}},
            "its position -3 is out of range for 2"},
           {{pair, position, {"SequenceAt", {"s", "p"}, {"y"}}}, "its input 1, 'p', is not known"},
           {{{"SequenceEmpty", {}, {"s"}},
             {"ConcatFromSequence", {"s"}, {"y"}, {int_attribute("axis", 0)}}},
            "its sequence is empty"},
           {{{"SequenceEmpty", {}, {"y"}}}, "output 'y' is an empty sequence"},
           {{pair, {"SequenceInsert", {"s", "zero"}, {"y"}}},
            "is int64, but the sequence holds float32"},
           {{{"SplitToSequence", {"x", "three1"}, {"y"}}}, "do not add up to 2"},
           {{{"SplitToSequence", {"x", "zero"}, {"y"}}}, "its chunks have 0 elements"},
           {{{"Optional", {}, {"o"}}, {"OptionalGetElement", {"o"}, {"y"}}}, "has no element"},
           {{{"Optional", {}, {"o"}}, {"Neg", {"o"}, {"y"}}}, "is an optional without an element"},
           {{{"Optional", {}, {"y"}}}, "an optional without an element is used as a tensor"},
           {{pair,
             position,
             {"ReduceMax", {"p"}, {"q"}, {int_attribute("keepdims", 0)}},
             {"Loop", {"q", "", "s"}, {"y"}, {body("body", grown)}}},
            "its trip count is not known"},
           {{pair, {"Loop", {"many", "", "s"}, {"y"}, {body("body", grown)}}},
            "too much for a file of this size"},
           {{pair,
             {"ReduceMax", {"x"}, {"z"}, {int_attribute("keepdims", 0)}},
             {"Greater", {"z", "one"}, {"c"}},
             {"If", {"c"}, {"y"}, {body("then_branch", same), body("else_branch", same)}}},
            "a sequence of tensors is used where"}}) {
    const auto refused = failure_of([&, &nodes = nodes] {
      on.load({nodes, sequence_constants()});
    });
    check_says(refused.message, {message});
  }
}

}  // namespace import_tests
