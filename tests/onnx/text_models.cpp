// Models of ai.onnx.ml with texts. Expected names were recorded from onnxruntime 1.32.
#include <doctest/doctest.h>

#include <fstream>
#include <tenon/host/categories.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "imported.hpp"

namespace {

using namespace onnx_bytes;
using Names = std::vector<std::string>;
using Indices = std::vector<std::int64_t>;

constexpr const char* ml = "ai.onnx.ml";

std::string strings(const std::string& name, const Dims& dims, const Texts& values) {
  return tensor(name, 8, dims, message([&](auto& to) {
                  for (const auto& value : values) to.add_bytes(6, value);
                }));
}

/// Models from inputs c and d, text [?, 1], or x, float32 [?, 2].
struct TextHost : imported::OnnxHost {
  tenon::Graph load(const std::vector<NodeFields>& nodes, const Texts& inputs, const Texts& outputs,
                    const Texts& initializers = {}) {
    ModelFields model;
    model.graph.nodes = nodes;
    for (const auto& name : inputs)
      model.graph.inputs.push_back(
          value(name, name == "x" ? tensor_type(1, {{-1}, {2}}) : tensor_type(8, {{-1}, {1}})));
    for (const auto& name : outputs) model.graph.outputs.push_back(value(name));
    model.graph.initializers = initializers;
    model.opsets = {{"", 17}, {ml, version}};
    const auto path = folder / "text.onnx";
    std::ofstream(path, std::ios::binary) << model.bytes();
    return tenon::onnx::load(host, path);
  }
  /// The names, or the numbers, that the model's output y has for these texts of c.
  Names names(const tenon::Graph& graph, const Names& c) {
    const auto y = run(graph, c);
    const tenon::Categories categories(graph.outputs()[0].categories);
    const auto found = categories.names_of(y, "y");
    return {found.begin(), found.end()};
  }
  template <class T>
  std::vector<T> numbers(const tenon::Graph& graph, const Names& c) {
    const auto y = run(graph, c);
    CHECK(graph.outputs()[0].categories.empty());
    return {y.values<T>().begin(), y.values<T>().end()};
  }
  tenon::Tensor run(const tenon::Graph& graph, const Names& c) {
    const tenon::Categories categories(graph.inputs()[0].categories);
    const tenon::Shape shape{static_cast<std::int64_t>(c.size()), 1};
    return tenon::Session(graph).run({{"c", categories.indices_of(c, shape)}}).at("y");
  }
  std::string refusal(const std::vector<NodeFields>& nodes, const Texts& inputs = {"c"}) {
    return failure_of([&] { load(nodes, inputs, {"y"}); }).message;
  }
  std::int64_t version = 3;
};

NodeFields node(const std::string& type, const Texts& inputs, const Texts& attributes,
                const Texts& outputs = {"y"}, const std::string& domain = ml) {
  return {type, inputs, outputs, attributes, "", domain};
}

}  // namespace

TEST_CASE("texts: labels of classifiers become categories") {
  TextHost on;
  const auto x = tenon::Tensor::from({1.0F, 2.0F, 3.0F, 0.0F}, {2, 2});
  const auto labels = [&](const Texts& names) {
    const auto graph = on.load(
        {node("LinearClassifier", {"x"},
              {float_list("coefficients", {1, 0, 0, 1, -1, -1}),
               float_list("intercepts", {0, 0, 0}), text_list("classlabels_strings", names)},
              {"y", "scores"})},
        {"x"}, {"y", "scores"});
    CHECK(graph.outputs()[1].categories.empty());
    const tenon::Categories categories(graph.outputs()[0].categories);
    const auto y = tenon::Session(graph).run({{"x", x}}).at("y");
    const auto found = categories.names_of(y, "y");
    return Names(found.begin(), found.end());
  };
  CHECK(labels({"setosa", "\u00fc", ""}) == Names{"\u00fc", "setosa"});
  CHECK(labels({"a", "b", "a"}) == Names{"b", "a"});
  CHECK(labels({"b", "b", "a"}) == Names{"b", "b"});
}

