#include "graph/upgrade.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "file/sample_graph.hpp"
#include "graph/parameters.hpp"

using namespace tenon;

namespace {

/// `thing`, version `version`, with the parameters b and c, both 0 by default.
OperatorInfo thing(int version) {
  GraphMaker make;
  return *make.model
              .operators[make.op(
                  {"thing", {"x"}, {"y"}, {}, {{"b", "float64"}, {"c", "float64"}}, version})]
              .info;
}

std::map<std::string, double> parameters_of(const GraphModel& model, const NodeRecord& node) {
  std::map<std::string, double> found;
  for (const auto& [name, value] : all_parameters(model, node))
    found.emplace(name, std::get<double>(value.variant()));
  return found;
}

/// Upgrades a node of version `stored` whose parameters are all 5, and returns the new ones.
std::map<std::string, double> upgraded_parameters(int stored, const std::vector<const char*>& there,
                                                  const OperatorInfo& here) {
  GraphMaker made;
  std::vector<std::pair<std::string, std::string>> params;
  for (const auto* name : there) params.emplace_back(name, "float64");
  const auto op = made.op({"thing", {"x"}, {"y"}, {}, params, stored});
  const auto x = made.value("x", Role::input, type_of(f32, {1}));
  for (const auto* name : there) made.attribute(name, 5.0);
  const auto node = made.node("n", op, {x}, 1, static_cast<std::uint32_t>(there.size()));
  upgrade(made.model, op, here, false);
  return parameters_of(made.model, made.model.nodes[node]);
}

}  // namespace

TEST_CASE("upgrade: entries apply to files older than their version, in version order") {
  // Version 2 renamed a to b and added a new a; version 3 renamed that one to c.
  auto info = thing(3);
  info.renamed = {{3, "a", "c"}, {2, "a", "b"}};
  const struct {
    int stored;
    std::vector<const char*> there;
    double b, c;
  } cases[] = {
      {1, {"a"}, 5, 0}, {2, {"a"}, 0, 5}, {2, {"b"}, 5, 0}, {1, {}, 0, 0}, {2, {"a", "b"}, 5, 5}};
  for (const auto& c : cases) {
    CAPTURE(c.stored);
    CHECK(upgraded_parameters(c.stored, c.there, info) ==
          std::map<std::string, double>{{"b", c.b}, {"c", c.c}});
  }
  info.renamed = {{2, "a", "b"},
                  {2, "b", "c"}};  // entries of one version apply in declaration order
  CHECK(upgraded_parameters(1, {"a"}, info) == std::map<std::string, double>{{"b", 0}, {"c", 5}});
}

TEST_CASE("upgrade: a removed name can be reused by another parameter of that version") {
  auto info = thing(3);
  info.removed = {{2, "b", {}}};
  info.renamed = {{2, "a", "b"}};
  CHECK(upgraded_parameters(1, {"a", "b"}, info) ==
        std::map<std::string, double>{{"b", 5}, {"c", 0}});
  info.renamed.clear();
  info.added = {{3, "b"}};
  info.was = {{"b", 9.0}};
  CHECK(upgraded_parameters(1, {"b", "c"}, info) ==
        std::map<std::string, double>{{"b", 9}, {"c", 5}});
  CHECK(upgraded_parameters(2, {"c"}, info) == std::map<std::string, double>{{"b", 9}, {"c", 5}});
}

TEST_CASE("upgrade: a removed value is compared as a number, whatever its kind") {
  auto info = thing(2);
  for (const AttributeValue& same :
       {AttributeValue(5), AttributeValue(5.0), AttributeValue(std::vector<std::int64_t>{5})}) {
    info.removed = {{2, "d", same}};
    CHECK(upgraded_parameters(1, {"d"}, info) == std::map<std::string, double>{{"b", 0}, {"c", 0}});
  }
  for (const AttributeValue& other :
       {AttributeValue(6), AttributeValue(true), AttributeValue("5"), AttributeValue({5.0, 5.0})}) {
    info.removed = {{2, "d", other}};
    CHECK(failure_of([&] {
            upgraded_parameters(1, {"d"}, info);
          }).message.find("parameter 'd' is 5, but version 2") != std::string::npos);
  }
}

