// Import of models written by hand. Expected numbers are derived by hand from the ONNX
// specification.
#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "imported.hpp"

namespace import_tests {
namespace {

using namespace imported;
using Floats = std::vector<float>;

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

}  // namespace import_tests