TEST_CASE("texts: a one-hot encoder's input knows its categories") {
  TextHost on;
  const auto graph = on.load(
      {node("OneHotEncoder", {"c"}, {text_list("cats_strings", {"red", "green"})})}, {"c"}, {"y"});
  CHECK(graph.inputs()[0].categories == Names{"red", "green"});
  CHECK(on.numbers<float>(graph, {"green", "pink", "red"}) == std::vector<float>{0, 1, 0, 0, 1, 0});
  const auto strict =
      on.load({node("OneHotEncoder", {"c"},
                    {text_list("cats_strings", {"red"}), int_attribute("zeros", 0)})},
              {"c"}, {"y"});
  CHECK(on.numbers<float>(strict, {"red"}) == std::vector<float>{1});
  CHECK(failure_of([&] { on.run(strict, {"pink"}); }).kind == 1);
}

TEST_CASE("texts: label encoders between texts and numbers") {
  TextHost on;
  const auto to_numbers = on.load(
      {node("LabelEncoder", {"c"},
            {text_list("keys_strings", {"b", "a", "b"}), ints_attribute("values_int64s", {5, 6, 7}),
             int_attribute("default_int64", -3)})},
      {"c"}, {"y"});
  CHECK(on.numbers<std::int64_t>(to_numbers, {"a", "b", "?"}) == Indices{6, 5, -3});
  const auto to_texts = on.load(
      {node("LabelEncoder", {"c"},
            {text_list("keys_strings", {"a", "b"}), text_list("values_strings", {"one", "two"})})},
      {"c"}, {"y"});
  CHECK(to_texts.inputs()[0].categories == Names{"a", "b"});
  CHECK(to_texts.outputs()[0].categories == Names{"one", "two", "_Unused"});
  CHECK(on.names(to_texts, {"b", "?", "a"}) == Names{"two", "_Unused", "one"});
  on.version = 4;
  const auto by_tensor = on.load({node("LabelEncoder", {"c"},
                                       {attribute("keys_tensor", 4, message([&](auto& to) {
                                                    to.add_message(5, strings("", {2}, {"a", "b"}));
                                                  })),
                                        attribute("values_tensor", 4, message([&](auto& to) {
                                                    to.add_message(5, strings("", {2}, {"b", "a"}));
                                                  })),
                                        attribute("default_tensor", 4, message([&](auto& to) {
                                                    to.add_message(5, strings("", {1}, {"a"}));
                                                  }))})},
                                 {"c"}, {"y"});
  CHECK(on.names(by_tensor, {"b", "?", "a"}) == Names{"a", "a", "b"});
  on.version = 1;
  const auto by_position = on.load(
      {node("LabelEncoder", {"c"}, {text_list("classes_strings", {"a", "b", "a"})})}, {"c"}, {"y"});
  CHECK(on.numbers<std::int64_t>(by_position, {"b", "a", "?"}) == Indices{1, 2, -1});
}

TEST_CASE("texts: a category mapper, in both directions") {
  TextHost on;
  const Texts mapped{text_list("cats_strings", {"a", "b", "c"}),
                     ints_attribute("cats_int64s", {7, 8, 9}),
                     text_attribute("default_string", "none"), int_attribute("default_int64", -5)};
  const auto there_and_back =
      on.load({node("CategoryMapper", {"c"}, mapped, {"n"}), node("CategoryMapper", {"n"}, mapped)},
              {"c"}, {"y"});
  CHECK(on.names(there_and_back, {"c", "?", "a"}) == Names{"c", "none", "a"});
}

TEST_CASE("texts: nodes move them, and joined texts share their names") {
  TextHost on;
  const auto graph = on.load(
      {node("Concat", {"c", "d"}, {int_attribute("axis", 1)}, {"both"}, ""),
       node("Cast", {"both"}, {int_attribute("to", 8)}, {"same"}, ""),
       node("ArrayFeatureExtractor", {"same", "zero"}, {}, {"left"}),
       node("ArrayFeatureExtractor", {"same", "one"}, {}, {"right"}),
       node("LabelEncoder", {"left"},
            {text_list("keys_strings", {"a"}), ints_attribute("values_int64s", {10})}, {"l"}),
       node("LabelEncoder", {"right"},
            {text_list("keys_strings", {"b"}), ints_attribute("values_int64s", {20})}, {"r"}),
       node("Concat", {"l", "r"}, {int_attribute("axis", 1)}, {"y"}, "")},
      {"c", "d"}, {"y"}, {int64_tensor("zero", {1}, {0}), int64_tensor("one", {1}, {1})});
  CHECK(graph.inputs()[0].categories == Names{"a", "b"});
  CHECK(graph.inputs()[1].categories == Names{"a", "b"});
  const tenon::Categories names({"a", "b"});
  const auto y = tenon::Session(graph)
                     .run({{"c", names.indices_of(Names{"a", "b"}, {2, 1})},
                           {"d", names.indices_of(Names{"b", "a"}, {2, 1})}})
                     .at("y");
  const auto all = y.values<std::int64_t>();
  CHECK(Indices(all.begin(), all.end()) == Indices{10, 20, -1, -1});
}