TEST_CASE(
    "upgrade: refuses other changes, naming the required version, the installed one and the "
    "change") {
  const auto refusal = [](const OperatorSpec& stored, const OperatorSpec& here,
                          const std::function<void(OperatorInfo&)>& say = nullptr) {
    GraphMaker made;
    const auto op = made.op(stored);
    GraphMaker other;
    auto info = *other.model.operators[other.op(here)].info;
    if (say) say(info);
    return failure_of([&] { upgrade(made.model, op, info, true); });
  };
  const OperatorSpec old{"thing", {"x", "w"}, {"y", "h"}, {}, {}, 1};
  struct Case {
    OperatorSpec here;
    const char *change, *word;
  };
  const Case cases[] = {
      {{"thing", {"x", "w", "gain"}, {"y", "h"}, {}, {}, 2},
       "has the new input 'gain'",
       "op.added_input(2, \"gain\")"},
      {{"thing", {"x"}, {"y", "h"}, {}, {}, 2}, "no longer has input 'w'", ""},
      {{"thing", {"w", "x"}, {"y", "h"}, {}, {}, 2}, "has input 'x' in another position", ""},
      {{"thing", {"x", "gain", "w"}, {"y", "h"}, {}, {}, 2},
       "has input 'w' in another position",
       ""},
      {{"thing", {"x", "w"}, {"y"}, {}, {}, 2}, "no longer has output 'h'", ""},
      {{"thing", {"x", "w"}, {"y", "h", "z"}, {}, {}, 2},
       "has the new output 'z'",
       "op.added_output(2, \"z\")"},
      {{"thing", {"x", "w"}, {"y", "h"}, {"mean"}, {}, 2},
       "has the new state 'mean'",
       "op.added_state(2, \"mean\")"},
  };
  // no declaration can make up for a required input
  CHECK(refusal(old, cases[0].here).hint == "use a plugin with version 1");
  for (const auto& c : cases) {
    CAPTURE(c.change);
    const auto failure =
        refusal(old, c.here, [](OperatorInfo& info) { info.inputs.back().optional = true; });
    CHECK(failure.message ==
          std::string("needs version 1 of the operator, but version 2 is installed, which ") +
              c.change);
    CHECK(failure.hint.find(c.word) != std::string::npos);
    auto same = c.here;
    same.version = 1;
    CHECK(refusal(old, same).message ==
          std::string("was made with another version 1 of the operator: the installed one ") +
              c.change);
  }
  // Names of inputs and outputs may change.
  CHECK(refusal(old, {"thing", {"x", "weight"}, {"y", "h"}, {}, {}, 2}).kind == 0);
  // The entry applies to files older than its version.
  const auto said_too_early = [](OperatorInfo& info) { info.added_inputs = {{1, "gain"}}; };
  CHECK(refusal(old, cases[0].here, said_too_early).kind != 0);
  const auto said = [](OperatorInfo& info) { info.added_inputs = {{2, "gain"}}; };
  CHECK(refusal(old, cases[0].here, said).kind == 0);
  check_says(
      refusal({"thing", {"x"}, {"y"}, {}, {}, 4}, {"thing", {"x"}, {"y"}, {}, {}, 3}).message,
      {"written for version 4", "version 3 is installed"});
}

TEST_CASE("upgrade: new outputs renumber later values, and all references are updated") {
  GraphMaker made;
  const auto op = made.op({"thing", {"x"}, {"y"}, {}, {}, 1}),
             sum = made.op({"sum", {"x"}, {"y"}, {}, {}, 1});
  const auto x = made.value("x", Role::input, type_of(f32, {1}));
  const auto first = made.node("first", op, {x}, 1, 0);
  const auto w = made.value("w", Role::variable, type_of(f32, {1}));
  const auto second = made.node("second", op, {made.output_of(first)}, 1, 0);
  const auto total = made.node("total", sum, {made.output_of(second)}, 1, 0);
  const auto back =
      made.made_from(second, Pass::backward, "back", {w, made.output_of(first), none});
  made.output("total", made.output_of(total));
  made.output("dx", made.output_of(back));
  made.model.add_update(w, made.output_of(first));
  GraphMaker other;
  auto here =
      *other.model.operators[other.op({"thing", {"x", "gain"}, {"y", "h"}, {"mean"}, {}, 2})].info;
  here.added_inputs = {{2, "gain"}}, here.added_outputs = {{2, "h"}},
  here.added_states = {{2, "mean"}};
  here.inputs[1].optional = true;
  auto& model = made.model;
  CHECK(failure_of([&] {
          upgrade(model, op, here, false);
        }).message.find("has more outputs than version 1") != std::string::npos);
  CHECK(model.nodes[first].output_count == 1);
  upgrade(model, op, here, true);
  for (const auto node : {first, second}) {
    const auto& record = model.nodes[node];
    CHECK(record.output_count == 2);
    CHECK(record.input_count == 2);
    CHECK(record.state_count == 1);
    CHECK(model.edges[record.first_edge + 1] == none);
    const auto& state = model.values[model.edges[record.first_edge + 2]];
    CHECK(state.role == Role::state);
    CHECK(model.strings[state.name] == std::string(model.strings[record.name]) + "_mean");
    for (std::uint32_t i = 0; i < 2; ++i) {
      CHECK(model.values[record.first_output + i].producer == node);
      CHECK(model.values[record.first_output + i].index == i);
    }
  }
  CHECK(model.edges[model.nodes[second].first_edge] == model.nodes[first].first_output);
  CHECK(model.edges[model.nodes[total].first_edge] == model.nodes[second].first_output);
  CHECK(model.values[model.nodes[total].first_output].producer == total);
  CHECK(find_value(model, "w") == model.updates[0].first);
  CHECK(model.updates[0].second == model.nodes[first].first_output);
  CHECK(model.outputs[0].second == model.nodes[total].first_output);
  // Inputs: gradients of y and h, inputs x and gain, outputs y and h. Outputs: gradients of x and
  // gain.
  const auto& backward = model.nodes[back];
  CHECK(backward.output_count == 2);
  const std::vector<ValueId> edges(model.edges.begin() + backward.first_edge,
                                   model.edges.begin() + backward.first_edge + 6);
  CHECK(edges == std::vector<ValueId>{find_value(model, "w"), none, model.nodes[first].first_output,
                                      none, none, model.nodes[second].first_output + 1});
  CHECK(backward.input_count == 6);
  CHECK(model.outputs[1].second == backward.first_output);
}
