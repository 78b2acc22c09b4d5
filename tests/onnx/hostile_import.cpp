// Damaged and malicious models through the whole importer: the result is a graph or a Failure,
// within little memory.
#include <doctest/doctest.h>

#include <tenon/host/evaluator.hpp>
#include <tenon/host/trainer.hpp>

#include "../failure_of.hpp"
#include "imported.hpp"
#include "onnx/import/importer.hpp"
#include "small_models.hpp"

using namespace imported;

namespace hostile_import_tests {
namespace {

/// Returns whether the model can be imported.
bool imports(tenon::Host& host, const std::string& bytes) {
  const auto failure = failure_of([&] {
    const auto model = onnx_bytes::read(bytes);
    tenon::onnx::Importer(host, model, {}).import();
  });
  CHECK_MESSAGE((failure.kind == 0 || failure.kind == 3 || failure.kind == 4), failure.message);
  return failure.kind == 0;
}

/// The error message; empty if there is none.
std::string refusal(const onnx_bytes::ModelFields& fields) {
  static OnnxHost on;
  return failure_of([&] {
           const auto model = onnx_bytes::read(fields.bytes());
           tenon::onnx::Importer(on.host, model, {}).import();
         })
      .message;
}

onnx_bytes::ModelFields from_x(std::vector<NodeFields> nodes, onnx_bytes::Texts initializers = {}) {
  onnx_bytes::ModelFields fields;
  fields.graph.nodes = std::move(nodes);
  fields.graph.initializers = std::move(initializers);
  fields.graph.inputs = {onnx_bytes::value("x")};
  fields.graph.outputs = {onnx_bytes::value("y")};
  fields.opsets.emplace_back("local", 1);
  return fields;
}

}  // namespace

TEST_CASE("hostile import: truncated models and flipped bits") {
  OnnxHost on;
  for (const auto& model : small_models::all()) {
    const auto& whole = model.second;
    CAPTURE(model.first);
    const auto failure = failure_of([&] {
      const auto read = onnx_bytes::read(whole);
      tenon::onnx::Importer(on.host, read, {}).import();
    });
    REQUIRE_MESSAGE(failure.kind == 0, failure.message);
    for (std::size_t size = 0; size < whole.size(); size += 3)
      imports(on.host, whole.substr(0, size));
    auto bytes = whole;
    int models = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const auto flip = static_cast<char>(1 << at % 8);
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      models += imports(on.host, bytes);
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
    }
    CHECK(models > 20);
  }
}

TEST_CASE("hostile import: exponential functions are bounded by the file's size") {
  auto fields = from_x({{"F0", {"x"}, {"y"}, {}, "", "local"}});
  for (int i = 0; i < 40; ++i) {
    const auto next = i == 39
                          ? NodeFields{"Relu", {"a"}, {"b"}}
                          : NodeFields{"F" + std::to_string(i + 1), {"a"}, {"b"}, {}, "", "local"};
    auto second = next;
    second.inputs = {"b"}, second.outputs = {"c"};
    fields.functions.push_back(
        {"local", "F" + std::to_string(i), {"a"}, {"c"}, {}, {next, second}});
  }
  CHECK(refusal(fields).find("its functions expand to more than") != std::string::npos);
  fields.functions.back().nodes[0] = {"F0", {"a"}, {"b"}, {}, "", "local"};
  CHECK(refusal(fields).find("recursive functions: ") != std::string::npos);
}

TEST_CASE("hostile import: missing function attributes") {
  const auto refer = onnx_bytes::attribute(
      "axis", 2, onnx_bytes::message([](auto& to) { to.add_string(21, "nowhere"); }));
  auto fields = from_x({{"F", {"x"}, {"y"}, {}, "", "local"}});
  fields.functions = {{"local", "F", {"a"}, {"b"}, {}, {{"Softmax", {"a"}, {"b"}, {refer}}}}};
  CHECK(refusal(fields).find("'nowhere'") != std::string::npos);
}

TEST_CASE("hostile import: small files do not become large tensors") {
  const auto sizes = small_models::int64s("sizes", {1 << 15, 1 << 15});
  const auto ones = small_models::zeros("one", {1, 1});
  CHECK(refusal(from_x({{"Expand", {"one", "sizes"}, {"e"}}, {"Add", {"x", "x"}, {"y"}}},
                       {ones, sizes}))
            .empty());
  CHECK(
      refusal(from_x({{"ConstantOfShape", {"sizes"}, {"e"}}, {"Add", {"x", "x"}, {"y"}}}, {sizes}))
          .empty());
  CHECK(refusal(
            from_x({{"Tile", {"one", "sizes"}, {"e"}}, {"Add", {"x", "x"}, {"y"}}}, {ones, sizes}))
            .empty());
  auto fields = from_x({{"EyeLike", {"x"}, {"y"}}});
  fields.graph.inputs = {
      onnx_bytes::value("x", onnx_bytes::tensor_type(1, {{1 << 20}, {1 << 20}}))};
  CHECK(refusal(fields).empty());
}

