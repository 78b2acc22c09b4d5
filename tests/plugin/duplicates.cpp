// Conflict resolution between files, as tables of small catalogs.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "failure_of.hpp"
#include "plugin/small_catalog.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

TEST_CASE("conflicts: several files have the same operator") {
  struct Case {
    const char* what;
    std::vector<File> files;
    std::map<std::string, std::string> winners;  // by name
    std::vector<std::string> duplicates;         // files that are not used
    std::string note;
  };
  const Case cases[] = {
      {"no duplicates",
       {{"a", {{"x"}}}, {"b", {{"y"}}}},
       {{"x", "a"}, {"y", "b"}, {"z", "nobody"}},
       {},
       ""},
      {"the same manifest: the first",
       {{"a", {{"x"}}}, {"b", {{"x"}}}},
       {{"x", "a"}},
       {"b"},
       "operator 'x' version 1 is in a and, with the same manifest, in b: the first is used"},
      {"the same manifest, but the second has more",
       {{"a", {{"x"}}}, {"b", {{"x"}, {"y"}}}},
       {{"x", "a"}, {"y", "b"}},
       {},
       "the first is used"},
      {"different manifests: neither",
       {{"a", {{"x"}}}, {"b", {{"x", 1, "other"}}}, {"c", {{"y"}}}},
       {{"x", "nobody"}, {"y", "c"}},
       {"a", "b"},
       "operator 'x' version 1 is in a and in b with different manifests, so neither is used: "
       "remove one of the files"},
      {"three of which one differs: none of them",
       {{"a", {{"x"}}}, {"b", {{"x", 1, "other"}}}, {"c", {{"x"}}}},
       {{"x", "nobody"}},
       {"a", "b", "c"},
       "is in a and in b and in c"},
      {"the highest version",
       {{"a", {{"x", 2}}}, {"b", {{"x", 3}}}, {"c", {{"x", 1}}}},
       {{"x", "b"}},
       {"a", "c"},
       "operator 'x': version 3 in b is used, not version 2 in a"},
      {"a higher version resolves a conflict",
       {{"a", {{"x"}}}, {"b", {{"x", 1, "other"}}}, {"c", {{"x", 2}}}},
       {{"x", "c"}},
       {"a", "b"},
       "version 2 in c is used"},
      {"a lower version does not resolve it",
       {{"a", {{"x", 2}}}, {"b", {{"x", 2, "other"}}}, {"c", {{"x", 1}}}},
       {{"x", "nobody"}},
       {"a", "b", "c"},
       "remove one of the files"},
      {"aliases",
       {{"a", {{"x", 1, "", {"also", "ex"}}}}},
       {{"x", "a"}, {"also", "a"}, {"ex", "a"}},
       {},
       ""},
      {"a name has precedence over an alias",
       {{"a", {{"x", 1, "", {"y"}}}}, {"b", {{"y"}}}},
       {{"x", "a"}, {"y", "b"}},
       {},
       "'y' is an alias of operator 'x' and the name of another operator: the name wins"},
      {"an alias of two operators is ambiguous",
       {{"a", {{"x", 1, "", {"z"}}}}, {"b", {{"y", 1, "", {"z"}}}}},
       {{"x", "a"}, {"y", "b"}, {"z", "nobody"}},
       {},
       "'z' is an alias of operator 'y' and of operator 'x': it refers to neither"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    const Built built(c.files);
    for (const auto& [name, winner] : c.winners) CHECK(built.winner(name) == winner);
    for (std::size_t i = 0; i < built.paths.size(); ++i) {
      const bool duplicate =
          std::find(c.duplicates.begin(), c.duplicates.end(), built.paths[i]) != c.duplicates.end();
      CHECK(built.unused[i].empty() == !duplicate);
    }
    CHECK(built.index->notes.empty() == c.note.empty());
    CHECK(built.notes(c.note) == !c.note.empty());
  }
}

TEST_CASE("conflicts: several files have the same kernel") {
  TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  write_bytes(at("k"), "one kernel");
  write_bytes(at("k_again"), "one kernel");
  write_bytes(at("k_other"), "another!!!");
  const Brings split{"x", 1, "", {}, true}, whole{"x"};
  const KernelInfo cpu{"x", "cpu"}, cuda{"x", "cuda"};
  struct Case {
    const char* what;
    std::vector<File> files;
    std::string cpu, cuda;
    std::vector<std::string> devices;
    std::string note;
  };
  const Case cases[] = {
      {"its own functions", {{"a", {whole}}}, "own", "nobody", {"cpu"}, ""},
      {"no kernel", {{"a", {split}}}, "nobody", "nobody", {}, ""},
      {"from another plugin, before and after",
       {{at("k"), {}, {cpu}}, {"a", {split}}, {at("k_other"), {}, {cuda}}},
       at("k"),
       at("k_other"),
       {"cpu", "cuda"},
       ""},
      {"in the operator's file, instead of its own functions",
       {{"a", {whole}, {cpu, cuda}}},
       "a",
       "a",
       {"cpu", "cuda"},
       ""},
      {"the same file twice: the first",
       {{"a", {split}}, {at("k"), {}, {cpu}}, {at("k_again"), {}, {cpu}}},
       at("k"),
       "nobody",
       {"cpu"},
       "which are identical: the first is used"},
      {"two that differ: neither",
       {{"a", {split}}, {at("k"), {}, {cpu}}, {at("k_other"), {}, {cpu, cuda}}},
       "nobody",
       at("k_other"),
       {"cuda"},
       "the cpu kernel of operator 'x' is in " + at("k") + " and in " + at("k_other") +
           ": neither is used"},
      {"one conflicts with the operator's own functions: neither",
       {{"a", {whole}}, {at("k"), {}, {cpu}}},
       "nobody",
       "nobody",
       {},
       "the cpu kernel of operator 'x' is in a and in " + at("k") + ": neither is used"},
      {"kernels of a discarded duplicate are discarded",
       {{"a", {split}, {cuda}}, {"b", {split}, {cpu, cuda}}},
       "nobody",
       "a",
       {"cuda"},
       "the first is used"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    const Built built(c.files);
    CHECK(built.kernel("x", "cpu") == c.cpu);
    CHECK(built.kernel("x", "cuda") == c.cuda);
    CHECK(built.index->operators[built.index->find("x")].devices == c.devices);
    CHECK(built.notes(c.note) == !c.note.empty());
  }
}

TEST_CASE("kernels: a kernel without its operator waits for it, and its file is not a duplicate") {
  Built built({{"k", {}, {{"x", "cuda"}}}});
  CHECK(built.unused[0].empty());
  built.call({{{"a", {{"x"}}}}});
  CHECK(built.kernel("x", "cuda") == "k");
}

TEST_CASE(
    "conflicts: a later call replaces earlier operators, whatever their versions and manifests") {
  struct Case {
    const char* what;
    std::vector<Folder> calls;  // one folder per call
    std::map<std::string, std::string> winners;
    std::vector<std::string> duplicates;
    std::string note;
  };
  const Case cases[] = {
      {"a lower version",
       {{{"a", {{"x", 3}}}}, {{"b", {{"x", 1}}}}},
       {{"x", "b"}},
       {"a"},
       "operator 'x' version 3 of a is not used: b, which was added later, also has it"},
      {"the same version with another manifest",
       {{{"a", {{"x"}}}}, {{"b", {{"x", 1, "other"}}}}},
       {{"x", "b"}},
       {"a"},
       "added later"},
      {"the same manifest",
       {{{"a", {{"x"}}}}, {{"b", {{"x"}}}}},
       {{"x", "b"}},
       {"a"},
       "added later"},
      {"one of two operators",
       {{{"a", {{"x"}, {"y"}}}}, {{"b", {{"x", 2}}}}},
       {{"x", "b"}, {"y", "a"}},
       {},
       "added later"},
      {"a conflict leaves the earlier operator",
       {{{"a", {{"x"}}}}, {{"b", {{"x", 2}}}, {"c", {{"x", 2, "other"}}}}},
       {{"x", "a"}},
       {"b", "c"},
       "operator 'x' version 2 is in b and in c with different manifests, so neither is used"},
      {"a later call resolves a conflict",
       {{{"a", {{"x"}}}, {"b", {{"x", 1, "other"}}}}, {{"c", {{"x"}}}}},
       {{"x", "c"}},
       {"a", "b"},
       "of a is not used"},
      {"an alias",
       {{{"a", {{"x", 1, "", {"z"}}}}}, {{"b", {{"y", 1, "", {"z"}}}}}},
       {{"z", "b"}},
       {},
       "'z' is an alias of operator 'x' and of operator 'y': it refers to the latter"},
      {"an alias does not replace an operator of that name",
       {{{"a", {{"x"}}}}, {{"b", {{"y", 1, "", {"x"}}}}}},
       {{"x", "a"}},
       {},
       "the name of another operator"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    Built built;
    for (const Folder& folder : c.calls) built.call({folder});
    for (const auto& [name, winner] : c.winners) CHECK(built.winner(name) == winner);
    for (std::size_t i = 0; i < built.paths.size(); ++i) {
      CAPTURE(built.paths[i]);
      const bool duplicate =
          std::find(c.duplicates.begin(), c.duplicates.end(), built.paths[i]) != c.duplicates.end();
      CHECK(built.unused[i].empty() == !duplicate);
    }
    CHECK(built.notes(c.note));
  }
}

TEST_CASE(
    "versions: other versions stay available for graphs that need them, with the kernels of their "
    "own file or folder") {
  struct Case {
    const char* what;
    std::vector<Folder> calls;
    std::string winner;
    std::vector<std::string> others, cuda;  // files; owners of their cuda kernels
  };
  const std::vector<KernelInfo> cuda{{"x", "cuda"}};
  const Case cases[] = {
      {"one version", {{{"a", {{"x"}}}, {"b", {{"x"}}}}}, "a", {}, {}},
      {"one folder",
       {{{"a", {{"x", 1}}, cuda}, {"b", {{"x", 3}}}, {"c", {{"x", 2}}}}},
       "b",
       {"a", "c"},
       {"a", "nobody"}},
      {"the later call has the older version",
       {{{"a", {{"x", 3}}}}, {{"b", {{"x", 1}}}}},
       "b",
       {"a"},
       {"nobody"}},
      {"kernels in another file",
       {{{"a", {{"x", 1}}}, {"k", {}, cuda}}, {{"b", {{"x", 2}}}}},
       "b",
       {"a"},
       {"k"}},
      {"kernels of the other folder do not apply",
       {{{"a", {{"x", 1}}}}, {{"b", {{"x", 2}}}, {"k", {}, cuda}}},
       "b",
       {"a"},
       {"nobody"}},
      {"two that differ are both discarded",
       {{{"a", {{"x", 1}}}, {"b", {{"x", 1, "other"}}}, {"c", {{"x", 2}}}}},
       "c",
       {},
       {}},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    Built built;
    for (const Folder& folder : c.calls) built.call({folder});
    CHECK(built.winner("x") == c.winner);
    std::vector<std::string> others, kernels;
    for (const auto& [name, versions] : built.index->other_versions)
      for (const auto& version : versions) {
        others.push_back(built.path(version->file));
        const auto& kernel = version->kernels[TENON_CUDA];
        kernels.push_back(kernel.source == KernelChoice::Source::none ? "nobody"
                                                                      : built.path(kernel.file));
        CHECK(version->kernels[TENON_CPU].source == KernelChoice::Source::operator_table);
      }
    CHECK(others == c.others);
    CHECK(kernels == c.cuda);
  }
}

TEST_CASE("versions: a file added by path is not bypassed for a version in a folder") {
  Built built;
  built.call({{{"a", {{"x", 3}}}}});
  const auto name = [&](const File& file) {
    built.paths.push_back(file.name);
    built.builder.add_named({built.builder.add_file(candidate_of(file))});
    built.build();
  };
  name({"b", {{"x", 1}}});
  CHECK(built.winner("x") == "b");
  CHECK(built.index->other_versions.empty());
  name({"c", {{"x", 2}}});
  REQUIRE(built.index->other_versions.at("x").size() == 1);
  CHECK(built.path(built.index->other_versions.at("x")[0]->file) == "b");
}

TEST_CASE(
    "precedence: the first folder of a call wins; default folders come last whenever they are "
    "read") {
  using Layer = CatalogBuilder::Layer;
  Built built;
  built.call({{{"given", {{"x"}}}}});
  built.call({{{"first", {{"x", 9}, {"y"}}}}, {{"second", {{"y", 5}, {"z"}}}}}, Layer::defaults);
  CHECK(built.winner("x") == "given");
  CHECK(built.winner("y") == "first");
  CHECK(built.winner("z") == "second");
  CHECK(
      built.notes("operator 'y' version 5 of second is not used: the folder of first, which also "
                  "has it, comes first"));
  built.call({{{"late", {{"y"}}}}});
  CHECK(built.winner("y") == "late");
}

TEST_CASE("kernels: a kernel serves the operator its name referred to, not a later replacement") {
  const KernelInfo cpu{"x", "cpu"}, cuda{"x", "cuda"};
  const auto x = [](const char* doc) { return Brings{"x", 1, doc, {}, false, "app"}; };
  Built built({{"a", {x("")}}});
  built.call({{{"k", {}, {cpu, cuda}}}});
  CHECK(built.kernel("x", "cpu") == "k");  // added later than the operator's own functions
  CHECK(built.kernel("x", "cuda") == "k");
  CHECK(built.notes("the cpu kernel of operator 'app.x' is in k and in a: the first is used"));
  built.call({{{"k_new", {}, {cuda}}}});
  CHECK(built.kernel("x", "cuda") == "k_new");
  built.call({{{"b", {x("other")}}}});
  CHECK(built.kernel("x", "cpu") == "own");
  CHECK(built.kernel("x", "cuda") == "nobody");
  CHECK_FALSE(built.unused[1].empty());
  built.own({"x"});
  CHECK(built.kernel("x", "cpu") == "own");
  CHECK(built.kernel("x", "cuda") == "nobody");
}

TEST_CASE(
    "kernels: an operator added again unchanged keeps its kernels, unless it was replaced "
    "meanwhile") {
  const KernelInfo cpu{"x", "cpu"}, cuda{"x", "cuda"};
  const auto elsewhere = [](const char* doc) { return Brings{"x", 1, doc, {}, true}; };
  Built built({{"a", {elsewhere("")}}});
  built.call({{{"k", {}, {cpu}}}});
  built.call({{{"k2", {}, {cuda}}}});
  const auto definition = built.definition("x");
  built.builder.add_layer({{0}});
  built.build();
  CHECK(built.definition("x") == definition);
  CHECK(built.kernel("x", "cpu") == "k");
  CHECK(built.kernel("x", "cuda") == "k2");

  built.call({{{"b", {elsewhere("other")}}}});
  built.call({{{"k3", {}, {cuda}}}});
  CHECK(built.kernel("x", "cpu") == "nobody");
  CHECK(built.kernel("x", "cuda") == "k3");
  built.builder.add_layer({{0}});
  built.build();
  CHECK(built.winner("x") == "a");
  CHECK(built.kernel("x", "cuda") == "nobody");
}

TEST_CASE("precedence: a file added again takes the new precedence and keeps its definition") {
  Built built({{"a", {{"x"}}}});
  const auto first = built.definition("x");
  built.call({{{"b", {{"x"}}}}});
  CHECK(built.definition("x") != first);
  const auto second = built.definition("x");
  built.own({"y"});
  CHECK(built.definition("x") == second);
  built.builder.add_layer({{0}});
  built.build();
  CHECK(built.winner("x") == "a");
  CHECK(built.definition("x")->info == first->info);
}

TEST_CASE("precedence: operators of the application and of the host") {
  const auto mine = [](const char* op) { return Brings{op, 1, "", {}, false, "app"}; };
  const auto core = [](const char* op, int version = 1) {
    return Brings{op, version, "", {}, false, "tenon"};
  };
  Built built({{"a", {{"x", 1, "", {"ex"}, false, "app"}}}});
  built.builder.add_builtin(info_of({"core"}), InProcessOperator{});
  for (const char* name : {"mine", "x", "ex", "mine"}) {
    built.own({name});
    CHECK(built.winner(name) == "the application");
  }
  CHECK(built.winner("x") == "the application");
  built.call({{{"b", {mine("mine"), core("core", 7)}, {{"core", "cuda"}}}}});
  CHECK(built.winner("mine") == "b");
  CHECK(built.winner("core") == "the application");
  CHECK(built.notes("operator 'tenon.core' version 7 of b is not used: it is built into the host"));
  CHECK(built.builder.add_application_operator(info_of({"core"}), {}) == "app.core");
  built.call({{{"c", {}, {{"core", "cuda"}, {"core", "cpu"}}}}});
  CHECK(built.kernel("tenon.core", "cuda") == "c");
  CHECK(built.kernel("tenon.core", "cpu") == "own");
  CHECK(built.kernel("app.core", "cuda") == "nobody");
}
