// Export of nodes whose semantics differ between ONNX and Tenon. compare_exports.py checks that
// other programs compute the same.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <tenon/compose.hpp>
#include <tenon/host/udf.hpp>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "exported.hpp"
#include "standard.hpp"

namespace export_form_tests {
namespace {

using exported::check_same;
using exported::ExportHost;
using exported::Inputs;
using tenon::DType;
using tenon::Shape;
using tenon::Tensor;
using Texts = std::vector<std::string>;
using NamedValues = std::vector<std::pair<std::string, tenon::Value>>;

constexpr std::int64_t opsets[] = {13, 17, 18, 21, 23, 24};
constexpr float infinity = std::numeric_limits<float>::infinity();

/// An elementwise operator that its author maps to my.domain::Scaled with the inputs reversed.
struct Scaled : tenon::Elementwise {
  double factor = 2;
  static constexpr void describe(auto& op) {
    op.doc("factor * x - y");
    op.input("x", "any numbers");
    op.input("y", "any numbers");
    op.output("z", "the inputs' shapes broadcast together");
    op.param("factor", &Scaled::factor, "a number");
    op.onnx("my.domain", "Scaled").since(2).inputs("y", "x").attribute("by", "factor");
  }
  template <class T>
  T operator()(T x, T y) const {
    return T(factor) * x - y;
  }
};

/// Its parameter is an input in ONNX.
struct Raised : tenon::Operator {
  double by = 1;
  static constexpr void describe(auto& op) {
    op.doc("x + by");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.param("by", &Raised::by, "a number");
    op.onnx("my.domain", "Raised").inputs("x").input_as("by", 0);
  }
  void forward(tenon::Compose& c) const {
    c.set_output("y", c.add("quadratic", {c.input("x")}, {{"b", 1.0}, {"c", by}}));
  }
};

/// Its function cannot be traced.
struct Sealed : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x + 1");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("my.domain", "Sealed");
  }
  template <class T>
  T operator()(T x) const noexcept {
    return x + T(1);
  }
};

/// A graph of one node.
tenon::Graph graph_of(tenon::Host& host, const std::string& op,
                      const std::vector<std::pair<DType, Shape>>& inputs,
                      const tenon::Attributes& attributes, std::size_t outputs = 1) {
  tenon::Graph graph(host);
  std::vector<tenon::Value> values;
  for (const auto& [dtype, shape] : inputs)
    values.push_back(graph.input("x" + std::to_string(values.size()), dtype, shape));
  const auto node = graph.add(op, values, attributes, "node");
  for (std::uint32_t i = 0; i < outputs; ++i) graph.output("y" + std::to_string(i), node.output(i));
  graph.initialize(1);
  return graph;
}

Texts written_types(ExportHost& on, const tenon::Graph& graph, std::int64_t opset) {
  on.save(graph, {.opset = opset});
  CHECK(standard::faults_of(on.path) == Texts());
  return on.types();
}

Tensor floats(const std::vector<float>& numbers) {
  return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

}  // namespace

TEST_CASE("exported cast: floats are clamped to the integer range, and nan becomes 0") {
  ExportHost on;
  struct Case {
    DType from, to;
    Texts types;
  };
  const Case cases[] = {
      {tenon::f32, tenon::u8, {"IsNaN", "Where", "Clip", "Cast"}},
      {tenon::f64, tenon::i32, {"IsNaN", "Where", "Clip", "Cast"}},
      {tenon::f16, tenon::u16, {"Cast", "IsNaN", "Where", "Clip", "Cast"}},
      {tenon::f32, tenon::u32, {"Cast", "IsNaN", "Where", "Clip", "Cast"}},
      {tenon::f64, tenon::i64, {"IsNaN", "Where", "Clip", "GreaterOrEqual", "Cast", "Where"}},
      {tenon::f64,
       tenon::u64,
       {"IsNaN", "Where", "Clip", "GreaterOrEqual", "Cast", "Cast", "Where", "Cast"}},
      {tenon::f32, tenon::boolean, {"Cast"}},
      {tenon::f64, tenon::f16, {"Cast"}},
      {tenon::i32, tenon::u8, {"Cast"}}};  // wraps around, as in ONNX
  for (const auto& one : cases) {
    CAPTURE(tenon::name_of(one.from));
    CAPTURE(tenon::name_of(one.to));
    const auto graph = graph_of(on.host, "cast", {{one.from, {12}}},
                                {{"dtype", std::string(tenon::name_of(one.to))}});
    CHECK(written_types(on, graph, 13) == one.types);
    const auto numbers =
        floats({0, -1.5F, 2.7F, 255, 256, -300, 70000, 3e9F, -3e38F, infinity, -infinity, NAN});
    check_same(on.import(on.host), graph,
               {{"x0", on.host.call("cast", {numbers},
                                    {{"dtype", std::string(tenon::name_of(one.from))}})}});
  }
}

