// Models of ai.onnx.ml. Expected numbers and names were recorded from onnxruntime 1.32.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <tenon/host/categories.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>

#include "../built.hpp"
#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "imported.hpp"
#include "onnx_bytes.hpp"

namespace {

using namespace onnx_bytes;

std::string tensors(const std::string& name, const std::string& tensor) {
  return attribute(name, 4, message([&](auto& to) { to.add_message(5, tensor); }));
}

/// Runs one node from x, float32 [rows, columns].
struct MlHost {
  MlHost() : host(options()) { host.add_plugins(built("plugins")); }
  static tenon::HostOptions options() {
    tenon::HostOptions options;
    options.search_defaults = false;
    return options;
  }
  tenon::Graph load(const std::string& type, const Texts& attributes, const Texts& outputs) {
    return load({{type, {"x"}, outputs, attributes, "", "ai.onnx.ml"}}, outputs);
  }
  tenon::Graph load(const std::vector<NodeFields>& nodes, const Texts& outputs) {
    ModelFields model;
    model.graph.nodes = nodes;
    model.graph.inputs = {value("x", tensor_type(1, {{-1}, {columns}}))};
    for (const auto& name : outputs) model.graph.outputs.push_back(value(name));
    model.opsets = {{"", 17}, {"ai.onnx.ml", 5}};
    const auto path = folder / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.bytes();
    return tenon::onnx::load(host, path);
  }
  std::vector<float> run(const std::string& type, const Texts& attributes,
                         const std::vector<float>& x, const Texts& outputs = {"y"}) {
    const auto made =
        tenon::Session(load(type, attributes, outputs))
            .run({{"x", tenon::Tensor::from(x, {static_cast<std::int64_t>(x.size()) / 2, 2})}})
            .at(outputs.back());
    const auto values = made.values<float>();
    return {values.begin(), values.end()};
  }
  std::string refusal(const std::string& type, const Texts& attributes) {
    return failure_of([&] { load(type, attributes, {"y"}); }).message;
  }
  TemporaryFolder folder;
  tenon::Host host;
  std::int64_t columns = 2;  ///< of the model's x; -1: unknown
};

/// x0 <= 1 ? (x1 > 0 ? 10 : 20) : 30, with nodes that are not in order.
Texts tree(const Texts& more = {}) {
  Texts all{ints_attribute("nodes_treeids", {4, 4, 4, 4, 4}),
            ints_attribute("nodes_nodeids", {2, 0, 4, 1, 3}),
            ints_attribute("nodes_featureids", {0, 1, 0, 0, 0}),
            ints_attribute("nodes_truenodeids", {0, 1, 0, 0, 0}),
            ints_attribute("nodes_falsenodeids", {3, 4, 0, 0, 0}),
            text_list("nodes_modes", {"BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"}),
            float_list("nodes_values", {1, 0, 0, 0, 0}),
            ints_attribute("target_treeids", {4, 4, 4}),
            ints_attribute("target_nodeids", {1, 4, 3}),
            ints_attribute("target_ids", {0, 0, 0}),
            float_list("target_weights", {10, 20, 30}),
            int_attribute("n_targets", 1)};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

using Values = std::vector<float>;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("ai.onnx.ml: trees by number and by name") {
  MlHost on;
  const Values x{0, 1, 0, -1, 2, 0};
  CHECK(on.run("TreeEnsembleRegressor", tree(), x) == Values{10, 20, 30});
  CHECK(on.run("TreeEnsembleRegressor", tree({float_list("base_values", {0.5F})}), x) ==
        Values{10.5F, 20.5F, 30.5F});
  // the same tree since version 5, with a set {1, 2} instead of a comparison
  const auto u8 = [](const std::vector<std::uint8_t>& values) {
    return onnx_bytes::tensor("t", 2, {static_cast<std::int64_t>(values.size())},
                              raw_data(raw(values)));
  };
  CHECK(
      on.run(
          "TreeEnsemble",
          {ints_attribute("nodes_featureids", {0, 1}), tensors("nodes_modes", u8({0, 6})),
           tensors("nodes_splits", float_tensor("s", {2}, {1, 0})),
           tensors("membership_values", float_tensor("m", {3}, {1, 2, not_a_number})),
           ints_attribute("nodes_truenodeids", {1, 0}),
           ints_attribute("nodes_falsenodeids", {2, 1}), ints_attribute("nodes_trueleafs", {0, 1}),
           ints_attribute("nodes_falseleafs", {1, 1}), ints_attribute("leaf_targetids", {0, 0, 0}),
           tensors("leaf_weights", float_tensor("w", {3}, {10, 20, 30})),
           ints_attribute("tree_roots", {0}), int_attribute("n_targets", 1)},
          {0, 1, 0, 2, 0, 3, 2, 0}) == Values{10, 10, 20, 30});
}

TEST_CASE("ai.onnx.ml: linear models, scalers and encoders") {
  MlHost on;
  const Values x{1, 2, -3, 0.5F};
  CHECK(on.run("LinearRegressor",
               {float_list("coefficients", {1, -1, 2, 0}), float_list("intercepts", {0.5F, 0}),
                int_attribute("targets", 2)},
               x) == Values{-0.5F, 2, -3, -6});
  CHECK(on.run("Scaler", {float_list("offset", {1, 2}), float_list("scale", {2, 4})}, x) ==
        Values{0, 0, -8, -6});
  CHECK(on.run("Imputer",
               {float_list("imputed_value_floats", {7, 8}),
                float_attribute("replaced_value_float", not_a_number)},
               {1, not_a_number, not_a_number, 4}) == Values{1, 8, 7, 4});
  CHECK(on.run("OneHotEncoder", {ints_attribute("cats_int64s", {2, 1})}, x) ==
        Values{0, 1, 1, 0, 0, 0, 0, 0});
  CHECK(on.run("OneHotEncoder", {ints_attribute("cats_int64s", {0, 1})},
               {std::numeric_limits<float>::quiet_NaN(), 1}) == Values{0, 0, 0, 1});
  CHECK(on.run("LabelEncoder",
               {float_list("keys_floats", {2, -3}), float_list("values_floats", {5, 6}),
                float_attribute("default_float", -1)},
               x) == Values{-1, 5, 6, -1});
  CHECK(on.run("FeatureVectorizer", {ints_attribute("inputdimensions", {3})}, x) ==
        Values{1, 2, 0, -3, 0.5F, 0});
  CHECK(on.run("LinearClassifier",
               {float_list("coefficients", {1, 0, 0, 1}), float_list("intercepts", {0, 0}),
                ints_attribute("classlabels_ints", {3, 4})},
               x, {"label", "scores"}) == x);
}

TEST_CASE("TfIdfVectorizer: counts n-grams, also with gaps, in rows and vectors") {
  struct Case {
    const char* mode;
    std::int64_t min, max, skip;
    Dims shape;
    Values expected;
  };
  imported::OnnxHost on;
  // n-grams 5, 6, 5 6 and 6 6
  for (const auto& [mode, min, max, skip, shape, expected] :
       std::vector<Case>{{"TF", 1, 2, 0, {6}, {3, 1, 2, 1}},
                         {"TF", 2, 2, 0, {6}, {0, 1, 0, 1}},
                         {"TF", 1, 1, 5, {6}, {3, 0, 2, 0}},
                         {"IDF", 2, 3, 1, {6}, {0, 30, 0, 40}},
                         {"TFIDF", 1, 2, 1, {6}, {60, 90, 20, 40}},
                         {"TF", 1, 2, 1, {2, 3}, {2, 2, 1, 1, 1, 1, 1, 0}}}) {
    const auto tried = fmt::format("{}, {} to {} elements, {} skipped, rank {}", mode, min, max,
                                   skip, shape.size());
    CAPTURE(tried);
    ModelFields model;
    model.graph.nodes = {
        {"TfIdfVectorizer",
         {"x"},
         {"y"},
         {text_attribute("mode", mode), int_attribute("min_gram_length", min),
          int_attribute("max_gram_length", max), int_attribute("max_skip_count", skip),
          ints_attribute("pool_int64s", {5, 6, 5, 6, 6, 6}), ints_attribute("ngram_counts", {0, 2}),
          ints_attribute("ngram_indexes", {2, 0, 1, 3}), float_list("weights", {10, 20, 30, 40})}}};
    const auto path = on.folder / "model.onnx", exported = on.folder / "exported.onnx";
    std::vector<Dim> dims;
    for (const auto size : shape) dims.push_back({size});
    model.graph.inputs = {value("x", tensor_type(7, dims))};
    model.graph.outputs = {value("y")};
    std::ofstream(path, std::ios::binary) << model.bytes();
    const auto graph = tenon::onnx::load(on.host, path);
    tenon::onnx::save(graph, exported);
    tenon::onnx::ImportOptions from_nodes;  // not the embedded graph
    from_nodes.prefer_functions = true;
    const auto x = tenon::Tensor::from(std::vector<std::int64_t>{5, 6, 6, 5, 7, 6},
                                       tenon::Shape(shape.data(), static_cast<int>(shape.size())));
    const auto counts = [&](const tenon::Graph& one) {
      const auto y = tenon::Session(one).run({{"x", x}}).at("y");
      return Values(y.values<float>().begin(), y.values<float>().end());
    };
    CHECK(counts(graph) == expected);
    CHECK(counts(tenon::onnx::load(on.host, exported, from_nodes)) == expected);
    CHECK(tenon::onnx::describe(exported).operators[0].type == "TfIdfVectorizer");
  }
}

TEST_CASE("ai.onnx.ml: a scaler refuses other numbers of columns, as onnxruntime does") {
  MlHost on;
  CHECK(on.refusal("Scaler", {float_list("offset", {1, 2, 3})})
            .find("its attribute 'offset' has 3 numbers for 2 columns") != std::string::npos);
  on.columns = -1;
  CHECK(on.run("Scaler", {float_list("offset", {1, 2}), float_list("scale", {2, 4})},
               {1, 2, -3, 0.5F}) == Values{0, 0, -8, -6});
  CHECK(on.run("Scaler", {float_list("offset", {1}), float_list("scale", {2})}, {1, 2}) ==
        Values{0, 2});
  tenon::Session session(
      on.load("Scaler", {float_list("offset", {1, 2}), float_list("scale", {2, 4})}, {"y"}));
  for (const std::int64_t columns : {1, 3}) {
    CAPTURE(columns);
    const auto x = tenon::Tensor::zeros(tenon::f32, {2, columns});
    CHECK(failure_of([&] {
            session.run({{"x", x}});
          }).message.find(fmt::format("[2, {}]", columns)) != std::string::npos);
  }
}

TEST_CASE("ai.onnx.ml: indices of a feature extractor do not count from the end") {
  MlHost on;
  const auto load = [&](const std::vector<std::int64_t>& indices) {
    return on.load({{"Constant", {}, {"i"}, {ints_attribute("value_ints", indices)}},
                    {"ArrayFeatureExtractor", {"x", "i"}, {"y"}, {}, "", "ai.onnx.ml"}},
                   {"y"});
  };
  const auto x = tenon::Tensor::from(Values{1, 2, 3, 4}, {2, 2});
  const auto y = tenon::Session(load({1, 0, 1})).run({{"x", x}}).at("y");
  CHECK(y.shape() == tenon::Shape{2, 3});
  CHECK(std::ranges::equal(y.values<float>(), Values{2, 1, 2, 4, 3, 4}));
  for (const std::int64_t wrong : {-1, 2}) {
    CAPTURE(wrong);
    const auto message = failure_of([&] { load({0, wrong}); }).message;
    CHECK_MESSAGE(message.find(fmt::format("its index {} is not from 0 to below the number of "
                                           "columns, 2",
                                           wrong)) != std::string::npos,
                  message);
  }

  tenon::Session computed(
      on.load({{"Cast", {"x"}, {"i"}, {int_attribute("to", 7)}},
               {"ArrayFeatureExtractor", {"x", "i"}, {"y"}, {}, "", "ai.onnx.ml"}},
              {"y"}));
  const auto row = [](float first, float second) {
    return tenon::Tensor::from(Values{first, second}, {1, 2});
  };
  CHECK(computed.run({{"x", row(1, 0)}}).at("y").values<float>()[0] == 0);
  CHECK(failure_of([&] {
          computed.run({{"x", row(0, -1)}});
        }).message.find("element 1 of indices is") != std::string::npos);
}

TEST_CASE("ai.onnx.ml: an imputer replaces exactly the given integer") {
  MlHost on;
  constexpr std::int64_t large = std::int64_t{1} << 53;
  const auto replaced = [&](std::int64_t value) {
    const auto graph = on.load({{"Cast", {"x"}, {"whole"}, {int_attribute("to", 7)}},
                                {"Imputer",
                                 {"whole"},
                                 {"y"},
                                 {ints_attribute("imputed_value_int64s", {1}),
                                  int_attribute("replaced_value_int64", value)},
                                 "",
                                 "ai.onnx.ml"}},
                               {"y"});
    const auto x = tenon::Tensor::from(Values{static_cast<float>(large), 3}, {1, 2});
    return tenon::Session(graph).run({{"x", x}}).at("y").values<std::int64_t>()[0];
  };
  CHECK(replaced(large) == 1);
  CHECK(replaced(large + 1) == large);
  CHECK(replaced(INT64_MAX) == large);
}

TEST_CASE("ai.onnx.ml: nodes that are not supported are refused with a sentence") {
  MlHost on;
  const auto says = [&](const std::string& type, const Texts& attributes, const char* sentence) {
    const auto message = on.refusal(type, attributes);
    CHECK_MESSAGE(message.find(sentence) != std::string::npos, message);
  };
  says("DictVectorizer", {}, "its input is a map");
  says("TreeEnsembleRegressor", tree({text_attribute("post_transform", "CUBE")}),
       "'CUBE' is unknown");
  struct Change {
    std::size_t index;
    std::string with;
    const char* sentence;
  };
  const Change changes[] = {
      {0, ints_attribute("nodes_treeids", {4, 4, 5, 4, 4}), "are not contiguous"},
      {1, ints_attribute("nodes_nodeids", {2, 0, 4, 1, 1}), "two nodes 1"},
      {2, ints_attribute("nodes_featureids", {-1, 1, 0, 0, 0}), "feature -1 is out of range"},
      {3, ints_attribute("nodes_truenodeids", {9, 1, 0, 0, 0}), "has no node 9"},
      {4, ints_attribute("nodes_falsenodeids", {3, 4}), "has 2 numbers, but needs 5"},
      {5, text_list("nodes_modes", {"BRANCH", "LEAF", "LEAF", "LEAF", "LEAF"}),
       "'BRANCH' is unknown"},
      {7, ints_attribute("target_treeids", {4, 4, 9}), "it has no tree 9"},
      {9, ints_attribute("target_ids", {0, 0, -4}), "target -4 is out of range"}};
  for (const auto& change : changes) {
    auto attributes = tree();
    attributes[change.index] = change.with;
    says("TreeEnsembleRegressor", attributes, change.sentence);
  }
}

namespace {
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

TEST_CASE("texts: a vectorizer counts words") {
  TextHost on;
  const auto graph =
      on.load({node("TfIdfVectorizer", {"c"},
                    {text_attribute("mode", "TF"), int_attribute("min_gram_length", 1),
                     int_attribute("max_gram_length", 1), int_attribute("max_skip_count", 0),
                     text_list("pool_strings", {"a", "b"}), ints_attribute("ngram_counts", {0}),
                     ints_attribute("ngram_indexes", {1, 0})},
                    {"y"}, "")},
              {"c"}, {"y"});
  CHECK(graph.inputs()[0].categories == Names{"a", "b"});
  CHECK(on.numbers<float>(graph, {"b", "?", "a"}) == Values{1, 0, 0, 0, 0, 1});
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

TEST_CASE("texts: exported models take and return texts") {
  TextHost on;
  const auto graph = on.load(
      {node("LabelEncoder", {"c"},
            {text_list("keys_strings", {"a", "b"}), text_list("values_strings", {"1", "2"})})},
      {"c"}, {"y"});
  const auto path = on.folder / "again.onnx";
  tenon::onnx::save(graph, path);
  const auto info = tenon::onnx::describe(path);
  CHECK(info.inputs[0].dtype == "string");
  CHECK(info.outputs[0].dtype == "string");
  CHECK(tenon::onnx::load(on.host, path).to_json() == graph.to_json());
  tenon::onnx::ImportOptions from_nodes;  // not the embedded graph
  from_nodes.prefer_functions = true;
  const auto again = tenon::onnx::load(on.host, path, from_nodes);
  CHECK(again.inputs()[0].categories == Names{"a", "b"});
  CHECK(on.names(again, {"b", "?", "a"}) == Names{"2", "_Unused", "1"});
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
  check_says(on.refusal({node("TfIdfVectorizer", {"c"}, {}, {"y"}, "")}),
             {"TfIdfVectorizer", "it has no pool_int64s"});
  check_says(
      on.refusal({node("TfIdfVectorizer", {"c"}, {ints_attribute("pool_int64s", {1})}, {"y"}, "")}),
      {"its n-grams are numbers, but its input is text"});
  check_says(
      on.refusal({node("TfIdfVectorizer", {"x"}, {text_list("pool_strings", {"a"})}, {"y"}, "")},
                 {"x"}),
      {"its n-grams are texts, but its input is float32"});
  check_says(on.refusal({node("LinearClassifier", {"x"},
                              {float_list("coefficients", {1, 1}), float_list("intercepts", {0}),
                               text_list("classlabels_strings", {"a"})})},
                        {"x"}),
             {"it has a single class label"});
  CHECK(on.refusal({one_hot}).empty());
}
