// Unconnected inputs: weights become variables, others are errors.
#include <doctest/doctest.h>

#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

/// Inputs that differ only in .weight() and .optional().
struct Scored : Operator {
  bool no_offset = true;

  static constexpr void describe(auto& op) {
    op.doc("the sum of its inputs");
    op.types({f32});
    op.input("left", "any shape");
    op.input("right", "the shape of left");
    op.input("weight", "the shape of left").weight();
    op.input("offset", "the shape of left; absent when no_offset").optional();
    op.output("sum", "the shape of left");
    op.param("no_offset", &Scored::no_offset, "whether there is no offset");
  }
  void infer(Infer& io) const {
    for (int i = 1; i < (no_offset ? 3 : 4); ++i) io.set_input(i, io.input(0).shape);
    io.set_output(0, io.input(0).shape);
  }
  void forward(const Call&) const {}
};

/// The manifest as an SDK older than 0.2 would write it; the changed key is ignored.
std::string older_manifest() {
  auto manifest = manifest_of<Scored>("scored_before");
  for (std::size_t at = 0; (at = manifest.find("weight\xf4", at)) != manifest.npos;)
    manifest[at] = 'W';
  for (std::size_t at = 0; (at = manifest.find("weight\xf5", at)) != manifest.npos;)
    manifest[at] = 'W';
  return manifest;
}

struct ScoredHost : ApplicationHost {
  std::vector<std::string> warnings;

  ScoredHost() : ApplicationHost(options(1, warnings)) {
    add<Scored>("scored");
    add_operator(older_manifest(), table_of<Scored>());
  }
};

std::vector<std::string> names_of(const std::vector<ValueInfo>& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.name);
  return names;
}

}  // namespace

TEST_CASE(
    "weights: an unconnected input is an error unless it is a weight, which becomes a variable") {
  ScoredHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {3});
  for (const auto& inputs : {std::vector<Value>{x}, std::vector<Value>{x, {}, x}}) {
    const auto failure = failure_of([&] { graph.add("scored", inputs, {}, "n"); });
    CHECK(failure.kind == static_cast<int>(FailureKind::usage));
    check_says(failure.message,
               {"[scored] node 'n':", "input 'right' is missing", "the shape of left"});
    check_says(failure.hint, {"connect a value", "only weights"});
  }
  CHECK(graph.nodes().empty());
  graph.add("scored", {x, x}, {}, "n");
  CHECK(names_of(graph.variables()) == std::vector<std::string>{"n_weight"});
  CHECK(host.warnings.empty());
}

TEST_CASE(
    "weights: an unconnected optional input stays so even if infer() sets it, unless it is a "
    "weight") {
  ScoredHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {3});
  const auto with_offset = Attributes{{"no_offset", false}};
  graph.add("scored", {x, x}, with_offset, "n");
  graph.add("scored", {x, x, {}, x}, with_offset, "m");
  CHECK(names_of(graph.variables()) == std::vector<std::string>{"n_weight", "m_weight"});
  graph.variable("k_offset", f32, {3});
  graph.add("scored", {x, x}, with_offset, "k");
  CHECK(graph.nodes()[0].inputs[3].empty());
  CHECK(graph.nodes()[2].inputs[3] == "k_offset");
}

TEST_CASE("weights: a variable with the input's name is used for it") {
  ScoredHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {3});
  graph.variable("n_right", f32, {3});
  graph.add("scored", {x}, {}, "n");
  CHECK(names_of(graph.variables()) == std::vector<std::string>{"n_right", "n_weight"});
}

TEST_CASE(
    "weights: with SDKs older than 0.2, every unconnected input becomes a variable, with one "
    "warning") {
  ScoredHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {3});
  for (const char* name : {"n", "m"}) graph.add("scored_before", {x}, {}, name);
  CHECK(names_of(graph.variables()) ==
        std::vector<std::string>{"n_right", "n_weight", "m_right", "m_weight"});
  REQUIRE(host.warnings.size() == 1);
  CHECK(host.warnings[0].starts_with(
      "[scored_before] node 'n': input 'right' is not connected, so it becomes a variable; "));
}