TEST_CASE("hostile import: the number of inferences of nested loops is bounded") {
  constexpr int values = 10, depth = 4;
  onnx_bytes::GraphFields body;
  for (int level = 0; level < depth; ++level) {
    const auto name = [&](const char* what, int i) {
      return what + std::to_string(level) + '_' + std::to_string(i);
    };
    onnx_bytes::GraphFields made;
    made.inputs = {onnx_bytes::value(name("i", 0)), onnx_bytes::value(name("c", 0))};
    made.outputs = {onnx_bytes::value(name("again", 0))};
    made.nodes = {{"Identity", {name("c", 0)}, {name("again", 0)}},
                  {"Concat",
                   {name("v", 0), name("v", 0)},
                   {name("n", 0)},
                   {onnx_bytes::int_attribute("axis", 0)}}};
    NodeFields inner{
        "Loop", {"three", ""}, {}, {onnx_bytes::message_attribute("body", 5, 6, body.bytes())}};
    for (int i = 0; i < values; ++i) {
      made.inputs.push_back(onnx_bytes::value(name("v", i)));
      made.outputs.push_back(onnx_bytes::value(name("n", i)));
      if (i > 0) made.nodes.push_back({"Identity", {name("v", i - 1)}, {name("n", i)}});
      inner.inputs.push_back("start"), inner.outputs.push_back(name("o", i));
    }
    if (level > 0) made.nodes.push_back(inner);
    body = made;
  }
  NodeFields outer{
      "Loop", {"three", ""}, {"y"}, {onnx_bytes::message_attribute("body", 5, 6, body.bytes())}};
  for (int i = 0; i < values; ++i) {
    outer.inputs.push_back("start");
    if (i > 0) outer.outputs.push_back("y" + std::to_string(i));
  }
  const auto three = onnx_bytes::tensor(
      "three", 7, {}, onnx_bytes::raw_data(onnx_bytes::raw(std::vector<std::int64_t>{3})));
  const auto fields = from_x({outer}, {three, small_models::zeros("start", {1})});
  CHECK(fields.bytes().size() < 12'000);
  const auto message = refusal(fields);
  CHECK_MESSAGE(
      message.find(
          "Loop node that produces 'o2_0': type inference of its loops did not finish within 2") !=
          std::string::npos,
      message);
}

TEST_CASE("hostile import: contradictions are errors") {
  CHECK(refusal(from_x({{"Relu", {"x"}, {"y"}}, {"Relu", {"x"}, {"y"}}})).find("'y'") !=
        std::string::npos);
  CHECK(refusal(from_x({{"Relu", {"z"}, {"y"}}})).find("'z' is used before it is produced") !=
        std::string::npos);
  CHECK(refusal(from_x({{"Add", {"x", "w"}, {"y"}}}, {small_models::zeros("w", {3})}))
            .find("Add node that produces 'y'") != std::string::npos);
  CHECK(refusal(from_x({{"Add", {"x", "w"}, {"y"}}},
                       {onnx_bytes::tensor("w", 1, {2}, onnx_bytes::raw_data("12345"))}))
            .find("'w'") != std::string::npos);
  auto fields = from_x({{"Relu", {"x"}, {"y"}}});
  fields.graph.outputs = {onnx_bytes::value("y"), onnx_bytes::value("y")};
  CHECK(refusal(fields).empty());
  fields = from_x({{"Relu", {"x"}, {"y"}}});
  fields.graph.inputs = {onnx_bytes::value(
      "x", onnx_bytes::tensor_type(1, {{std::int64_t{1} << 40}, {std::int64_t{1} << 40}}))};
  CHECK(refusal(fields).find("'x'") != std::string::npos);
}

TEST_CASE("import names: names that a graph does not allow are changed and reported") {
  OnnxHost on;
  onnx_bytes::ModelFields fields;
  fields.graph.nodes = {{"Relu", {"in:0"}, {"a/b:0"}, {}, "layer:1\n"},
                        {"Add", {"a/b:0", "k:0"}, {"out:0"}}};
  fields.graph.inputs = {onnx_bytes::value("in:0")};
  fields.graph.outputs = {onnx_bytes::value("out:0"), onnx_bytes::value("a/b:0")};
  fields.graph.initializers = {small_models::zeros("k:0", {2})};
  std::ofstream(on.folder / "names.onnx", std::ios::binary) << fields.bytes();
  std::vector<std::string> notes;
  tenon::onnx::ImportOptions options;
  options.note = [&](const std::string& text) { notes.push_back(text); };
  const auto graph = tenon::onnx::load(on.host, on.folder / "names.onnx", options);
  CHECK(graph.inputs()[0].name == "in_0");
  CHECK(graph.outputs()[0].name == "out_0");
  CHECK(graph.variables()[0].name == "k_0");
  CHECK(graph.nodes()[0].name == "layer_1_");
  CHECK(notes.size() == 3);
}

TEST_CASE("import names: allowed names stay, and changed ones can be used by their original name") {
  OnnxHost on;
  onnx_bytes::ModelFields fields;
  // nodes and the first use of a weight precede the names that they would otherwise take
  fields.graph.nodes = {
      {"Mul", {"x:0", "w:0"}, {"a"}, {}, "w_0"},
      {"Sub", {"a", "x_0"}, {"b"}},
      {"Add", {"b", "w_0"}, {"y:0"}},
      {"Neg", {"y:0"}, {"y_0"}},
      {"ReduceSum", {"y:0"}, {"loss:0"}, {onnx_bytes::int_attribute("keepdims", 0)}}};
  const auto vector = onnx_bytes::tensor_type(1, {{-1, "n"}, {2}});
  fields.graph.inputs = {onnx_bytes::value("x:0", vector), onnx_bytes::value("x_0", vector),
                         onnx_bytes::value("z:0", vector), onnx_bytes::value("z_0_1", vector)};
  fields.graph.outputs = {onnx_bytes::value("y:0"), onnx_bytes::value("y_0"),
                          onnx_bytes::value("loss:0")};
  const auto weight = [](const char* name, float value) {
    return onnx_bytes::tensor(
        name, 1, {2}, onnx_bytes::raw_data(onnx_bytes::raw(std::vector<float>{value, value})));
  };
  fields.graph.initializers = {weight("w:0", 10), weight("w_0", 100)};
  std::ofstream(on.folder / "names.onnx", std::ios::binary) << fields.bytes();
  auto loaded = tenon::onnx::load(on.host, on.folder / "names.onnx");
  loaded.save(on.folder / "names.tenon");
  const auto x = tenon::Tensor::from({1.0F, 2.0F}, {1, 2}),
             other = tenon::Tensor::from({3.0F, 5.0F}, {1, 2});
  for (const auto& graph : {loaded, tenon::Graph::load(on.host, on.folder / "names.tenon"),
                            tenon::Graph::from_json(on.host, loaded.to_json())}) {
    std::vector<std::string> names;
    for (const auto& value : graph.inputs()) names.push_back(value.name);
    for (const auto& value : graph.outputs()) names.push_back(value.name);
    CHECK(names ==
          std::vector<std::string>{"x_0_1", "x_0", "z_0", "z_0_1", "y_0_1", "y_0", "loss_0"});
    const std::map<std::string, tenon::Tensor> data{
        {"x:0", x}, {"x_0", other}, {"z:0", x}, {"z_0_1", other}};
    const auto first = [](const tenon::Tensor& tensor) { return tensor.values<float>()[0]; };
    tenon::Session session(graph);
    const auto made = session.run(data, {.outputs = {"y:0", "y_0"}});
    CHECK(first(made.at("y:0")) == 107);
    CHECK(first(made.at("y_0")) == -107);
    std::vector<std::string> ready;
    const tenon::RunOptions request{
        .outputs = {"y:0", "y_0"},
        .destinations = {{"y:0", {tenon::Tensor::zeros(tenon::f32, {1, 2})}},
                         {"y_0", {tenon::Tensor::zeros(tenon::f32, {1, 2})}}},
        .on_output_ready = [&](const std::string& name) { ready.push_back(name); }};
    CHECK(first(session.run(data, request).at("y:0")) == 107);
    CHECK(ready == std::vector<std::string>{"y:0", "y_0"});
    CHECK(session.first_non_finite(data).empty());
    CHECK(first(session.tensor("w:0")) == 10);
    CHECK(first(session.tensor("w_0")) == 100);
    CHECK(first(graph.tensor("w:0")) == 10);
    CHECK(session.plan({{"x:0", {3, 2}}, {"x_0", {3, 2}}, {"z:0", {3, 2}}, {"z_0_1", {3, 2}}})
              .steps.size() > 0);
    tenon::EvaluatorOptions measured;
    measured.loss = "loss:0";
    CHECK(*tenon::Evaluator(graph, measured).evaluate(data).loss == doctest::Approx(222));
    tenon::TrainerOptions options;
    options.loss = "loss:0";
    tenon::Trainer trainer(graph, data, options);
    CHECK(trainer.step().metrics.loss == doctest::Approx(222));
    CHECK(trainer.step(data).metrics.loss < 222);
    CHECK(trainer.evaluate(data).loss < 222);
  }
}

}  // namespace hostile_import_tests
