// Who wins where two files bring the same thing: tables of small catalogs.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "failure_of.hpp"
#include "plugin/catalog_builder.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

namespace {

struct Brings {
  std::string op;
  int version = 1;
  std::string doc = "";  // what differs between manifests
  std::vector<std::string> aliases = {};
  bool kernels_elsewhere = false;
};
struct File {
  std::string name;
  std::vector<Brings> operators;
  std::vector<KernelInfo> kernels = {};
};

OperatorInfo info_of(const Brings& brings) {
  OperatorInfo info;
  info.name = brings.op;
  info.version = brings.version;
  info.aliases = brings.aliases;
  info.kernels_elsewhere = brings.kernels_elsewhere;
  for (const char c : brings.op + std::to_string(brings.version) + brings.doc) info.manifest.push_back(static_cast<std::byte>(c));
  return info;
}

Candidate candidate_of(const File& file) {
  Candidate candidate;
  candidate.file.path = file.name;
  candidate.file.kernels = file.kernels;
  for (const Brings& brings : file.operators) {
    candidate.file.operators.push_back(brings.op);
    candidate.operators.push_back(info_of(brings));
  }
  return candidate;
}

/// A catalog of these files, all at once or one after the other, which must not matter.
struct Built {
  Built(const std::vector<File>& files, bool at_once) {
    std::vector<Candidate> candidates;
    for (const File& file : files) {
      candidates.push_back(candidate_of(file));
      if (!at_once) builder.add(std::exchange(candidates, {}));
    }
    builder.add(std::move(candidates));
  }
  std::string winner(const std::string& op) const {
    const CatalogOperator* found = catalog.find(op);
    return !found ? "nobody" : found->file < 0 ? "the application" : path(found->file);
  }
  std::string kernel(const std::string& op, const std::string& device) const {
    const KernelChoice choice = builder.kernel(op, device);
    return choice.source == KernelChoice::Source::none ? "nobody" : choice.source == KernelChoice::Source::own ? "own" : path(choice.file);
  }
  std::string path(int file) const { return catalog.files()[static_cast<std::size_t>(file)].path.string(); }
  bool notes(const std::string& text) const {
    const auto& notes = catalog.notes();
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return note.find(text) != std::string::npos; });
  }

  Catalog catalog;
  CatalogBuilder builder{catalog};
};

}  // namespace

TEST_CASE("operators that several files bring") {
  struct Case {
    const char* what;
    std::vector<File> files;
    std::map<std::string, std::string> winners;  // of names
    std::vector<std::string> duplicates;         // files that are not used
    std::string note;
  };
  const Case cases[] = {
      {"alone", {{"a", {{"x"}}}, {"b", {{"y"}}}}, {{"x", "a"}, {"y", "b"}, {"z", "nobody"}}, {}, ""},
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
      {"different manifests: nobody",
       {{"a", {{"x"}}}, {"b", {{"x", 1, "other"}}}, {"c", {{"y"}}}},
       {{"x", "nobody"}, {"y", "c"}},
       {"a", "b"},
       "operator 'x' version 1 is in a and in b with different manifests, so that none is used: remove one of the files"},
      {"three of which one differs: nobody",
       {{"a", {{"x"}}}, {"b", {{"x", 1, "other"}}}, {"c", {{"x"}}}},
       {{"x", "nobody"}},
       {"a", "b", "c"},
       "is in a and in b and in c"},
      {"the highest version",
       {{"a", {{"x", 2}}}, {"b", {{"x", 3}}}, {"c", {{"x", 1}}}},
       {{"x", "b"}},
       {"a", "c"},
       "operator 'x': version 3 in b is used, not version 2 in a"},
      {"a higher version settles a dispute",
       {{"a", {{"x"}}}, {"b", {{"x", 1, "other"}}}, {"c", {{"x", 2}}}},
       {{"x", "c"}},
       {"a", "b"},
       "version 2 in c is used"},
      {"a lower version does not",
       {{"a", {{"x", 2}}}, {"b", {{"x", 2, "other"}}}, {"c", {{"x", 1}}}},
       {{"x", "nobody"}},
       {"a", "b", "c"},
       "remove one of the files"},
      {"aliases", {{"a", {{"x", 1, "", {"also", "ex"}}}}}, {{"x", "a"}, {"also", "a"}, {"ex", "a"}}, {}, ""},
      {"a name beats an alias",
       {{"a", {{"x", 1, "", {"y"}}}}, {"b", {{"y"}}}},
       {{"x", "a"}, {"y", "b"}},
       {},
       "'y' is an alias of operator 'x' and an operator's name: it means the operator of that name"},
      {"an alias of two is neither's",
       {{"a", {{"x", 1, "", {"z"}}}}, {"b", {{"y", 1, "", {"z"}}}}},
       {{"x", "a"}, {"y", "b"}, {"z", "nobody"}},
       {},
       "'z' is an alias of operator 'y' and of operator 'x': it means neither"},
  };
  for (const Case& c : cases) {
    for (const bool at_once : {true, false}) {
      CAPTURE(std::string(c.what));
      CAPTURE(at_once);
      const Built built(c.files, at_once);
      for (const auto& [name, winner] : c.winners) CHECK(built.winner(name) == winner);
      for (const PluginFile& file : built.catalog.files()) {
        const bool duplicate = std::find(c.duplicates.begin(), c.duplicates.end(), file.path.string()) != c.duplicates.end();
        CHECK((file.status == PluginStatus::duplicate) == duplicate);
        CHECK(file.reason.empty() == !duplicate);
      }
      CHECK(built.catalog.notes().empty() == c.note.empty());
      CHECK(built.notes(c.note) == !c.note.empty());
    }
  }
}

