// Full and short names: resolution if operators of several namespaces have the same name, as tables
// of small catalogs.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "plugin/operator_name.hpp"
#include "plugin/saved_operator.hpp"
#include "plugin/small_catalog.hpp"

using namespace tenon;

namespace {

Brings in_space(const char* space, const char* op, std::vector<std::string> aliases = {}) {
  return {op, 1, space, std::move(aliases), false, space};
}

std::string full(const Built& built, std::string_view name, std::string_view home = {}) {
  const auto found = built.index->find(name, home);
  return found == CatalogIndex::nowhere ? "nobody" : built.index->operators[found].full_name();
}

}  // namespace

TEST_CASE("names: valid operator names") {
  for (const char* name : {"rope", "acme.rope", "_a.b_1", "A.B"}) {
    CAPTURE(name);
    CHECK(is_operator_name(name));
  }
  const std::string longest(128, 'a');
  CHECK(is_operator_name(longest + '.' + longest));
  for (const auto& name :
       {std::string(), std::string("."), std::string(".rope"), std::string("acme."),
        std::string("a.b.c"), std::string("acme..rope"), std::string("1a.rope"),
        std::string("acme.1"), std::string("ac me.rope"), std::string("acme.ro\npe"),
        std::string("acme.ro\0pe", 10), longest + "a.rope", "acme." + longest + 'a'}) {
    CAPTURE(name);
    CHECK_FALSE(is_operator_name(name));
  }
  CHECK(quoted_name("a\x1b.b") == "'a\\x1b.b'");
  CHECK(quoted_name(std::string(1 << 20, '.')) == "of 1048576 bytes");
}

TEST_CASE("names: the namespace derived from a plugin's name") {
  const std::map<std::string, std::string> spaces = {
      {"acme", "acme"},  {"libfoo-1.2", "libfoo_1_2"}, {"7zip", "_7zip"},
      {"", "_"},         {"tenon", "tenon_"},          {"app", "app_"},
      {"\xc3\xa4", "__"}};
  for (const auto& [plugin, space] : spaces) CHECK(space_of_plugin(plugin) == space);
  const auto longest = space_of_plugin(std::string(1 << 20, '9'));
  CHECK(longest.size() <= 128);
  CHECK(is_operator_name(longest + ".x"));
}

