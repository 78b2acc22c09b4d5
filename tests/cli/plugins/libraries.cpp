// Libraries of plugins: the program uses those that the system's loader would use for the plugin's
// path.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"

namespace fs = std::filesystem;

namespace {

const fs::path libraries = TENON_TEST_FAULTS "/libraries";

/// A folder with plugins and their libraries in different folders; each library has its own number.
class LibraryPlace {
 public:
  LibraryPlace() {
    write_bytes(at("x.npy"), npy_bytes("<f4", "(1,)", 0) + std::string("\0\0\x80\x3f", 4));
  }  // 1
  fs::path at(const fs::path& name) const { return fs::path(folder_.path()) / name; }
  void put(const std::string& built, const std::string& name) const {
    fs::create_directories(at(name).parent_path());
    fs::copy_file(libraries / built, at(name), fs::copy_options::overwrite_existing);
  }
  void library(const std::string& number, const std::string& folder) const {
    put(number + "/libnumber.so", folder + "/libnumber.so");
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_directories(at(name).parent_path());
    fs::create_symlink(target, at(name));
  }
  ProgramResult run(Words words, std::map<std::string, std::string> environment = {}) const {
    words.insert(words.begin(), "--trust-writable");
    return run_tenon(
        words,
        {.folder = folder_.path(), .cache = at("cache"), .environment = std::move(environment)});
  }
  /// Returns the result of a unary operator for 1, or the error.
  std::string call(const Words& plugins, const std::string& op,
                   std::map<std::string, std::string> environment = {}) const {
    Words words{"call", op, "--input", "x=x.npy"};
    words.insert(words.begin(), plugins.begin(), plugins.end());
    const auto result = run(words, std::move(environment));
    const std::string before = "y  float32 [1]  ";
    return result.code == 0 && result.out.starts_with(before)
               ? result.out.substr(before.size(), result.out.size() - before.size() - 1)
               : result.out + result.err;
  }

 private:
  TemporaryFolder folder_;
};

const Words isolations[] = {{}, {"--isolate", "all"}};

}  // namespace

TEST_CASE(
    "libraries: a plugin gets the library that the system's loader finds for its path, also if "
    "isolated") {
  const LibraryPlace place;
  place.put("runpath/from_library.so", "vendor/plugins/from_library.so");
  place.library("2", "vendor/lib");
  // ORIGIN/../lib is vendor/lib, whatever home contains
  place.link("../vendor/plugins", "home/plugins");
  place.library("50", "home/lib");
  place.link("vendor", "up");
  // its folder is that of the link
  place.link("../vendor/plugins/from_library.so", "files/from_library.so");
  place.library("50", "lib");
  place.put("runpath/from_library.so", "vendor/other/from_library.so");
  place.put("runpath/from_library.so", "bare/plugins/from_library.so");
  place.library("bare", "bare/lib");
  place.put("runpath/from_library.so", "linked/plugins/from_library.so");
  place.link("../../vendor/lib/libnumber.so", "linked/lib/libnumber.so");
  for (const std::string odd : {"a:b", "$LIB", "$ORIGIN", "\xc3\xa4 x"}) {
    place.put("runpath/from_library.so", odd + "/plugins/from_library.so");
    place.library("2", odd + "/lib");
  }
  place.put("rpath/from_library.so", "old/plugins/from_library.so");
  place.library("2", "old/lib");
  const std::map<std::string, std::string> fifty{
      {"LD_LIBRARY_PATH", place.at("home/lib").string()}},
      relative{{"LD_LIBRARY_PATH", "none:home/lib"}};
  struct Case {
    std::string plugins, number;
    std::map<std::string, std::string> environment = {};
  };
  const Case cases[] = {{"vendor/plugins", "2"},
                        {"home/plugins", "2"},
                        {"home/plugins/../other", "2"},
                        {"home/../home/./plugins", "2"},
                        {"up/plugins", "2"},
                        {"files", "50"},
                        {"bare/plugins", "2"},
                        {"linked/plugins", "2"},
                        {"a:b/plugins", "2"},
                        {"$LIB/plugins", "2"},
                        {"$ORIGIN/plugins", "2"},
                        {"\xc3\xa4 x/plugins", "2"},
                        {"old/plugins", "2"},
                        {"vendor/plugins", "50", fifty},
                        {"vendor/plugins", "50", relative},
                        {"old/plugins", "2", fifty}};
  for (const auto& each : cases)
    for (const bool absolute : {false, true})
      for (const auto& isolated : isolations) {
        CAPTURE(each.plugins);
        CAPTURE(absolute);
        CAPTURE(isolated.size());
        const auto plugins = absolute ? (place.at("") / each.plugins).string() : each.plugins;
        Words words{"--plugins", plugins};
        words.insert(words.end(), isolated.begin(), isolated.end());
        CHECK(place.call(words, "from_library", each.environment) == each.number);
      }
  CHECK(place.call({"--plugins", "home/plugins/from_library.so"}, "from_library") == "2");
}

