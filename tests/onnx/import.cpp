// Models written by hand become graphs. Expected numbers are worked out by hand from ONNX's text.
#include <doctest/doctest.h>

#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>

#include "../built.hpp"
#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "onnx_bytes.hpp"

namespace import_tests {
namespace {

using onnx_bytes::message;

constexpr int float_type = 1;

std::string node(const std::string& type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& attributes = {}, const std::string& domain = {}) {
  return message([&](auto& to) {
           for (const auto& input : inputs) to.add_string(1, input);
           for (const auto& output : outputs) to.add_string(2, output);
           to.add_string(4, type);
           if (!domain.empty()) to.add_string(7, domain);
         }) +
         attributes;
}

std::string integer(const std::string& name, std::int64_t value) {
  return message([&](auto& to) {
    to.add_message(5, message([&](auto& attribute) {
                     attribute.add_string(1, name);
                     attribute.add_int64(3, value);
                     attribute.add_int32(20, 2);
                   }));
  });
}
/// What the function's caller says under another name.
std::string reference(const std::string& name, const std::string& outer) {
  return message([&](auto& to) {
    to.add_message(5, message([&](auto& attribute) {
                     attribute.add_string(1, name);
                     attribute.add_int32(20, 2);
                     attribute.add_string(21, outer);
                   }));
  });
}

std::string value(const std::string& name, const std::vector<onnx_bytes::Dim>& dims) {
  return message([&](auto& to) {
    to.add_string(1, name);
    to.add_message(2, onnx_bytes::tensor_type(float_type, dims));
  });
}

std::string floats(const std::string& name, const onnx_bytes::Dims& dims, const std::vector<float>& elements) {
  return onnx_bytes::tensor(name, float_type, dims, onnx_bytes::raw_data(onnx_bytes::raw(elements)));
}

struct Written {
  std::vector<std::string> nodes, initializers, functions{};
  std::vector<onnx_bytes::Dim> x{{2, ""}, {2, ""}};

  std::string bytes() const {
    const auto graph = message([&](auto& to) {
      for (const auto& one : nodes) to.add_message(1, one);
      to.add_string(2, "g");
      for (const auto& one : initializers) to.add_message(5, one);
      to.add_message(11, value("x", x));
      to.add_message(12, value("y", {}));
    });
    return message([&](auto& to) {
      to.add_int64(1, 8);
      to.add_message(7, graph);
      for (const auto* domain : {"", "my.ops"})
        to.add_message(8, message([&](auto& opset) {
                         opset.add_string(1, domain);
                         opset.add_int64(2, *domain == 0 ? 17 : 1);
                       }));
      for (const auto& one : functions) to.add_message(25, one);
    });
  }
};

struct OnnxHost {
  OnnxHost() : host(options()) { host.add_plugins(built("plugins")); }
  static tenon::HostOptions options() {
    tenon::HostOptions options;
    options.search_defaults = false;
    return options;
  }
  tenon::Graph load(const Written& written, const tenon::onnx::ImportOptions& import = {}) {
    const auto path = folder / "model.onnx";
    std::ofstream(path, std::ios::binary) << written.bytes();
    return tenon::onnx::load(host, path, import);
  }
  std::vector<float> run(const tenon::Graph& graph) {
    const auto y = tenon::Session(graph).run({{"x", tenon::Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2})}}).at("y");
    const auto values = y.values<float>();
    return {values.begin(), values.end()};
  }
  TemporaryFolder folder;
  tenon::Host host;
};

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("a Gemm is a fully connected layer where it is one, and its weights are variables") {
  OnnxHost on;
  const auto graph =
      on.load({{node("Gemm", {"x", "w", "b"}, {"y"}, integer("transB", 1))}, {floats("w", {1, 2}, {10, 1}), floats("b", {1}, {0.5F})}});
  CHECK(on.run(graph) == Floats{12.5F, 34.5F});
  CHECK(graph.nodes().size() == 1);
  CHECK(graph.nodes()[0].op == "fully_connected");
  CHECK(graph.variables().size() == 2);
  CHECK(graph.variables()[0].name == "w");
}

TEST_CASE("a Gemm of other kinds is a product, and a sum") {
  OnnxHost on;
  CHECK(on.run(on.load({{node("Gemm", {"x", "w", "b"}, {"y"}, integer("transA", 1))},
                        {floats("w", {2, 1}, {10, 1}), floats("b", {1}, {0.5F})}})) == Floats{13.5F, 24.5F});
}

TEST_CASE("constants are computed while a model is read, and the same elements are one value") {
  OnnxHost on;
  const auto graph = on.load({{node("Add", {"two", "two"}, {"four"}), node("Mul", {"x", "four"}, {"z"}), node("Add", {"z", "four"}, {"y"})},
                              {floats("two", {}, {2})}});
  CHECK(on.run(graph) == Floats{8, 12, 16, 20});
  CHECK(graph.nodes().size() == 2);
  CHECK(graph.constants().size() == 1);
}