TEST_CASE("names: operators of several namespaces coexist") {
  struct Case {
    const char* what;
    std::vector<Brings> operators;  // each from its own file, all from one call
    std::vector<std::string> prefer;
    std::map<std::string, std::string> meanings;
    std::string note;
  };
  const Case cases[] = {
      {"a single operator has the name",
       {in_space("acme", "rope")},
       {},
       {{"rope", "acme.rope"}, {"acme.rope", "acme.rope"}, {"beta.rope", "nobody"}},
       ""},
      {"two vendors",
       {in_space("acme", "rope"), in_space("beta", "rope")},
       {},
       {{"rope", "nobody"}, {"acme.rope", "acme.rope"}, {"beta.rope", "beta.rope"}},
       "'rope' may refer to acme.rope and beta.rope: use the full name, or prefer a plugin"},
      {"a preferred namespace",
       {in_space("acme", "rope"), in_space("beta", "rope")},
       {"beta"},
       {{"rope", "beta.rope"}},
       "'rope' refers to beta.rope; use the full name for acme.rope"},
      {"a preferred plugin, specified by its file",
       {in_space("acme", "rope"), in_space("beta", "rope")},
       {"/file0.so"},
       {{"rope", "acme.rope"}},
       "'rope' refers to acme.rope"},
      {"the first preference that has such an operator",
       {in_space("acme", "rope"), in_space("beta", "rope")},
       {"none", "beta", "acme"},
       {{"rope", "beta.rope"}},
       "'rope' refers to beta.rope"},
      {"short names of Tenon's operators refer to Tenon's",
       {in_space("acme", "relu"), in_space("tenon", "relu")},
       {},
       {{"relu", "tenon.relu"}, {"acme.relu", "acme.relu"}},
       "'relu' refers to tenon.relu; use the full name for acme.relu, or prefer its plugin"},
      {"unless another plugin is preferred",
       {in_space("acme", "relu"), in_space("tenon", "relu")},
       {"acme"},
       {{"relu", "acme.relu"}},
       "'relu' refers to acme.relu"},
      {"other plugins cannot replace Tenon's aliases",
       {in_space("acme", "plus"), in_space("tenon", "add", {"plus"})},
       {},
       {{"plus", "tenon.add"}, {"acme.plus", "acme.plus"}, {"tenon.plus", "tenon.add"}},
       "'plus' refers to tenon.add"},
      {"another plugin's alias",
       {in_space("acme", "x", {"relu"}), in_space("tenon", "relu")},
       {},
       {{"relu", "tenon.relu"}, {"acme.relu", "acme.x"}},
       "'relu' refers to tenon.relu"},
      {"aliases of two vendors",
       {in_space("acme", "x", {"z"}), in_space("beta", "y", {"z"})},
       {},
       {{"z", "nobody"}, {"acme.z", "acme.x"}, {"beta.z", "beta.y"}},
       "'z' may refer to acme.x and beta.y"},
      {"an alias and a name of two vendors",
       {in_space("acme", "x", {"z"}), in_space("beta", "z")},
       {},
       {{"z", "nobody"}},
       "'z' may refer to"},
      {"invalid names",
       {in_space("acme", "rope")},
       {},
       {{".rope", "nobody"},
        {"acme.", "nobody"},
        {"acme..rope", "nobody"},
        {"a.acme.rope", "nobody"},
        {"", "nobody"},
        {".", "nobody"}},
       ""},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    Folder folder;
    for (const auto& op : c.operators)
      folder.push_back({"/file" + std::to_string(folder.size()) + ".so", {op}});
    Built built;
    built.builder.prefer(c.prefer);
    built.call({folder});
    for (const auto& each : c.meanings) {
      const auto& name = each.first;
      const auto& meaning = each.second;
      CAPTURE(name);
      CHECK(full(built, name) == meaning);
    }
    CHECK(built.index->notes.empty() == c.note.empty());
    CHECK(built.notes(c.note) == !c.note.empty());
    for (const auto& reason : built.unused) CHECK(reason.empty());
  }
}

TEST_CASE("names: a later call replaces only operators with the same full name") {
  Built built({{"a", {in_space("acme", "rope")}}});
  built.call({{{"b", {in_space("beta", "rope")}}}});
  CHECK(built.winner("acme.rope") == "a");
  CHECK(built.winner("beta.rope") == "b");
  auto newer = in_space("acme", "rope");
  newer.version = 2;
  built.call({{{"c", {newer}}}});
  CHECK(built.winner("acme.rope") == "c");
  CHECK(built.winner("beta.rope") == "b");
  CHECK(built.notes("operator 'acme.rope' version 1 of a is not used"));
}

TEST_CASE(
    "names: an author's short name refers to their own operator, else to Tenon's, whatever is "
    "preferred") {
  Built built;
  built.builder.prefer({"beta"});
  built.call({{{"a", {in_space("acme", "rope")}},
               {"b", {in_space("beta", "rope"), in_space("beta", "add"), in_space("beta", "sub")}},
               {"t", {in_space("tenon", "rope"), in_space("tenon", "add")}}}});
  CHECK(full(built, "rope", "acme") == "acme.rope");
  CHECK(full(built, "add", "acme") == "tenon.add");
  CHECK(full(built, "sub", "acme") == "beta.sub");
  CHECK(full(built, "beta.rope", "acme") == "beta.rope");
  CHECK(full(built, "rope") == "beta.rope");
}