TEST_CASE(
    "libraries: processor subfolders and run path tokens are resolved as by the system's loader, "
    "also if isolated") {
  const LibraryPlace place;
  // Which ones are searched depends on the machine; in one process, the loader decides.
  for (const std::string subfolder : {"glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3",
                                      "glibc-hwcaps/x86-64-v4", "tls", "x86_64"}) {
    CAPTURE(subfolder);
    const auto top = "in/" + subfolder;
    place.put("runpath/from_library.so", top + "/plugins/from_library.so");
    place.library("2", top + "/lib");
    place.library("50", top + "/lib/" + subfolder);
    const Words plugins{"--plugins", top + "/plugins"},
        isolated{"--isolate", "all", "--plugins", top + "/plugins"};
    const auto number = place.call(plugins, "from_library");
    CHECK((number == "2" || number == "50"));
    CHECK(place.call(isolated, "from_library") == number);
    place.library("2", "by_path/" + subfolder);
    const std::map<std::string, std::string> environment{
        {"LD_LIBRARY_PATH", place.at("by_path").string()}};
    const auto by_path = place.call(plugins, "from_library", environment);
    CHECK(place.call(isolated, "from_library", environment) == by_path);
  }
  place.put("lib/from_library.so", "token/plugins/from_library.so");
  for (const std::string lib : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    place.library("50", "token/" + lib);
    place.library("2", "of_path/" + lib);
  }
  for (const auto& isolated : isolations) {
    CAPTURE(isolated.size());
    Words words{"--plugins", "token/plugins"};
    words.insert(words.end(), isolated.begin(), isolated.end());
    CHECK(place.call(words, "from_library") == "50");
    CHECK(place.call(words, "from_library",
                     {{"LD_LIBRARY_PATH", (place.at("of_path") / "$LIB").string()}}) == "2");
  }
}

TEST_CASE("libraries: plugins in one process get the same libraries as each gets by itself") {
  const LibraryPlace place;
  place.put("runpath/from_library.so", "a/plugins/two.so");
  place.library("2", "a/lib");
  place.put("runpath/from_library.so", "b/plugins/fifty.so");
  place.library("50", "b/lib");
  place.put("version1/counts.so", "c/first.so");
  place.put("version2/counts.so", "c/second.so");
  place.put("shared/one.so", "d/one.so");
  place.put("shared/other.so", "d/other.so");
  place.put("shared/libcounter.so", "d/libcounter.so");
  const auto graph = [&](const Words& names) {
    std::string nodes, outputs;
    for (const auto& name : names) {
      const auto space = name.substr(0, name.find('.'));
      nodes += (nodes.empty() ? "" : ", ") +
               (R"({"name": ")" + space + R"(", "op": ")" + name + R"(", "inputs": ["x"]})");
      outputs += (outputs.empty() ? "" : ", ") + ("\"" + space + "\": \"" + space + "\"");
    }
    return R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [1]}}, "nodes": [)" +
           nodes + R"(], "outputs": {)" + outputs + "}}";
  };
  struct Case {
    Words plugins, operators, results;
  };
  const Case cases[] = {{{"a/plugins", "b/plugins"},
                         {"two.from_library", "fifty.from_library"},
                         {"two  float32 [1]  2", "fifty  float32 [1]  50"}},
                        {{"b/plugins", "a/plugins"},
                         {"fifty.from_library", "two.from_library"},
                         {"two  float32 [1]  2", "fifty  float32 [1]  50"}},
                        // 101 + 1 + 1 of one version, 201 + 2 + 2 of the other: unique symbols are
                        // separate for each plugin
                        {{"c"},
                         {"first.counts", "second.counts"},
                         {"first  float32 [1]  103", "second  float32 [1]  205"}},
                        {{"c"},
                         {"second.counts", "first.counts"},
                         {"first  float32 [1]  103", "second  float32 [1]  205"}}};
  for (const auto& each : cases)
    for (const auto& isolated : isolations) {
      write_bytes(place.at("g.json"), graph(each.operators));
      Words words;
      for (const auto& plugins : each.plugins) words.insert(words.end(), {"--plugins", plugins});
      words.insert(words.end(), isolated.begin(), isolated.end());
      words.insert(words.end(), {"run", "g.json", "--input", "x=x.npy", "--threads", "1"});
      const auto result = place.run(words);
      CAPTURE(each.operators[0]);
      CAPTURE(isolated.size());
      CAPTURE(result.out);
      CAPTURE(result.err);
      for (const auto& line : each.results) CHECK(has(result.out, line + "\n"));
    }
}

