// Texts of plugins, files and the command line cannot control the terminal.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "cli/workplace.hpp"

namespace {

namespace fs = std::filesystem;

// Checks the bytes: no control characters, including the two-byte ones (c2 80 ... c2 9f), and no
// bidirectional controls.
bool is_clean(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](std::size_t ahead) {
      return i + ahead < text.size() ? static_cast<unsigned char>(text[i + ahead]) : 0U;
    };
    if ((at(0) < 0x20 && text[i] != '\n') || at(0) == 0x7f || at(0) == 0xff) return false;
    if (at(0) == 0xc2 && at(1) < 0xa0) return false;
    if (at(0) == 0xe2 && at(1) == 0x80 && at(2) >= 0xaa && at(2) <= 0xae) return false;
  }
  return true;
}

bool forges_line(const std::string& text) {
  return has(text, "\nerror: forged") || text.starts_with("error: forged");
}

const std::string wild = "\x1b[2J\x1b]0;t\x07\nerror: forged \xff\u202e\u009b",
                  quoted = R"(\x1b[2J\x1b]0;t\x07\x0aerror: forged \xff)";

}  // namespace

TEST_CASE("quoting: a kernel's messages are one line, in errors and in reports of checks") {
  const Workplace place;
  place.write("wild.json",
              graph_json(R"({"name": "a", "op": "drives_terminal", "inputs": ["x"]})"));
  const auto plugin = (fs::path(TENON_TEST_FAULTS) / "fails_in_calls.so").string();
  const std::string said =
      R"(\x1b[2J\x1b]0;title\x07\x0d\x0aerror: forged\x0ahint: \xff\xe2\x80\xae\xc2\x9b)";
  const auto run = place.run({"--plugins", plugin, "run", "wild.json", "--input", "x=x.npy"});
  CHECK(run.code == 1);
  CHECK(run.err == "error: [drives_terminal] node 'a': " + said + " (x float32 [2, 4])\n");
  const auto json =
      place.run({"--plugins", plugin, "--json", "run", "wild.json", "--input", "x=x.npy"});
  CHECK(is_clean(json.err));
  CHECK(has(json.err, R"(\\x1b[2J)"));
  const auto check = place.run({"check", plugin, "--op", "drives_terminal"});
  CHECK(is_clean(check.out));
  CHECK_FALSE(forges_line(check.out));
  CHECK(has(check.out, said));
}

TEST_CASE("quoting: command-line arguments, file names and file contents") {
  const Workplace place;
  fs::create_directory(place.folder() / "plugins");
  fs::copy_file(fs::path(TENON_TEST_FAULTS) / "no_plugin.so",
                place.folder() / ("plugins/" + wild + ".so"));
  fs::copy_file(fs::path(TENON_TEST_FAULTS) / "plain.so",
                place.folder() / ("plugins/good" + wild + ".so"));
  fs::permissions(place.folder() / "plugins", fs::perms::owner_all);
  const auto plugins = (place.folder() / "plugins").string();
  place.write(wild + ".json", graph_json(R"({"name": "a", "op": "relu", "inputs": ["x"]})"));
  place.write("names.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]}},
 "nodes": [{"name": "\u001b[2J", "op": "relu", "inputs": ["x"]}], "outputs": {"y": "x"}})");
  place.write("bidi.json",
              R"({"tenon": 1, "inputs": {"\u202e\u009b": {"dtype": "float32", "shape": [2]}},
 "nodes": [{"name": "a", "op": "relu", "inputs": ["\u202e\u009b"]}], "outputs": {"y": "a"}})");
  struct Case {
    Words arguments;
    int code;
    std::string shown;  // in stdout or stderr
  };
  const Case cases[] = {
      {{wild}, 2, "there is no command '" + quoted},
      {{"list", "--" + wild}, 2, "has no option '--" + quoted},
      {{"doctor", wild}, 2, "unexpected argument '" + quoted},
      {{"list", wild}, 3, "no operator matches '" + quoted},
      {{"--threads", wild, "list"}, 2, "--threads is '" + quoted},
      {{"--device", wild, "list"}, 2, quoted},
      {{"--plugins", wild, "list"}, 4, "/" + quoted + R"(\xe2\x80\xae\xc2\x9b' cannot be read)"},
      {{"--plugins", plugins, "list"}, 0, "/plugins/" + quoted},
      {{"--plugins", plugins, "doctor"}, 1, "/plugins/" + quoted},
      {{"--plugins", plugins, "inspect", "plain"}, 0, "/plugins/good" + quoted},
      {{"inspect", wild}, 3, quoted},
      {{"show", wild}, 4, "cannot read " + quoted},
      {{"validate", wild + ".json"}, 0, quoted},
      {{"build", wild + ".json", "-o", wild + ".tenon"}, 0, "wrote " + quoted},
      {{"run", "names.json"}, 2, R"(\x1b[2J)"},
      {{"run", "bidi.json"}, 2, R"(\xe2\x80\xae\xc2\x9b)"},
      {{"run", "g.json", "--input", wild + "=x.npy"}, 2, quoted},
      {{"run", "g.json", "--input", "x=" + wild + ".npy"}, 4, "cannot read " + quoted},
      {{"run", "g.json", "--output", wild}, 2, quoted},
      {{"trust", wild}, 4, quoted},
      {{"check", wild}, 4, quoted},
      {{"new", wild}, 2, quoted},
      {{"plot", wild, "-o", "a.svg"}, 4, quoted},
  };
  for (const auto& one : cases) {
    const auto& [arguments, code, shown] = one;
    CAPTURE(command_line(one.arguments));
    const auto result = place.run(arguments);
    CHECK(result.code == code);
    const auto all = result.out + result.err;
    CAPTURE(all);
    CHECK(has(all, shown));
    CHECK(is_clean(all));
    CHECK_FALSE(forges_line(all));
    auto as_json = arguments;
    as_json.insert(as_json.begin(), "--json");
    const auto json = place.run(as_json);
    CHECK(is_clean(json.out + json.err));
    CHECK_FALSE(forges_line(json.out + json.err));
  }
}
