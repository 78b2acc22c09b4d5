// Unknown nodes are kept on request.
#include <doctest/doctest.h>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "imported.hpp"

using namespace imported;

namespace keep_unknown_tests {
namespace {

/// Relu, two nodes of an unknown operator, and a node that reads a value of unknown type.
Written strange() {
  const auto small = onnx_bytes::tensor(
      "", 7, {2}, onnx_bytes::raw_data(onnx_bytes::raw(std::vector<std::int64_t>{3, -4})));
  const onnx_bytes::Texts attributes = {
      int_attribute("k", 7), onnx_bytes::attribute("mode", 3, onnx_bytes::message([](auto& to) {
                                                     to.add_bytes(4, "fast");
                                                   })),
      onnx_bytes::message_attribute("table", 4, 5, small)};
  return {{NodeFields{"Relu", {"x"}, {"r"}},
           NodeFields{"StrangeOne", {"r", "", "w"}, {"a", "b"}, attributes, "first", "my.ops"},
           NodeFields{"StrangeOne", {"a"}, {"c"}, {}, "second", "my.ops"},
           NodeFields{"Neg", {"c"}, {"y"}}},
          {float_tensor("w", {2}, {1, 2})}};
}

}  // namespace

TEST_CASE("keep unknown: unknown nodes are kept, shown, saved and loaded, but do not run") {
  OnnxHost on;
  tenon::onnx::ImportOptions options;
  options.keep_unknown = true;
  std::vector<std::string> notes;
  options.note = [&](const std::string& text) { notes.push_back(text); };
  auto graph = on.load(strange(), options);
  CHECK(notes ==
        std::vector<std::string>{"Neg nodes are kept without an implementation",
                                 "my.ops::StrangeOne nodes are kept without an implementation"});
  graph.save(on.folder / "kept.tenon");
  for (const auto& one : {graph, tenon::Graph::load(on.host, on.folder / "kept.tenon")}) {
    const auto nodes = one.nodes();
    REQUIRE(nodes.size() == 4);
    CHECK(nodes[0].op == "relu");
    CHECK(nodes[1].op == "strange_one");
    CHECK(nodes[1].name == "first");
    CHECK(nodes[1].inputs.size() == 3);
    CHECK(nodes[2].op == "strange_one_2");
    CHECK(one.operators()[3].full_name() == "onnx.neg");
    const auto json = one.to_json();
    check_says(json, {"\"k\": 7", "\"mode\": \"fast\"", "-4"});
    const auto failure = failure_of([&] { on.run(one); });
    CHECK(failure.kind == 3);
    check_says(failure.message,
               {"'my_ops.strange_one' (version 1 kept from an ONNX model) of node 'first'"});
  }
  CHECK(graph.to_bytes() == tenon::Graph::load(on.host, on.folder / "kept.tenon").to_bytes());
}

TEST_CASE("keep unknown: consumers are imported if the model declares the value's type") {
  OnnxHost on;
  tenon::onnx::ImportOptions options;
  options.keep_unknown = true;
  onnx_bytes::ModelFields model;
  model.graph.nodes = {{"Strange", {"x"}, {"a"}, {}, "", "my.ops"}, {"Neg", {"a"}, {"y"}}};
  model.graph.inputs = {onnx_bytes::value("x")};
  model.graph.outputs = {onnx_bytes::value("y"),
                         onnx_bytes::value("a", onnx_bytes::tensor_type(1, {{2}}))};
  model.opsets.emplace_back("my.ops", 3);
  const auto path = on.folder / "said.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes();
  const auto graph = tenon::onnx::load(on.host, path, options);
  CHECK(graph.nodes()[1].op == "neg");
  CHECK(graph.operators()[0].version == 3);
}

TEST_CASE("keep unknown: a node with a subgraph cannot be kept") {
  OnnxHost on;
  tenon::onnx::ImportOptions options;
  options.keep_unknown = true;
  const auto inner = onnx_bytes::message_attribute("body", 5, 6, onnx_bytes::GraphFields{}.bytes());
  const auto failure = failure_of([&] {
    on.load({{NodeFields{"Strange", {"x"}, {"y"}, {inner}, "s", "my.ops"}}, {}}, options);
  });
  check_says(failure.message,
             {"my.ops::Strange node 's':", "attribute 'body'", "the node cannot be kept"});
}

TEST_CASE("keep unknown: only unknown nodes in subgraphs are errors, with the reason") {
  OnnxHost on;
  tenon::onnx::ImportOptions options;
  options.keep_unknown = true;
  const onnx_bytes::GraphFields then{
      {{"Stranger", {"x"}, {"r"}, {}, "in", "my.ops"}}, {}, {onnx_bytes::value("r")}};
  const onnx_bytes::GraphFields otherwise{{{"Neg", {"x"}, {"r2"}}}, {}, {onnx_bytes::value("r2")}};
  const NodeFields choice{"If",
                          {"c"},
                          {"z"},
                          {onnx_bytes::message_attribute("then_branch", 5, 6, then.bytes()),
                           onnx_bytes::message_attribute("else_branch", 5, 6, otherwise.bytes())}};
  const Written written{{NodeFields{"ReduceSum", {"x"}, {"s"}, {int_attribute("keepdims", 0)}},
                         NodeFields{"Greater", {"s", "zero"}, {"c"}}, choice,
                         NodeFields{"Strange", {"z"}, {"y"}, {}, "out", "my.ops"}},
                        {float_tensor("zero", {}, {0})}};
  const auto failure = failure_of([&] { on.load(written, options); });
  CHECK(failure.kind == 3);
  check_says(failure.message, {"an operator is missing: my.ops::Stranger (1 node 'in'"});
  CHECK(failure.hint.find("inside If, Loop and Scan cannot be kept") != std::string::npos);
}

TEST_CASE("import: prefers the model's function to a plugin's operator on request") {
  OnnxHost on;
  const onnx_bytes::FunctionFields relu{
      "", "Relu", {"in"}, {"out"}, {}, {NodeFields{"Add", {"in", "in"}, {"out"}}}};
  const Written written{{NodeFields{"Relu", {"x"}, {"y"}}}, {}, {relu}};
  CHECK(on.run(on.load(written)) == std::vector<float>{1, 2, 3, 4});
  tenon::onnx::ImportOptions options;
  options.prefer_functions = true;
  CHECK(on.run(on.load(written, options)) == std::vector<float>{2, 4, 6, 8});
}

}  // namespace keep_unknown_tests