TEST_CASE("exported cast: the limits are the smallest and largest integers") {
  ExportHost on;
  on.save(graph_of(on.host, "cast", {{tenon::f32, {2}}}, {{"dtype", "int8"}}));
  const auto model = tenon::onnx::read_model(on.path);
  std::set<float> limits;
  for (const auto& tensor : model.graph.initializers) {
    float number = 1;
    REQUIRE(tensor.bytes.size() == sizeof number);
    std::memcpy(&number, tensor.bytes.data(), sizeof number);
    limits.insert(number);
  }
  CHECK(limits == std::set<float>{-128, 0, 127});
}

TEST_CASE("exported clip: has both bounds, even infinite ones") {
  ExportHost on;
  for (const auto& [low, high] : {std::pair<double, double>{-infinity, infinity},
                                  {-1, infinity},
                                  {-infinity, 1},
                                  {-1e300, 1e300}}) {
    const auto graph =
        graph_of(on.host, "clip", {{tenon::f32, {5}}}, {{"low", low}, {"high", high}});
    CHECK(written_types(on, graph, 17) == Texts{"Clip"});
    CHECK(tenon::onnx::read_model(on.path).graph.nodes[0].inputs.size() == 3);
    CHECK(tenon::onnx::read_model(on.path).graph.initializers.size() == 2);
    check_same(on.import(on.host), graph, {{"x0", floats({NAN, infinity, -infinity, 3e38F, -5})}});
  }
  const auto whole =
      graph_of(on.host, "clip", {{tenon::i8, {3}}}, {{"low", -infinity}, {"high", 2.9}});
  CHECK(written_types(on, whole, 13) == Texts{"Clip"});
  check_same(on.import(on.host), whole,
             {{"x0", Tensor::from({std::int8_t{-128}, std::int8_t{3}, std::int8_t{0}}, {3})}});
}

TEST_CASE(
    "exported nodes: an input that ONNX requires is written even if the parameter has its "
    "default") {
  ExportHost on;
  const std::tuple<const char*, tenon::Attributes, std::size_t> cases[] = {
      {"cumsum", {{"axis", 0}}, 2}, {"cumsum", {{"axis", 1}}, 2}, {"slice", {}, 3}};
  for (const auto& [op, attributes, inputs] : cases) {
    const std::string tried = op;
    CAPTURE(tried);
    const auto graph = graph_of(on.host, op, {{tenon::f32, {2, 3}}}, attributes);
    for (const auto opset : opsets) {
      written_types(on, graph, opset);
      CHECK(tenon::onnx::read_model(on.path).graph.nodes[0].inputs.size() == inputs);
    }
    check_same(on.import(on.host), graph, exported::random_inputs(graph));
  }
}