TEST_CASE("all operators that are missing are named at once, with how often they occur") {
  OnnxHost on;
  const auto failure = failure_of([&] {
    on.load({{node("Strange", {"x"}, {"a"}, {}, "my.ops"), node("Strange", {"a"}, {"b"}, {}, "my.ops"),
              node("Odd", {"b"}, {"y"}, {}, "my.ops")},
             {}});
  });
  CHECK(failure.message.find("my.ops::Strange (2 nodes") != std::string::npos);
  CHECK(failure.hint.find("name the operator that computes") != std::string::npos);
}

TEST_CASE("an operator is found by the user's word, and by its name, which is told") {
  OnnxHost on;
  tenon::onnx::ImportOptions options;
  options.map.emplace("my.ops::Strange", "relu");
  CHECK(on.run(on.load({{node("Neg", {"x"}, {"n"}), node("Strange", {"n"}, {"y"}, {}, "my.ops")}, {}}, options)) == Floats{0, 0, 0, 0});
  std::vector<std::string> notes;
  tenon::onnx::ImportOptions noted;
  noted.note = [&](const std::string& text) { notes.push_back(text); };
  CHECK(on.run(on.load({{node("LeakyRelu", {"x"}, {"y"}, {}, "my.ops")}, {}}, noted)) == Floats{1, 2, 3, 4});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("my.ops::LeakyRelu is computed by tenon.leaky_relu") != std::string::npos);
}

TEST_CASE("an attribute without a place is refused by name, with the node") {
  OnnxHost on;
  const auto failure = failure_of([&] { on.load({{node("Relu", {"x"}, {"y"}, integer("colour", 3))}, {}}); });
  CHECK(failure.message.find("Relu node that makes 'y'") != std::string::npos);
  CHECK(failure.message.find("'colour'") != std::string::npos);
}

TEST_CASE("functions are written out, with the attributes that their callers give") {
  OnnxHost on;
  const auto function = message([&](auto& to) {
    to.add_string(1, "Rows");
    to.add_string(4, "in");
    to.add_string(5, "out");
    to.add_string(6, "which");
    to.add_message(7, node("Softmax", {"in"}, {"s"}, reference("axis", "which")));
    to.add_message(7, node("Sub", {"s", "s"}, {"zero"}));
    to.add_message(7, node("Add", {"in", "zero"}, {"out"}));
    to.add_message(9, message([](auto& opset) {
                     opset.add_string(1, "");
                     opset.add_int64(2, 17);
                   }));
    to.add_string(10, "my.ops");
  });
  const Written written{{node("Rows", {"x"}, {"y"}, integer("which", 0), "my.ops")}, {}, {function}};
  CHECK(on.run(on.load(written)) == Floats{1, 2, 3, 4});
  CHECK(on.load(written).nodes()[0].op == "softmax");
  const auto failure = failure_of([&] { on.load({{node("Rows", {"x"}, {"y"}, {}, "my.ops")}, {}, {function}}); });
  CHECK(failure.message.find("'which' is missing, which its function needs") != std::string::npos);
}

TEST_CASE("shapes that a model computes are known when a run is planned, for any sizes") {
  OnnxHost on;
  // x [n, m] -> [m, n], by Shape, Gather, Concat and Reshape
  const auto indices = onnx_bytes::tensor("swap", 7, {2}, onnx_bytes::raw_data(onnx_bytes::raw(std::vector<std::int64_t>{1, 0})));
  Written written{{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "swap"}, {"t"}), node("Reshape", {"x", "t"}, {"y"})}, {indices}};
  written.x = {{-1, "n"}, {-1, "m"}};
  const auto graph = on.load(written);
  tenon::Session session(graph);
  CHECK(session.run({{"x", tenon::Tensor::zeros(tenon::f32, {2, 3})}}).at("y").shape() == tenon::Shape{3, 2});
  CHECK(session.run({{"x", tenon::Tensor::zeros(tenon::f32, {4, 5})}}).at("y").shape() == tenon::Shape{5, 4});
  CHECK(session.plan({{"x", {4, 5}}}).steps.size() == 1);
}

TEST_CASE("inputs get shapes and become constants as the user says, and no others") {
  OnnxHost on;
  const Written written{{node("Relu", {"x"}, {"y"})}, {}, {}, {{-1, "n"}, {2, ""}}};
  tenon::onnx::ImportOptions options;
  options.shapes.emplace("x", tenon::Shape{7, 2});
  CHECK(on.load(written, options).inputs()[0].shape == tenon::Shape{7, 2});
  options.shapes.at("x") = tenon::Shape{7, 3};
  CHECK(failure_of([&] { on.load(written, options); }).message.find("cannot become") != std::string::npos);
  options.shapes = {{"z", tenon::Shape{1}}};
  CHECK(failure_of([&] { on.load(written, options); }).message.find("no input 'z'") != std::string::npos);
}

}  // namespace import_tests
