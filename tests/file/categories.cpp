// Categorical values in files: names of elements, in .tenon files and in graph.json.
#include <doctest/doctest.h>

#include <tenon/host/categories.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "../built.hpp"
#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "forged_file.hpp"
#include "run/graph_impl.hpp"

using namespace tenon;

namespace {

using Names = std::vector<std::string>;

struct Categorical {
  Categorical() {
    host.add_plugins(built("plugins"));
    const auto x = graph.input("x", i64, {-1});
    const auto y = graph.add("add", {x, x}, {}, "twice");
    graph.output("y", y);
    graph.set_categories(x, {"red", "green", "", "\u00fc"});
    graph.set_categories(y, {"none", "one", "two"});
  }
  static HostOptions options() {
    HostOptions options;
    options.search_defaults = false;
    return options;
  }
  Host host{options()};
  Graph graph{host};
};

void check_names(const Graph& graph) {
  CHECK(graph.inputs()[0].categories == Names{"red", "green", "", "\u00fc"});
  CHECK(graph.outputs()[0].categories == Names{"none", "one", "two"});
}

}  // namespace

TEST_CASE("categories: kept by clones, sessions, .tenon files and graph.json") {
  Categorical made;
  check_names(made.graph);
  check_names(made.graph.clone());
  check_names(Graph::from_json(made.host, made.graph.to_json()));
  const auto bytes = made.graph.to_bytes();
  auto loaded = Graph::from_bytes(made.host, bytes);
  check_names(loaded);
  CHECK(loaded.to_bytes() == bytes);
  CHECK(Session(made.graph).optimized().inputs()[0].categories.size() == 4);
  CHECK(made.graph.to_json().find(R"("x": ["red", "green", "", ")") != std::string::npos);
  made.graph.set_categories(made.graph.find("x"), {});
  CHECK(made.graph.inputs()[0].categories.empty());
  CHECK(made.graph.to_json().find("red") == std::string::npos);
}

TEST_CASE("categories: a file without them is the same as before") {
  Categorical made;
  made.graph.set_categories(made.graph.find("x"), {});
  made.graph.set_categories(made.graph.find("twice"), {});
  Graph plain(made.host);
  const auto x = plain.input("x", i64, {-1});
  plain.output("y", plain.add("add", {x, x}, {}, "twice"));
  CHECK(Graph::from_bytes(made.host, made.graph.to_bytes()).to_json() == plain.to_json());
}

TEST_CASE("categories: names that a value cannot have") {
  Categorical made;
  const auto says = [&](const char* value, const Names& names, const std::string& sentence) {
    const auto failure =
        failure_of([&] { made.graph.set_categories(made.graph.find(value), names); });
    CHECK(failure.kind == 2);
    check_says(failure.message, {sentence});
  };
  says("x", {"a", "b", "a"}, "'x' has the category 'a' twice");
  says("x", {"a", "\xff"}, "'\\xff' of 'x' is not UTF-8");
  says("x", {std::string("a\0b", 3)}, "is not UTF-8 without zero bytes");
  made.graph.input("f", f32, {2});
  says("f", {"a"}, "'f' is float32, but a value with categories must be int32 or int64");
  check_names(made.graph);
}

TEST_CASE("categories: forged files") {
  Categorical made;
  const auto sound = FileSections::of(model_of(made.graph));
  const auto refusal = [&](const std::function<void(format::GraphT&)>& change) {
    auto sections = sound;
    sections.change([&](format::ModelT& model) { change(*model.graphs[0]); });
    return failure_of([&] { read_forged(sections.bytes(), FileCheck::structure); });
  };
  CHECK(refusal([](auto&) {}).kind == 0);
  const std::pair<const char*, std::function<void(format::GraphT&)>> cases[] = {
      {"categorical value 0 is index 99", [](auto& g) { g.categorical[0] = 99; }},
      {"categorical value 1 is 0, which is not in order", [](auto& g) { g.categorical[1] = 0; }},
      {"categorical value 1 has 4 categories, but 3 are left",
       [](auto& g) { g.category_counts[1] = 4; }},
      {"categorical value 1 has 4294967295 categories",
       [](auto& g) { g.category_counts[1] = 0xffffffff; }},
      {"categorical value 0 has 0 categories", [](auto& g) { g.category_counts[0] = 0; }},
      {"column category_counts has 1 entry", [](auto& g) { g.category_counts.pop_back(); }},
      {"it has 7 category names, but its values use 6", [](auto& g) { g.category_counts[1] = 2; }},
      {"category name 2 is index 9999", [](auto& g) { g.category_names[2] = 9999; }},
      {"'x' has the category 'red' twice",
       [](auto& g) { g.category_names[1] = g.category_names[0]; }}};
  for (const auto& [sentence, change] : cases) {
    const auto failure = refusal(change);
    CHECK(failure.kind == 4);
    check_says(failure.message, {sentence});
  }
}

TEST_CASE("categories: graph.json with wrong names") {
  Categorical made;
  const auto refusal = [&](const std::string& categories) {
    return failure_of([&] {
             Graph::from_json(made.host,
                              R"({"tenon": 1, "inputs": {"x": {"dtype": "int64", "shape": [-1]},
  "f": {"dtype": "float32", "shape": []}}, "categories": )" +
                                  categories + R"(, "outputs": {"y": "x"}})");
           })
        .message;
  };
  CHECK(refusal(R"({"x": ["a", "b"]})").empty());
  check_says(refusal(R"({"x": []})"), {"the categories of 'x' are an empty list"});
  check_says(refusal(R"({"x": ["a", "a"]})"), {"'x' has the category 'a' twice"});
  check_says(refusal(R"({"x": ["a", 3]})"), {"a category"});
  check_says(refusal(R"({"f": ["a"]})"), {"'f' is float32"});
  check_says(refusal(R"({"z": ["a"]})"), {"'z'"});
}

TEST_CASE("categories: texts to indices and back") {
  const Categories colors({"red", "green", "blue"});
  const auto indices = colors.indices_of(Names{"blue", "pink", "red"}, {3, 1});
  CHECK(indices.dtype() == i64);
  CHECK(indices.shape() == Shape{3, 1});
  CHECK(std::ranges::equal(indices.values<std::int64_t>(), std::vector<std::int64_t>{2, -1, 0}));
  CHECK(colors.indices_of(Names{"green"}, {1}, i32).values<std::int32_t>()[0] == 1);
  CHECK(colors.names_of(Tensor::from({std::int32_t{1}, std::int32_t{0}}, {2}), "it") ==
        std::vector<std::string_view>{"green", "red"});
  check_says(failure_of([&] { colors.names_of(indices, "output 'y'"); }).message,
             {"element 1 of output 'y' is the index -1, but it has 3 categories"});
  check_says(
      failure_of([&] { colors.names_of(Tensor::from({std::int64_t{3}}, {1}), "it"); }).message,
      {"the index 3"});
  CHECK(failure_of([&] { colors.names_of(Tensor::from({1.0F}, {1}), "it"); }).kind == 2);
  CHECK(failure_of([&] { colors.indices_of(Names{"red"}, {2}); }).kind == 2);
  CHECK(failure_of([&] { Categories({"a", "a"}); }).kind == 2);
}
