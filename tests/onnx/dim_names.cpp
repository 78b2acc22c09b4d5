// Names of dimensions: equal names mean equal sizes.
#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "imported.hpp"

using namespace imported;

TEST_CASE("names of dimensions are kept, shown and saved, and equal names want equal sizes") {
  OnnxHost on;
  onnx_bytes::ModelParts model;
  model.graph.nodes = {{"ReduceSum", {"x"}, {"a"}}, {"ReduceSum", {"z"}, {"b"}}, {"Add", {"a", "b"}, {"y"}}};
  model.graph.inputs = {onnx_bytes::value("x", onnx_bytes::tensor_type(1, {{-1, "batch"}, {2}, {-1}})),
                        onnx_bytes::value("z", onnx_bytes::tensor_type(1, {{-1, "batch"}, {-1, "length"}}))};
  model.graph.outputs = {onnx_bytes::value("y", onnx_bytes::tensor_type(1, {}))};
  const auto path = on.folder / "dims.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes();
  auto graph = tenon::onnx::load(on.host, path);
  graph.save(on.folder / "dims.tenon");
  CHECK(graph.to_json().find(R"("shape": ["batch", 2, -1])") != std::string::npos);
  const auto from_json = tenon::Graph::from_json(on.host, graph.to_json());
  for (const auto& one : {graph, tenon::Graph::load(on.host, on.folder / "dims.tenon"), from_json}) {
    const auto inputs = one.inputs();
    CHECK(tenon::type_text(inputs[0]) == "float32 [batch, 2, ?]");
    CHECK(tenon::type_text(inputs[1]) == "float32 [batch, length]");
    tenon::Session session(one);
    const auto run = [&](std::int64_t rows, std::int64_t others) {
      return failure_of([&] {
               session.run({{"x", tenon::Tensor::zeros(tenon::f32, {rows, 2, 5})}, {"z", tenon::Tensor::zeros(tenon::f32, {others, 7})}});
             })
          .message;
    };
    CHECK(run(3, 3).empty());
    CHECK(run(3, 4) == "dimension 'batch' is 3 in input 'x' and 4 in input 'z', but must be one size");
    CHECK(run(4, 4).empty());
  }
  CHECK(graph.to_bytes() == tenon::Graph::load(on.host, on.folder / "dims.tenon").to_bytes());
  tenon::onnx::ImportOptions options;
  options.shapes.emplace("z", tenon::Shape{3, 7});
  CHECK(tenon::type_text(tenon::onnx::load(on.host, path, options).inputs()[1]) == "float32 [3, 7]");
}