TEST_CASE("names: a short name warns if a plugin that was added, or the application, also has it") {
  using Layer = CatalogBuilder::Layer;
  const auto warning = [](const Built& built) {
    const auto found = built.index->names.find("rope");
    return found == built.index->names.end() ? std::string() : found->second.warning;
  };
  const File tenon{"t", {in_space("tenon", "rope")}},
      acme{"a", {in_space("acme", "rope")}, {}, "acme_plugin"};
  const std::string said =
      "'rope' refers to tenon.rope, but acme.rope of a also has that name: use the full name of "
      "the operator that you mean, or prefer its "
      "plugin";
  Built added;
  added.call({{tenon}}, Layer::defaults);
  CHECK(warning(added).empty());
  added.call({{acme}});
  CHECK(warning(added) == said);
  Built defaults;
  defaults.call({{tenon, acme}}, Layer::defaults);
  CHECK(warning(defaults).empty());
  for (const char* preferred : {"acme", "acme_plugin", "tenon"}) {
    Built decided;
    decided.builder.prefer({preferred});
    decided.call({{tenon}}, Layer::defaults);
    decided.call({{acme}});
    CHECK(warning(decided).empty());
  }
  Built own;
  own.call({{tenon}}, Layer::defaults);
  own.own(in_space("app", "rope"));
  check_says(warning(own), {"'rope' refers to tenon.rope", "app.rope of the application"});
}

TEST_CASE("names: operators of the application coexist with Tenon's") {
  Built built({{"t", {in_space("tenon", "square")}}});
  CHECK(built.builder.add_application_operator(info_of({"square"}), {}) == "app.square");
  CHECK(built.builder.add_application_operator(info_of(in_space("acme", "square")), {}) ==
        "acme.square");
  built.build();
  CHECK(full(built, "square") == "tenon.square");
  CHECK(full(built, "app.square") == "app.square");
  const auto failure = failure_of(
      [&] { built.builder.add_application_operator(info_of(in_space("tenon", "cube")), {}); });
  CHECK(failure.kind == 2);
  check_says(failure.message,
             {"operator 'tenon.cube' cannot be added", "namespace 'tenon' is reserved"});
}

TEST_CASE("names: the operator that a kernel belongs to") {
  const auto split = [](const char* space) { return Brings{"x", 1, space, {}, true, space}; };
  const auto kernel_of = [](const Built& built, const char* op) { return built.kernel(op, "cpu"); };
  Built sole({{"a", {split("acme")}}, {"k", {}, {{"x", "cpu"}}}});
  CHECK(kernel_of(sole, "acme.x") == "k");

  Built bundled({{"a", {split("acme")}}, {"k", {}, {{"x", "cpu"}}}, {"t", {split("tenon")}}});
  CHECK(kernel_of(bundled, "tenon.x") == "k");
  CHECK(kernel_of(bundled, "acme.x") == "nobody");

  Built named({{"a", {split("acme")}}, {"b", {split("beta")}}, {"k", {}, {{"beta__x", "cpu"}}}});
  CHECK(kernel_of(named, "acme.x") == "nobody");
  CHECK(kernel_of(named, "beta.x") == "k");

  Built unsaid({{"a", {split("acme")}}, {"b", {split("beta")}}, {"k", {}, {{"x", "cpu"}}}});
  CHECK(kernel_of(unsaid, "acme.x") == "nobody");
  CHECK(kernel_of(unsaid, "beta.x") == "nobody");
  CHECK(
      unsaid.notes("the cpu kernel of operator 'x' in k is not used: it is ambiguous between "
                   "acme.x and beta.x"));

  Built beside({{"a", {split("acme")}, {{"x", "cpu"}}}, {"b", {split("beta")}, {{"x", "cpu"}}}});
  CHECK(kernel_of(beside, "acme.x") == "a");
  CHECK(kernel_of(beside, "beta.x") == "b");

  // A later clash does not undo this.
  Built later({{"a", {split("acme")}}, {"k", {}, {{"x", "cpu"}}}});
  later.call({{{"b", {split("beta")}}}});
  CHECK(kernel_of(later, "acme.x") == "k");
  CHECK(kernel_of(later, "beta.x") == "nobody");
}