TEST_CASE("libraries: a plugin is tried again after its library has changed, for better or worse") {
  const LibraryPlace place;
  place.put("runpath/from_library.so", "p/plugins/from_library.so");
  const auto call = [&] { return place.call({"--plugins", "p/plugins"}, "from_library"); };
  place.library("2", "p/lib");
  CHECK(call() == "2");
  place.library("0", "p/lib");
  CHECK(has(call(), "from_library.so crashed with SIGABRT while being loaded in a child process"));
  const auto again = call();
  CHECK(has(again, "is quarantined: it crashed with SIGABRT"));
  CHECK(has(
      again,
      "hint: it stays quarantined until it or a library that it needs is rebuilt; `tenon trust "));
  place.library("50", "p/lib");
  CHECK(call() == "50");
  fs::remove(place.at("p/lib/libnumber.so"));
  CHECK(has(call(), "needs the library libnumber.so, which was not found"));
}

TEST_CASE("libraries: a plugin finds the files in its folder") {
  const LibraryPlace place;
  place.put("beside/reads_beside.so", "vendor/plugins/reads_beside.so");
  write_bytes(place.at("vendor/plugins/factor.txt"), "2");
  place.link("../vendor/plugins", "home/plugins");
  place.link("../vendor/plugins/reads_beside.so", "files/reads_beside.so");
  write_bytes(place.at("files/factor.txt"), "3");
  struct Case {
    const char *plugins, *number;
  };
  for (const auto& each : {Case{"vendor/plugins", "2"},
                           {"vendor/plugins/reads_beside.so", "2"},
                           {"home/plugins", "2"},
                           {"home/../vendor/plugins", "2"},
                           {"files", "3"}}) {
    CAPTURE(each.plugins);
    CHECK(place.call({"--plugins", each.plugins}, "reads_beside") == each.number);
    CHECK(place.call({"--plugins", place.at(each.plugins).string()}, "reads_beside") ==
          each.number);
  }
  // An isolated plugin gets its folder's path but may not read files.
  CHECK(has(place.call({"--plugins", "vendor/plugins", "--isolate", "all"}, "reads_beside"),
            "cannot read " + place.at("vendor/plugins/factor.txt").string()));

  write_bytes(place.at("g.json"),
              graph_json(R"({"name": "a", "op": "reads_beside", "inputs": ["x"]})"));
  write_bytes(place.at("x4.npy"), npy_bytes("<f4", "(1, 4)", 16));
  const auto made = place.run({"--plugins", "vendor/plugins", "pack", "g.json", "-o", "g.pack",
                               "--with", "vendor/plugins/factor.txt"});
  CHECK(made.code == 0);
  const auto opened = place.run(
      {"run", "g.pack", "--trust", made.out.substr(0, made.out.find('\n')), "--input", "x=x4.npy"});
  CAPTURE(opened.err);
  CHECK(opened.out == "y  float32 [1, 4]  0 0 0 0\n");
}