TEST_CASE("texts: an initializer of strings, chosen by index") {
  TextHost on;
  const auto graph = on.load(
      {node("ArgMax", {"x"}, {int_attribute("axis", 1), int_attribute("keepdims", 0)}, {"best"},
            ""),
       node("ArrayFeatureExtractor", {"classes", "best"}, {}, {"row"}),
       node("Reshape", {"row", "flat"}, {}, {"y"}, "")},
      {"x"}, {"y"}, {strings("classes", {2}, {"no", "yes"}), int64_tensor("flat", {1}, {-1})});
  const auto y = tenon::Session(graph)
                     .run({{"x", tenon::Tensor::from({1.0F, 2.0F, 3.0F, 0.0F}, {2, 2})}})
                     .at("y");
  const tenon::Categories names(graph.outputs()[0].categories);
  CHECK(names.names_of(y, "y") == std::vector<std::string_view>{"yes", "no"});
}

TEST_CASE("texts: kept by .tenon files of imported models") {
  TextHost on;
  auto graph = on.load(
      {node("OneHotEncoder", {"c"}, {text_list("cats_strings", {"red", "green"})})}, {"c"}, {"y"});
  graph.save(on.folder / "text.tenon");
  const auto loaded = tenon::Graph::load(on.host, on.folder / "text.tenon");
  CHECK(loaded.inputs()[0].categories == Names{"red", "green"});
}

TEST_CASE("texts: what is refused") {
  TextHost on;
  const auto one_hot = node("OneHotEncoder", {"c"}, {text_list("cats_strings", {"a"})});
  check_says(on.refusal({node("Relu", {"c"}, {}, {"y"}, "")}),
             {"its input 0, 'c', is text, which it cannot take"});
  check_says(on.refusal({node("Identity", {"c"}, {}, {"y"}, "")}),
             {"input 'c' is text, but no node looks it up"});
  check_says(on.refusal({node("Cast", {"c"}, {int_attribute("to", 1)}, {"y"}, "")}),
             {"its input is text, which has no numbers"});
  check_says(on.refusal({node("OneHotEncoder", {"x"}, {text_list("cats_strings", {"a"})})}, {"x"}),
             {"its categories are texts, but its input is float32"});
  check_says(on.refusal({node("OneHotEncoder", {"c"}, {ints_attribute("cats_int64s", {1})})}),
             {"its categories are numbers, but its input is text"});
  check_says(on.refusal({node("OneHotEncoder", {"c"}, {text_list("cats_strings", {"a\xff"})})}),
             {"'a\\xff' of 'c' is not UTF-8"});
  check_says(
      on.refusal({node("LabelEncoder", {"c"},
                       {ints_attribute("keys_int64s", {1}), text_list("values_strings", {"a"})})}),
      {"its keys are numbers, but its input is text"});
  check_says(on.refusal({node(
                 "LabelEncoder", {"c"},
                 {text_list("keys_strings", {"a", "b"}), text_list("values_strings", {"a"})})}),
             {"it has 2 keys and 1 values"});
  check_says(on.refusal({node("TfIdfVectorizer", {"c"}, {}, {"y"}, "")}), {"TfIdfVectorizer"});
  check_says(on.refusal({node("LinearClassifier", {"x"},
                              {float_list("coefficients", {1, 1}), float_list("intercepts", {0}),
                               text_list("classlabels_strings", {"a"})})},
                        {"x"}),
             {"it has a single class label"});
  CHECK(on.refusal({one_hot}).empty());
}