TEST_CASE("names: operators as referenced by files") {
  const auto with_space = [](const char* space, bool own) {
    auto info = info_of(in_space(space, "rope"));
    info.own_space = own;
    info.manifest.push_back(std::byte{own});
    return info;
  };
  struct Case {
    const char* what;
    // namespaces, and whether their authors declare them; files NAME of plugins NAME_plugin
    std::vector<std::pair<const char*, bool>> here;
    const char *name, *plugin;
    bool application;
    const char* meant;
    bool noted;
  };
  const auto own = with_space("acme", true), not_own = with_space("acme", false);
  const Case cases[] = {
      {"the full name",
       {{"acme", true}, {"tenon", true}},
       "acme.rope",
       "x",
       false,
       "acme.rope",
       false},
      {"a renamed plugin", {{"new", false}}, "acme.rope", "x", false, "new.rope", true},
      {"two candidates",
       {{"new", false}, {"other", false}},
       "acme.rope",
       "x",
       false,
       "nobody",
       false},
      {"an old file: the plugin that the file names",
       {{"acme", true}, {"beta", true}, {"tenon", true}},
       "rope",
       "beta_plugin",
       false,
       "beta.rope",
       false},
      {"an old file: a plugin that is not available",
       {{"acme", true}, {"tenon", true}},
       "rope",
       "gone",
       false,
       "tenon.rope",
       false},
      {"an old file: ambiguous",
       {{"acme", true}, {"beta", true}},
       "rope",
       "gone",
       false,
       "nobody",
       false},
      {"an old file: an operator of the application",
       {{"tenon", true}},
       "rope",
       "",
       true,
       "tenon.rope",
       false},
      {"an invalid name", {{"acme", true}}, "a.b.rope", "x", false, "nobody", false},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    Built built;
    std::vector<PluginFile> files;
    std::vector<int> numbers;
    for (const auto& [space, says] : c.here) {
      Candidate candidate;
      candidate.file.path = space;
      candidate.file.name = std::string(space) + "_plugin";
      candidate.operators.push_back(std::make_shared<const OperatorInfo>(with_space(space, says)));
      files.push_back(candidate.file);
      numbers.push_back(built.builder.add_file(std::move(candidate)));
    }
    built.builder.add_layer({numbers});
    built.build();
    std::string note;
    const auto found =
        find_saved(*built.index, files, {c.name, &not_own, c.plugin, c.application}, note);
    CHECK((found == CatalogIndex::nowhere ? "nobody" : built.index->operators[found].full_name()) ==
          c.meant);
    CHECK(note.empty() == !c.noted);
  }
  // Operators that may stand in for acme.rope.
  const auto stands_in = [&](const char* space, bool says, const OperatorInfo* saved,
                             std::string_view plugin) {
    Built built;
    Candidate candidate;
    candidate.file.name = "p";
    candidate.operators.push_back(std::make_shared<const OperatorInfo>(with_space(space, says)));
    const std::vector<PluginFile> files{candidate.file};
    built.builder.add_layer({{built.builder.add_file(std::move(candidate))}});
    built.build();
    std::string note;
    const bool found = find_saved(*built.index, files, {"acme.rope", saved, plugin, false}, note) !=
                       CatalogIndex::nowhere;
    CHECK(found == !note.empty());
    return found;
  };
  CHECK(stands_in("beta", false, &own, "q"));
  CHECK_FALSE(stands_in("beta", true, &own, "q"));
  CHECK(stands_in("beta", true, &not_own, "q"));
  CHECK(stands_in("beta", true, &own, "p"));
  CHECK(stands_in("beta", false, nullptr, ""));
  CHECK_FALSE(stands_in("beta", true, nullptr, ""));
  CHECK_FALSE(stands_in("tenon", true, &not_own, "q"));
  CHECK(stands_in("tenon", true, &not_own, "p"));
}