TEST_CASE("exported split: sizes or num_outputs, and uneven segments in every opset") {
  ExportHost on;
  const auto unknown = tenon::unknown;
  struct Case {
    std::int64_t size, sections;
    std::vector<std::int64_t> sizes;
    bool uneven;
    std::size_t inputs_before_18, inputs_since;
  };
  const Case cases[] = {{4, 2, {}, false, 1, 1},      {4, 2, {1, 3}, false, 2, 2},
                        {4, 2, {4, 0}, true, 2, 2},   {4, 2, {}, true, 1, 1},
                        {7, 3, {}, true, 2, 2},       {4, 3, {}, true, 2, 2},
                        {unknown, 3, {}, true, 2, 1}, {unknown, 2, {}, false, 1, 1}};
  for (const auto& one : cases) {
    CAPTURE(one.size);
    CAPTURE(one.sections);
    tenon::Attributes attributes{{"axis", -1}, {"sections", one.sections}, {"uneven", one.uneven}};
    attributes.set("sizes", one.sizes);
    const auto graph = graph_of(on.host, "split", {{tenon::f32, {2, one.size}}}, attributes,
                                static_cast<std::size_t>(one.sections));
    for (const auto opset : opsets) {
      CAPTURE(opset);
      CHECK(written_types(on, graph, opset).back() == "Split");
      const auto model = tenon::onnx::read_model(on.path);
      const auto& node = model.graph.nodes[model.graph.nodes.size() - 1];
      CHECK(node.inputs.size() == (opset < 18 ? one.inputs_before_18 : one.inputs_since));
      const bool counts =
          std::any_of(node.attributes.begin(), node.attributes.end(),
                      [](const auto& attribute) { return attribute.name == "num_outputs"; });
      CHECK(counts == (opset >= 18 && node.inputs.size() == 1));
      for (const std::int64_t size : {4, 7, 2, 12})
        if (size == one.size ||
            (one.size == unknown && size % (one.uneven ? 1 : one.sections) == 0))
          check_same(on.import(on.host), graph,
                     {{"x0", tenon::random_uniform(tenon::f32, {2, size}, 3)}});
    }
  }
  CHECK(on.notes.empty());
}

TEST_CASE(
    "exported quantize and dequantize: all dtypes in every opset, as formulas if ONNX's operators "
    "lack them") {
  ExportHost on;
  using tenon::f16, tenon::bf16, tenon::f32, tenon::i32;
  const Shape x{2, 3}, several{3};
  for (const auto opset : opsets)
    for (const auto scale : {f32, f16, bf16})
      for (const auto whole : {tenon::u8, tenon::i8, tenon::u16, tenon::i16}) {
        CAPTURE(opset);
        CAPTURE(tenon::name_of(scale));
        CAPTURE(tenon::name_of(whole));
        const auto numbers = floats({-1e9F, -300, -1.5F, 0, 2.5F, 70000}).reshape(x);
        const auto scales = on.host.call("cast", {floats({0.5F, 1, 0.25F})},
                                         {{"dtype", std::string(tenon::name_of(scale))}});
        const auto zeros = on.host.call("cast", {floats({1, 0, 2})},
                                        {{"dtype", std::string(tenon::name_of(whole))}});
        for (const auto from : {f32, f16, bf16, i32}) {
          const auto graph =
              graph_of(on.host, "quantize", {{from, x}, {scale, several}, {whole, several}}, {});
          const auto types = written_types(on, graph, opset);
          if (from == f32 && scale == f32)
            CHECK((types[0] == "QuantizeLinear") ==
                  (opset >= 21 || whole == tenon::u8 || whole == tenon::i8));
          const auto given =
              on.host.call("cast", {numbers}, {{"dtype", std::string(tenon::name_of(from))}});
          check_same(on.import(on.host), graph, {{"x0", given}, {"x1", scales}, {"x2", zeros}});
        }
        const auto back =
            graph_of(on.host, "dequantize", {{whole, x}, {scale, several}, {whole, several}}, {});
        written_types(on, back, opset);
        const auto integers =
            on.host.call("cast", {numbers}, {{"dtype", std::string(tenon::name_of(whole))}});
        check_same(on.import(on.host), back, {{"x0", integers}, {"x1", scales}, {"x2", zeros}});
      }
  CHECK(on.notes.empty());
}

