#include "graph/upgrade.hpp"

#include <doctest/doctest.h>

#include <map>

#include "failure_of.hpp"
#include "file/sample_graph.hpp"
#include "graph/parameters.hpp"

using namespace tenon;

TEST_CASE("upgrade: a rule is for files that are older than its version, in the order of versions") {
  // version 2 called a b and brought a new a; version 3 called that one c
  GraphMaker make;
  const auto op = make.op({"thing", {"x"}, {"y"}, {}, {{"b", "float64"}, {"c", "float64"}}, 3});
  auto info = *make.model.operators[op].info;
  info.renamed = {{3, "a", "c"}, {2, "a", "b"}};
  const struct {
    int stored;
    std::vector<const char*> there;  // each is 5
    double b, c;                     // 0 by default
  } cases[] = {
      {1, {"a"}, 5, 0}, {2, {"a"}, 0, 5}, {2, {"b"}, 5, 0}, {3, {"c"}, 0, 5}, {1, {}, 0, 0}, {2, {"a", "b"}, 5, 5},
  };
  for (const auto& c : cases) {
    CAPTURE(c.stored);
    GraphMaker made;
    made.model.operators = make.model.operators;
    const auto x = made.value("x", Role::input, type_of(f32, {1}));
    for (const auto* name : c.there) made.attribute(name, 5.0);
    const auto node = made.node("n", op, {x}, 1, static_cast<std::uint32_t>(c.there.size()));
    upgrade(made.model, made.model.nodes[node], c.stored, info);
    std::map<std::string, double> found;
    const auto& record = made.model.nodes[node];
    for (std::uint32_t i = 0; i < record.attribute_count; ++i) {
      const auto& attribute = made.model.attributes[record.first_attribute + i];
      found.emplace(made.model.strings[attribute.name], std::get<double>(value_of(made.model, attribute).variant()));
    }
    CHECK(found == std::map<std::string, double>{{"b", c.b}, {"c", c.c}});
  }
  info.renamed = {{2, "a", "b"}, {2, "b", "c"}};  // rules of one version: in the order of the declaration
  GraphMaker made;
  made.model.operators = make.model.operators;
  const auto x = made.value("x", Role::input, type_of(f32, {1}));
  made.attribute("a", 5.0);
  const auto old = made.node("n", op, {x}, 1, 1);
  upgrade(made.model, made.model.nodes[old], 1, info);
  CHECK(made.model.nodes[old].attribute_count == 2);
  const auto& renamed = made.model.attributes[made.model.nodes[old].first_attribute + 1];
  CHECK(made.model.strings[renamed.name] == "c");
  CHECK(renamed.f == 5);

  make.value("x", Role::input, type_of(f32, {1}));
  const auto node = make.node("n", op, {0}, 1, 0);
  CHECK(failure_of([&] { upgrade(make.model, make.model.nodes[node], 4, info); }).message ==
        "was written for version 4 of the operator, but version 3 is installed");
}
