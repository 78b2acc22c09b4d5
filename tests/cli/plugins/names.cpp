// Full and short operator names on the command line: namespaces from plugin names, and files that
// outlive a plugin's name.
#include <doctest/doctest.h>

#include <filesystem>
#include <tenon/host/graph.hpp>
#include <tenon/host/graph_info.hpp>
#include <tenon/host/host.hpp>

#include "cli/workplace.hpp"

namespace fs = std::filesystem;

namespace {

/// Builds of a plugin without a name and namespace: each file's name is the namespace of its
/// `keeps_bounds`.
struct NamedPlugins {
  explicit NamedPlugins(const std::vector<std::string>& names) {
    fs::create_directory(place.folder() / "plugins");
    for (const auto& name : names) add(name);
    place.write("q.json", text("keeps_bounds"));
  }
  void add(const std::string& name) const {
    write_bytes(place.folder() / "plugins" / (name + ".so"),
                // not identical copies, which would be one plugin
                read_bytes(fault("keeps_bounds")) + name);
  }
  void rename(const std::string& from, const std::string& to) const {
    fs::rename(place.folder() / "plugins" / (from + ".so"),
               place.folder() / "plugins" / (to + ".so"));
  }
  static std::string text(const std::string& op) {
    return graph_json(R"({"name": "a", "op": ")" + op + R"(", "inputs": ["x"]})");
  }
  ProgramResult run(Words words) const {
    words.insert(words.begin(), {"--plugins", "plugins"});
    return place.run(words);
  }
  Workplace place;
};

}  // namespace

TEST_CASE("names: list, inspect and run distinguish two plugins with the same operator") {
  const NamedPlugins plugins({"one", "two"});
  auto result = plugins.run({"list"});
  CHECK(result.code == 0);
  CHECK(has(result.out, "one.keeps_bounds  "));
  CHECK(has(result.out, "two.keeps_bounds  "));
  CHECK(has(result.err,
            "note: 'keeps_bounds' may refer to one.keeps_bounds and two.keeps_bounds: use the full "
            "name, or prefer a plugin; "
            "plugins without op.space() use their file name as namespace; set op.space() so that "
            "versions of a plugin share one\n"));
  result = plugins.run({"inspect", "two.keeps_bounds"});
  CHECK(has(result.out, "name             two.keeps_bounds\n"));
  CHECK(has(result.out, "two.so"));
  for (const char* command : {"inspect", "call"}) {
    CAPTURE(command);
    result = plugins.run({command, "keeps_bounds"});
    CHECK(result.code == 3);
    CHECK(has(result.err, "it may refer to one.keeps_bounds of "));
    CHECK(has(result.err, "one.so or two.keeps_bounds of "));
    CHECK(has(result.err,
              "hint: plugins without op.space() use their file name as namespace; set op.space() "
              "so that versions of a plugin share one; use "
              "the full name, or prefer a plugin or namespace, such as 'one' (--prefer NAME)\n"));
  }
  CHECK(has(plugins.run({"inspect", "thre.keeps_bounds"}).err,
            "did you mean one.keeps_bounds or two.keeps_bounds?"));

  result = plugins.run({"run", "q.json", "--input", "x=x.npy", "--output", "y"});
  CHECK(result.code == 3);
  CHECK(has(
      result.err,
      "operator 'keeps_bounds' of node 'a' cannot be used: it may refer to one.keeps_bounds of "));
  for (const Words& preference :
       {Words{"--prefer", "two"}, Words{"--prefer", "two.so"}, Words{"--prefer", "plugins/two.so"},
        Words{"--prefer", "tenon_nn", "--prefer", "two"}}) {
    auto words = preference;
    words.insert(words.end(), {"build", "q.json", "-o", "q.tenon"});
    CHECK(plugins.run(words).code == 0);
    CHECK(has(plugins.run({"show", "q.tenon"}).out, "uses      two.keeps_bounds "));
  }
  // The file contains the full name, so a preference has no effect.
  CHECK(plugins.run({"--prefer", "one", "run", "q.tenon", "--input", "x=x.npy", "--output", "y"})
            .code == 0);
  CHECK(has(plugins.run({"--prefer", "one", "show", "q.tenon", "--json"}).out,
            "\"two.keeps_bounds\""));
  result = plugins.run({"--prefer", "thre", "list"});
  CHECK(result.code == 2);
  CHECK(has(result.err, "--prefer: there is no plugin 'thre'"));
}

TEST_CASE("names: files find a renamed plugin, with a warning") {
  const NamedPlugins plugins({"one"});
  plugins.place.write("full.json", plugins.text("one.keeps_bounds"));
  REQUIRE(plugins.run({"build", "q.json", "-o", "q.tenon"}).code == 0);
  REQUIRE(has(plugins.run({"show", "q.tenon"}).out, "uses      one.keeps_bounds "));
  plugins.rename("one", "another");
  for (const char* graph : {"q.tenon", "full.json"}) {
    CAPTURE(graph);
    const auto result = plugins.run({"run", graph, "--input", "x=x.npy", "--output", "y"});
    CHECK(result.code == 0);
    CHECK(has(result.err,
              "warning: operator 'one.keeps_bounds' is not available; 'another.keeps_bounds' of "));
    CHECK(has(result.err, "another.so is used instead\n"));
  }
  REQUIRE(plugins.run({"build", "q.tenon", "-o", "q2.tenon"}).code == 0);
  plugins.add("second");
  const auto result = plugins.run({"run", "q.tenon", "--input", "x=x.npy", "--output", "y"});
  CHECK(result.code == 3);
  CHECK(
      has(result.err,
          "no plugin has the operator 'one.keeps_bounds' (version 1 from plugin one) of node 'a'"));
  INFO(result.err);
  CHECK(has(result.err, "hint: did you mean "));
  CHECK(has(result.err, "another.keeps_bounds"));
  CHECK(has(result.err, "second.keeps_bounds"));
}