TEST_CASE("an author's form: comes with a function body, or a note") {
  ExportHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {3}), y = graph.input("y", tenon::f32, {2, 1});
  Scaled thrice;
  thrice.factor = 3;
  Raised raised;
  raised.by = 0.5;
  const auto a = graph.udf(Scaled(), {x, y}, "a"), b = graph.udf(thrice, {x, y}, "b");
  graph.output("z", graph.udf(raised, {graph.add("add", {a, b})}, "c"));
  on.save(graph);
  CHECK(on.notes.empty());
  CHECK(on.types() == Texts{"Scaled", "Scaled_1", "Add", "Raised"});
  const auto model = tenon::onnx::read_model(on.path);
  CHECK(model.opset("my.domain") == 2);
  REQUIRE(model.functions.size() == 3);
  const char* const inputs[] = {"y x", "y x", "parameter x"};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& function = model.functions[i];
    CHECK(function.domain == "my.domain");
    CHECK(fmt::to_string(fmt::join(function.inputs.begin(), function.inputs.end(), " ")) ==
          inputs[i]);
  }
  ExportHost without;
  check_same(on.import(without.host), graph, exported::random_inputs(graph));
}

TEST_CASE("an author's form: an operator that cannot be traced is noted") {
  ExportHost on;
  tenon::Graph graph(on.host);
  graph.output("y", graph.udf(Sealed(), {graph.input("x", tenon::f32, {3})}, "a"));
  on.save(graph);
  REQUIRE(on.notes.size() == 1);
  check_says(on.notes[0],
             {"node 'a' is written as my.domain::Sealed", "no function body, because"});
}

TEST_CASE("exported windows: same padding and dropped windows become explicit pads") {
  ExportHost on;
  struct Case {
    const char* op;
    tenon::Attributes attributes;
    Shape weight{};
  };
  using Ints = std::vector<std::int64_t>;
  const auto same = [](const char* mode, const Ints& kernel, std::int64_t stride,
                       std::int64_t dilate) {
    return tenon::Attributes{
        {"kernel", kernel}, {"stride", Ints{stride}}, {"dilate", Ints{dilate}}, {"pad_mode", mode}};
  };
  const auto layer = [&](const char* mode, const Ints& kernel, std::int64_t stride,
                         std::int64_t dilate) {
    auto all = same(mode, kernel, stride, dilate);
    all.set("num_filter", 2), all.set("no_bias", true);
    return all;
  };
  const Case cases[] = {
      {"max_pool", {{"kernel", Ints{2, 2}}, {"dilate", Ints{2, 1}}, {"pad_mode", "same_upper"}}},
      {"max_pool",
       {{"kernel", Ints{2, 2}},
        {"dilate", Ints{2, 1}},
        {"pad_mode", "same_lower"},
        {"ceil_mode", true}}},
      {"max_pool",
       {{"kernel", Ints{2, 2}},
        {"stride", Ints{2, 2}},
        {"pad_end", Ints{0, 1}},
        {"pad", Ints{0, 0}},
        {"ceil_mode", true}}},
      {"max_pool", {{"kernel", Ints{1, 1}}, {"stride", Ints{3, 3}}, {"ceil_mode", true}}},
      {"max_pool", {{"kernel", Ints{3, 3}}, {"stride", Ints{2, 2}}, {"ceil_mode", true}}},
      {"avg_pool",
       {{"kernel", Ints{2, 2}},
        {"stride", Ints{2, 2}},
        {"pad_end", Ints{1, 1}},
        {"pad", Ints{0, 0}},
        {"ceil_mode", true}}},
      {"avg_pool",
       {{"kernel", Ints{3, 2}},
        {"stride", Ints{2, 2}},
        {"ceil_mode", true},
        {"count_include_pad", true}}},
      {"max_pool", same("same_upper", {1, 1}, 2, 1)},
      {"max_pool", same("same_lower", {3, 3}, 2, 1)},
      {"avg_pool", same("same_upper", {2, 2}, 3, 1)},
      {"convolution", layer("same_upper", {3, 3}, 1, 2), {2, 2, 3, 3}},
      {"convolution", layer("same_lower", {2, 3}, 2, 1), {2, 2, 2, 3}},
      {"convolution", layer("same_lower", {1, 2}, 3, 1), {2, 2, 1, 2}},
      {"conv_transpose", layer("same_upper", {2, 2}, 3, 1), {2, 2, 2, 2}},
      {"conv_transpose", layer("same_lower", {3, 1}, 2, 1), {2, 2, 3, 1}}};
  for (const auto& one : cases)
    for (const Shape& shape : {Shape{1, 2, 5, 4}, Shape{1, 2, 6, 7}}) {
      std::vector<std::pair<DType, Shape>> inputs{{tenon::f32, shape}};
      if (one.weight.has_rank()) inputs.emplace_back(tenon::f32, one.weight);
      const auto graph = graph_of(on.host, one.op, inputs, one.attributes);
      for (const auto opset : opsets) {
        written_types(on, graph, opset);
        const auto model = tenon::onnx::read_model(on.path);
        for (const auto& attribute : model.graph.nodes[0].attributes)
          CHECK(attribute.name != "auto_pad");
        check_same(on.import(on.host), graph, exported::random_inputs(graph));
      }
    }
}

