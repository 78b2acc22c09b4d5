// Models with elements of 8, 4 and 2 bits: their files, and casts to them. Bytes of packed elements
// were written by hand.
#include <cstring>
#include <fstream>

#include "exported.hpp"
#include "onnx_bytes.hpp"

namespace low_bit_models {
namespace {

using exported::ExportHost;
using tenon::DType;
using tenon::Shape;
using tenon::Tensor;
using namespace onnx_bytes;

Tensor with_codes(DType dtype, const std::vector<int>& codes) {
  auto made = Tensor::empty(dtype, {static_cast<std::int64_t>(codes.size())});
  std::copy(codes.begin(), codes.end(), static_cast<std::uint8_t*>(made.data()));
  return made;
}

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// w, dequantized by a scale of 0.5.
tenon::Graph dequantized(tenon::Host& host, const Tensor& w) {
  tenon::Graph graph(host);
  const auto scale = graph.variable("scale", tenon::full(tenon::f32, Shape::scalar(), 0.5));
  graph.output("y", graph.add("dequantize", {graph.variable("w", w), scale}));
  return graph;
}

/// The node's output of one dtype for x = [-9.5, 1, 9, 1e6].
Tensor run_node(tenon::Host& host, const NodeFields& node, const Texts& initializers,
                std::int32_t output) {
  ModelFields model;
  model.graph.nodes = {node};
  model.graph.inputs = {value("x", tensor_type(1, {{4}}))};
  model.graph.outputs = {value("y", tensor_type(output, {{4}}))};
  model.graph.initializers = initializers;
  model.opsets = {{"", 25}};
  const TemporaryFolder folder;
  std::ofstream(folder / "m.onnx", std::ios::binary) << model.bytes();
  const auto graph = tenon::onnx::load(host, folder / "m.onnx");
  return tenon::Session(graph).run({{"x", Tensor::from({-9.5F, 1.0F, 9.0F, 1e6F}, {4})}}).at("y");
}

}  // namespace

TEST_CASE("low-bit dtypes: exported weights are packed, and the model computes the same") {
  const struct {
    DType dtype;
    std::vector<int> codes;
    std::string bytes;
  } cases[] = {{tenon::i4, {15, 8, 7}, "\x8f\x07"},
               {tenon::u4, {1, 2, 3, 4}, "\x21\x43"},
               {tenon::f4e2m1fn, {2, 15, 1}, "\xf2\x01"},
               {tenon::f8e4m3fn, {0x38, 0xc0}, "\x38\xc0"},
               {tenon::f8e5m2fnuz, {0x40, 0xc4}, "\x40\xc4"}};
  for (const auto& [dtype, codes, bytes] : cases) {
    CAPTURE(tenon::name_of(dtype));
    ExportHost on;
    const auto graph = dequantized(on.host, with_codes(dtype, codes));
    on.save(graph, {.opset = 23});
    CHECK(on.types() == std::vector<std::string>{"DequantizeLinear"});
    const auto model = tenon::onnx::read_model(on.path);
    for (const auto& tensor : model.graph.initializers)
      if (tensor.name == "w") CHECK(tensor.bytes == bytes);
    const auto again = on.import(on.host);
    exported::check_same(again, graph, {});
  }
}

TEST_CASE("low-bit dtypes: packed weights in an external file") {
  ExportHost on;
  std::vector<int> codes(5001);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int>(i * 7 % 16);
  const auto graph = dequantized(on.host, with_codes(tenon::u4, codes));
  on.save(graph, {.opset = 21, .inline_limit = 100});
  const auto data = read_all(on.folder / "net.onnx.data");
  REQUIRE(data.size() == 2501);
  CHECK(data[0] == '\x70');  // 0 and 7
  CHECK(data[2500] == static_cast<char>(codes[5000]));
  exported::check_same(on.import(on.host), graph, {});
}

TEST_CASE("low-bit dtypes: older opsets get nodes of Tenon's own") {
  ExportHost on;
  on.save(dequantized(on.host, with_codes(tenon::i4, {1, 2})), {.opset = 20});
  CHECK(on.types() != std::vector<std::string>{"DequantizeLinear"});
  tenon::Graph graph(on.host);
  graph.output("y", graph.add("cast", {graph.input("x", tenon::f32, {2})},
                              {{"dtype", "float8_e5m2"}, {"saturate", false}}));
  on.save(graph, {.opset = 17});
  CHECK(on.types() != std::vector<std::string>{"Cast"});
  on.save(graph, {.opset = 19});
  CHECK(on.types() == std::vector<std::string>{"Cast"});
  exported::check_same(on.import(on.host), graph, {{"x", Tensor::from({1e9F, -1.3F}, {2})}});
}

TEST_CASE("low-bit dtypes: floats are cast through int32, as some runtimes round them to 4 bits") {
  for (const auto from : {tenon::f32, tenon::f64, tenon::f16}) {
    ExportHost on;
    tenon::Graph graph(on.host);
    graph.output("y", graph.add("cast", {graph.input("x", from, {5})}, {{"dtype", "int4"}}));
    on.save(graph, {.opset = 21});
    const auto model = tenon::onnx::read_model(on.path);
    REQUIRE(model.graph.nodes.size() >= 2);
    const auto& before_last = model.graph.nodes[model.graph.nodes.size() - 2];
    CHECK(before_last.type == "Cast");
    REQUIRE(before_last.attributes.size() == 1);
    CHECK(std::get<std::int64_t>(before_last.attributes[0].value) == 6);  // INT32
    const auto x = on.host.call("cast", {Tensor::from({0.6F, -1.7F, 7.9F, -9.0F, 6e4F}, {5})},
                                {{"dtype", std::string(tenon::name_of(from))}});
    exported::check_same(on.import(on.host), graph, {{"x", x}});
  }
}

TEST_CASE("low-bit dtypes: casts as in onnx's reference implementation") {
  ExportHost on;
  const auto cast = [&](std::int32_t to, const Texts& more = {}) {
    Texts attributes{int_attribute("to", to)};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return run_node(on.host, {"Cast", {"x"}, {"y"}, attributes}, {}, to).to_string();
  };
  CHECK(cast(22) == "int4 [4]  7 1 -7 0");  // integers wrap around
  CHECK(cast(25) == "uint2 [4]  3 1 1 0");
  CHECK(cast(17) == "float8_e4m3fn [4]  -10 1 9 448");
  CHECK(cast(17, {int_attribute("saturate", 0)}) == "float8_e4m3fn [4]  -10 1 9 nan");
  CHECK(cast(24) == "float8_e8m0fnu [4]  nan 1 16 1048576");
  const auto like = tensor("like", 19, {1}, raw_data("a"));
  CHECK(run_node(on.host, {"CastLike", {"x", "like"}, {"y"}, {}}, {like}, 19).to_string() ==
        "float8_e5m2 [4]  -10 1 8 57344");
  CHECK(run_node(on.host, {"CastLike", {"x", "like"}, {"y"}, {int_attribute("saturate", 0)}},
                 {like}, 19)
            .to_string() == "float8_e5m2 [4]  -10 1 8 inf");
}

}  // namespace low_bit_models
