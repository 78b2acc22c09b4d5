// tenon trust: a plugin that crashed is listed, refused, and tried again after its release.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "cli/json_keys.hpp"
#include "cli/workplace.hpp"

namespace {

/// A workplace with its own plugins and cache.
class Suspects {
 public:
  Suspects() {
    std::filesystem::create_directory(plugins());
    for (const auto* name : {"crash_at_load", "plain"})
      std::filesystem::copy_file(
          std::filesystem::path(TENON_TEST_FAULTS) / (std::string(name) + ".so"), plugin(name));
    for (const auto* name : {"crash_at_load", "plain"}) {
      place_.write(
          std::string(name) + ".json",
          graph_json(R"({"name": "a", "op": ")" + std::string(name) + R"(", "inputs": ["x"]})"));
    }
    chmod(plugins().c_str(), 0755);
    for (const auto* name : {"crash_at_load", "plain"}) chmod(plugin(name).c_str(), 0755);
  }
  std::filesystem::path plugins() const { return place_.folder() / "plugins"; }
  std::filesystem::path plugin(const std::string& name) const { return plugins() / (name + ".so"); }
  ProgramResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--plugins", plugins().string()});
    return run_tenon(arguments, {place_.folder().path(), place_.folder() / "cache", {}});
  }

 private:
  Workplace place_;
};

}  // namespace

TEST_CASE("trust: quarantine, from a crash to a release") {
  const Suspects suspects;
  const auto path = suspects.plugin("crash_at_load").string();
  const std::string how = "crashed with SIGSEGV while being loaded in a child process";
  const auto hint =
      "hint: it stays quarantined until it or a library that it needs is rebuilt; `tenon trust " +
      path + "` releases it now\n";
  const auto nothing = suspects.run({"trust"});
  CHECK(nothing.code == 0);
  CHECK(nothing.out == "");
  CHECK(nothing.err == "no plugin is quarantined or refused\n");

  const auto first = suspects.run({"run", "crash_at_load.json"});
  CHECK(first.code == 3);
  CHECK(first.err ==
        "error: crash_at_load.json:2:12: operator 'crash_at_load.crash_at_load' cannot be used: " +
            path + " " + how + "\n" + hint);

  const auto second = suspects.run({"run", "crash_at_load.json"});
  CHECK(second.code == 3);
  CHECK(second.err ==
        "error: crash_at_load.json:2:12: operator 'crash_at_load' of node 'a' cannot be used: " +
            path + ", which has operator 'crash_at_load', is quarantined: it " + how + "\n" + hint);
  CHECK(suspects.run({"run", "plain.json"}).code == 0);  // other plugins still work

  const auto listed = suspects.run({"trust"});
  CHECK(listed.code == 0);
  CHECK(listed.out == "quarantined  " + path + ": " + how + "\n");
  const auto json = suspects.run({"--json", "trust"});
  CHECK(json_keys(json.out) == std::set<std::string>{"state", "path", "reason"});

  const auto other = suspects.run({"trust", suspects.plugin("plain").string()});
  CHECK(other.code == 0);
  CHECK(other.out == "");
  CHECK(other.err ==
        suspects.plugin("plain").string() + " is not quarantined, and only you can write to it\n");

  for (const std::string& named : {path, std::string("plugins/crash_at_load.so"),
                                   std::string("plugins"), std::string("plugins/")}) {
    CAPTURE(named);
    const auto released = suspects.run({"trust", named});
    CHECK(released.code == 0);
    CHECK(released.out == "released     " + path + ": " + how + "\n");
    CHECK(suspects.run({"trust"}).out == "");
    // tried again, it crashed again and was reported again
    CHECK(suspects.run({"run", "crash_at_load.json"}).err == first.err);
  }
}

TEST_CASE("trust: quarantine applies to content, not to a name") {
  const Suspects suspects;
  const auto path = suspects.plugin("crash_at_load");
  suspects.run({"run", "crash_at_load.json"});
  write_bytes(path, read_bytes(path) + " ");
  CHECK(suspects.run({"trust"}).out.find("(the file has changed and will be tried again)\n") !=
        std::string::npos);
  std::filesystem::remove(path);
  CHECK(suspects.run({"trust"}).out.find("(the file no longer exists)\n") != std::string::npos);
  CHECK(suspects.run({"trust", path.string()}).code == 0);
  const auto gone = suspects.run({"trust", path.string()});
  CHECK(gone.code == 4);
  CHECK(gone.err == "error: cannot read " + path.string() +
                        ": there is no such file\nhint: tenon trust lists the quarantined files\n");
}

TEST_CASE("trust: plugins that others can write to") {
  const Suspects suspects;
  const auto path = suspects.plugin("plain");
  REQUIRE(chmod(path.c_str(), 0757) == 0);
  const auto why =
      path.string() + " is not trusted: everyone can write to the file " + path.string() + "\n";
  const auto listed = suspects.run({"trust"});
  CHECK(listed.code == 0);
  CHECK(listed.out == "refused      " + path.string() +
                          ": is not trusted: everyone can write to the file " + path.string() +
                          "\n");

  const auto asked = suspects.run({"trust", path.string()});
  CHECK(asked.code == 3);
  CHECK(asked.out == "");
  CHECK(asked.err == "error: " + why +
                         "hint: remove other users' write permission (chmod go-w), or use "
                         "--trust-writable if they can be trusted\n");

  const std::string hint =
      "remove other users' write permission (chmod go-w), or accept plugins that others can write "
      "to (--trust-writable)";
  const auto refused = suspects.run({"run", "plain.json"}),
             as_json = suspects.run({"--json", "run", "plain.json"});
  CHECK(refused.code == 3);
  CHECK(refused.err.ends_with("\nhint: " + hint + "\n"));
  CHECK(as_json.err.find("\"hint\": \"" + hint + "\"") != std::string::npos);
  CHECK(suspects.run({"--trust-writable", "run", "plain.json"}).code == 0);
  CHECK(suspects.run({"--trust-writable", "trust"}).out == "");
}