TEST_CASE("exported windows: same padding for unknown sizes is noted if programs differ") {
  ExportHost on;
  using Ints = std::vector<std::int64_t>;
  const auto notes = [&](const char* mode, std::int64_t kernel, std::int64_t stride,
                         std::int64_t dilate) {
    const auto graph = graph_of(on.host, "max_pool", {{tenon::f32, {1, 2, -1, 5}}},
                                {{"kernel", Ints{kernel, kernel}},
                                 {"stride", Ints{stride, stride}},
                                 {"dilate", Ints{dilate, dilate}},
                                 {"pad_mode", mode}});
    on.notes.clear();
    on.save(graph);
    return on.notes;
  };
  CHECK(notes("same_upper", 3, 2, 1) == Texts());
  CHECK(notes("same_lower", 3, 1, 2) == Texts());  // explicit pads
  const Texts noted{
      "node 'node' has an auto_pad that some programs reject or compute differently, because the "
      "sizes of its data are unknown"};
  CHECK(notes("same_upper", 3, 2, 2) == noted);
  CHECK(notes("same_upper", 1, 2, 1) == noted);
  CHECK(notes("same_lower", 3, 2, 1) == noted);
}

TEST_CASE("exported prelu: a slope that enlarges the result becomes a formula") {
  ExportHost on;
  const auto one_way =
      graph_of(on.host, "prelu", {{tenon::f32, {2, 3, 4}}, {tenon::f32, {3, 1}}}, {});
  CHECK(written_types(on, one_way, 17) == Texts{"PRelu"});
  for (const auto dtype : {tenon::f32, tenon::bf16, tenon::i32}) {
    const auto both = graph_of(on.host, "prelu", {{dtype, {3}}, {dtype, {2, 1}}}, {});
    const Inputs inputs{{"x0", on.host.call("cast", {floats({-2, 0, 3})},
                                            {{"dtype", std::string(tenon::name_of(dtype))}})},
                        {"x1", on.host.call("cast", {floats({5, -7}).reshape({2, 1})},
                                            {{"dtype", std::string(tenon::name_of(dtype))}})}};
    const auto types = written_types(on, both, 13);
    CHECK(std::find(types.begin(), types.end(), "PRelu") == types.end());
    check_same(on.import(on.host), both, inputs);
  }
}

TEST_CASE("export: a value without elements because of its unknown shape is an error") {
  ExportHost on;
  tenon::Graph graph(on.host);
  graph.output("y", graph.add("batch_norm", {graph.input("x", tenon::f32, {-1, -1})}, {}, "norm"));
  const auto failure = failure_of([&] { on.save(graph); });
  CHECK(failure.message.find("has no elements, because its shape is unknown") != std::string::npos);
  CHECK(failure.hint == "set the sizes of the graph inputs that determine it");
}

}  // namespace export_form_tests