TEST_CASE("names: a file of version 0.1 refers to the operator of the plugin it names") {
  const TemporaryFolder folder, cache;
  const auto old_files = fs::path(TENON_TEST_DATA) / "v0.1.0";
  for (const char* name : {"quadratic.so", "another.so"})  // one plugin with two names
    fs::copy_file(old_files / "quadratic.so", folder / name);
  for (const bool present : {true, false}) {  // Tenon also has an operator of that name
    if (!present) fs::remove(folder / "quadratic.so");
    tenon::HostOptions options;
    options.trust_writable = true;
    options.cache = cache.path();
    tenon::Host host(options);
    host.add_plugins(folder.path());
    auto graph = tenon::Graph::load(host, old_files / "checkpoint.tenon");
    const auto names = [&] {
      std::vector<std::string> all;
      for (const auto& op : graph.operators()) all.push_back(op.full_name());
      return all;
    };
    CHECK(names() == Words{"fully_connected", "batch_norm", "quadratic", "mean_squared_error"});
    graph.bind();
    CHECK(names() == Words{"tenon.fully_connected", "tenon.batch_norm",
                           present ? "another.quadratic" : "tenon.quadratic",
                           "tenon.mean_squared_error"});
  }
}

TEST_CASE(
    "names: a plugin with names of bundled operators passes its checks next to them, and does not "
    "affect graphs") {
  const Workplace place;
  const std::string example = TENON_TEST_EXAMPLES "/fully_connected.so";
  auto result = place.run({"--plugins", TENON_TEST_PLUGINS, "check", example});
  CHECK(result.code == 0);
  CHECK(has(result.out, "fully_connected\n  PASSED"));
  CHECK(has(result.out, " 0 failed, 0 crashed"));
  result = place.run({"--plugins", example, "list"});
  CHECK(has(result.out, "\nfully_connected  "));
  CHECK(has(result.out, ".fully_connected  "));
  CHECK(has(result.err,
            "note: 'fully_connected' refers to tenon.fully_connected; use the full name for "));
  CHECK(has(place.run({"--plugins", example, "inspect", "fully_connected"}).out,
            "name             tenon.fully_connected\n"));
  REQUIRE(place.run({"--plugins", example, "build", "g.json", "-o", "h.tenon"}).code == 0);
  CHECK(has(place.run({"show", "h.tenon"}).out, "uses      tenon.fully_connected "));
}

TEST_CASE("names: a plugin in another folder does not get the namespace of bundled plugins") {
  const Workplace place;
  fs::create_directory(place.folder() / "plugins");
  fs::copy_file(TENON_TEST_PLUGINS "/tenon_random.so", place.folder() / "plugins/tenon_random.so");
  const auto result = place.run({"--plugins", "plugins", "list"});
  CHECK(has(result.err,
            "tenon_random.so claims the namespace 'tenon', which is reserved for the plugins "
            "installed with Tenon"));
  CHECK(has(result.out, "\ntenon_random.normal  "));
  CHECK(has(place.run({"--plugins", "plugins", "inspect", "normal"}).out,
            "name             tenon.normal\n"));
}

TEST_CASE("names: invalid operator names are refused in one line") {
  const Workplace place;
  for (const auto& name : Words{".relu", "relu.", "tenon..relu", "a.tenon.relu",
                                "tenon.re\\u001blu", std::string(100000, 'r')}) {
    CAPTURE(name);
    place.write("bad.json",
                graph_json(R"({"name": "a", "op": ")" + name + R"(", "inputs": ["x"]})"));
    const auto result = place.run({"build", "bad.json", "-o", "bad.tenon"});
    CHECK(result.code == 3);
    CHECK(has(result.err, "cannot exist: a name is NAME or SPACE.NAME"));
    CHECK(result.err.size() < 400);
    CHECK(!has(result.err, "\x1b"));
  }
}

TEST_CASE("new: warns that a name is taken") {
  const Workplace place;
  auto result = place.run({"new", "relu"});
  CHECK(result.code == 0);
  CHECK(has(result.err,
            "warning: the short name 'relu' is taken by tenon.relu: either refer to your operator "
            "as relu.relu in graphs"));
  CHECK(has(result.out, "tenon --plugins build inspect relu.relu\n"));
  result = place.run({"new", "nobodys_name"});
  CHECK(result.err.empty());
  CHECK(has(result.out, "tenon --plugins build inspect nobodys_name\n"));
  CHECK(place.run({"new", "tenon"}).code == 2);
}