TEST_CASE("kernels that several files bring") {
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
      {"none", {{"a", {split}}}, "nobody", "nobody", {}, ""},
      {"from another plugin, before and after",
       {{at("k"), {}, {cpu}}, {"a", {split}}, {at("k_other"), {}, {cuda}}},
       at("k"),
       at("k_other"),
       {"cpu", "cuda"},
       ""},
      {"beside the operator, instead of its own functions", {{"a", {whole}, {cpu, cuda}}}, "a", "a", {"cpu", "cuda"}, ""},
      {"the same file twice: the first",
       {{"a", {split}}, {at("k"), {}, {cpu}}, {at("k_again"), {}, {cpu}}},
       at("k"),
       "nobody",
       {"cpu"},
       "the same file twice: the first is used"},
      {"two that differ: nobody",
       {{"a", {split}}, {at("k"), {}, {cpu}}, {at("k_other"), {}, {cpu, cuda}}},
       "nobody",
       at("k_other"),
       {"cuda"},
       "the cpu kernel of operator 'x' is in " + at("k") + " and in " + at("k_other") + ": neither is used"},
      {"against the operator's own functions: nobody",
       {{"a", {whole}}, {at("k"), {}, {cpu}}},
       "nobody",
       "nobody",
       {},
       "the cpu kernel of operator 'x' is in a and in " + at("k") + ": neither is used"},
      {"kernels of a losing duplicate lose with it",
       {{"a", {split}, {cuda}}, {"b", {split}, {cpu, cuda}}},
       "nobody",
       "a",
       {"cuda"},
       "the first is used"},
  };
  for (const Case& c : cases) {
    for (const bool at_once : {true, false}) {
      CAPTURE(std::string(c.what));
      const Built built(c.files, at_once);
      CHECK(built.kernel("x", "cpu") == c.cpu);
      CHECK(built.kernel("x", "cuda") == c.cuda);
      CHECK(built.catalog.find("x")->devices == c.devices);
      CHECK(built.notes(c.note) == !c.note.empty());
    }
  }
}

TEST_CASE("a kernel whose operator is nowhere waits, and its file is no duplicate") {
  const Built built({{"k", {}, {{"x", "cuda"}}}}, true);
  CHECK(built.catalog.files()[0].status == PluginStatus::indexed);
}

TEST_CASE("the application's own operators") {
  Built built({{"a", {{"x", 1, "", {"ex"}}}}}, true);
  built.builder.add_own(info_of({"mine"}));
  CHECK(built.winner("mine") == "the application");
  for (const char* taken : {"x", "ex", "mine"}) {
    const FailureText failure = failure_of([&] { built.builder.add_own(info_of({taken})); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == std::string("operator '") + taken + "' cannot be added: the catalog has an operator of that name");
  }
  built.builder.add({});
  std::vector<Candidate> later;
  later.push_back(candidate_of({"b", {{"mine", 7}}, {{"mine", "cpu"}}}));
  built.builder.add(std::move(later));
  CHECK(built.winner("mine") == "the application");
  CHECK(built.kernel("mine", "cpu") == "own");
  CHECK(built.notes("operator 'mine' version 7 in b is not used: the application has an operator of that name"));
}
