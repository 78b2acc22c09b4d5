// Dimension names: equal names mean equal sizes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "graph/inference/type.hpp"
#include "imported.hpp"
#include "run/graph_impl.hpp"

using namespace imported;

TEST_CASE("dimension names: imported, shown and saved; equal names need equal sizes") {
  OnnxHost on;
  onnx_bytes::ModelFields model;
  model.graph.nodes = {
      {"ReduceSum", {"x"}, {"a"}}, {"ReduceSum", {"z"}, {"b"}}, {"Add", {"a", "b"}, {"y"}}};
  model.graph.inputs = {
      onnx_bytes::value("x", onnx_bytes::tensor_type(1, {{-1, "batch"}, {2}, {-1}})),
      onnx_bytes::value("z", onnx_bytes::tensor_type(1, {{-1, "batch"}, {-1, "length"}}))};
  model.graph.outputs = {onnx_bytes::value("y", onnx_bytes::tensor_type(1, {}))};
  const auto path = on.folder / "dims.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes();
  auto graph = tenon::onnx::load(on.host, path);
  graph.save(on.folder / "dims.tenon");
  CHECK(graph.to_json().find(R"("shape": ["batch", 2, -1])") != std::string::npos);
  const auto from_json = tenon::Graph::from_json(on.host, graph.to_json());
  for (const auto& one :
       {graph, tenon::Graph::load(on.host, on.folder / "dims.tenon"), from_json}) {
    const auto inputs = one.inputs();
    CHECK(tenon::type_text(inputs[0]) == "float32 [batch, 2, ?]");
    CHECK(tenon::type_text(inputs[1]) == "float32 [batch, length]");
    tenon::Session session(one);
    CHECK(tenon::type_text(session.optimized().inputs()[1]) == "float32 [batch, length]");
    const auto run = [&](std::int64_t rows, std::int64_t others) {
      return failure_of([&] {
               session.run({{"x", tenon::Tensor::zeros(tenon::f32, {rows, 2, 5})},
                            {"z", tenon::Tensor::zeros(tenon::f32, {others, 7})}});
             })
          .message;
    };
    CHECK(run(3, 3).empty());
    check_says(run(3, 4),
               {"dimension 'batch' is 3 in input 'x' and 4 in input 'z'", "must be equal"});
    CHECK(run(4, 4).empty());
  }
  CHECK(graph.to_bytes() == tenon::Graph::load(on.host, on.folder / "dims.tenon").to_bytes());
  tenon::onnx::ImportOptions options;
  options.shapes.emplace("z", tenon::Shape{3, 7});
  CHECK(tenon::type_text(tenon::onnx::load(on.host, path, options).inputs()[1]) ==
        "float32 [3, 7]");
}

TEST_CASE("dimension names: placeholders may differ in size, in every file format") {
  OnnxHost on;
  for (const auto* name : {"?", "-1", " ", "??", "*", "None", "none", "null", "unk", "unk__0",
                           "unk__17", "Unknown", "unknown_3", "any", "-", "0"}) {
    CAPTURE(name);
    CHECK(tenon::is_placeholder(name));
    onnx_bytes::ModelFields model;
    model.graph.nodes = {{"Relu", {"x"}, {"y"}}};
    model.graph.inputs = {onnx_bytes::value(
        "x", onnx_bytes::tensor_type(1, {{-1, name}, {3}, {-1, name}, {-1, "side"}}))};
    model.graph.outputs = {onnx_bytes::value("y", onnx_bytes::tensor_type(1, {}))};
    const auto path = on.folder / "m.onnx";
    std::ofstream(path, std::ios::binary) << model.bytes();
    auto graph = tenon::onnx::load(on.host, path);
    graph.save(on.folder / "m.tenon");
    const auto json = fmt::format(
        R"({{"tenon": 1,
            "inputs": {{"x": {{"dtype": "float32", "shape": ["{0}", 3, "{0}", "side"]}}}},
            "nodes": [{{"name": "r", "op": "relu", "inputs": ["x"]}}], "outputs": {{"y": "r"}}}})",
        name);
    for (const auto& one : {graph, tenon::Graph::load(on.host, on.folder / "m.tenon"),
                            tenon::Graph::from_json(on.host, json)}) {
      CHECK(tenon::type_text(one.inputs()[0]) == "float32 [?, 3, ?, side]");
      tenon::Session session(one);
      for (const std::int64_t size : {48, 5, 1})
        CHECK(session.run({{"x", tenon::Tensor::zeros(tenon::f32, {2, 3, size, 4})}})
                  .at("y")
                  .shape()[2] == size);
    }
  }
  for (const auto* name : {"batch", "N", "unkempt", "anything", "none_left", "u_n_k", "s0", "h/2",
                           "nandu", "\u00fcnk"})
    CHECK_FALSE(tenon::is_placeholder(name));
}

TEST_CASE("dimension names: a .tenon file with placeholders") {  // as written by older versions
  OnnxHost on;
  tenon::Graph graph(on.host);
  graph.output("y", graph.add("relu", {graph.input("x", tenon::f32, {-1, -1})}));
  auto& model = tenon::impl_of(graph).edit().model;
  const auto name = model.strings.intern("?");
  model.values[model.inputs[0]].dims = 0;
  model.dim_names = {{name, name}};
  CHECK(failure_of([&] {
          tenon::Session(graph).run({{"x", tenon::Tensor::zeros(tenon::f32, {2, 3})}});
        }).kind == 2);
  graph.save(on.folder / "old.tenon");
  tenon::Session session(tenon::Graph::load(on.host, on.folder / "old.tenon"));
  CHECK(session.run({{"x", tenon::Tensor::zeros(tenon::f32, {2, 3})}}).at("y").shape() ==
        tenon::Shape{2, 3});
}
