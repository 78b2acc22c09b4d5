// Plugins in worker processes, by the command line.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"

namespace {

std::string told(const std::string& what) {
  return graph_json(R"({"name": "a", "op": "misbehaves", "inputs": ["x"], "attrs": {"what": ")" + what + R"("}})");
}

}  // namespace

TEST_CASE("--isolate turns a crash of a kernel into an error of its node") {
  const Workplace site;
  site.write("sound.json", told(""));
  site.write("crash.json", told("segv"));
  site.write("hang.json", told("hangs"));
  const std::string plugin = TENON_TEST_FAULTS "/misbehaves.so";
  for (const std::string name : {"all", "misbehaves"}) {
    const Words isolated{"--plugins", plugin, "--trust-writable", "--isolate", name, "--isolate-timeout",
                         "0.5",       "run",  "--input",          "x=x.npy"};
    const auto with = [&](const std::string& graph) {
      auto words = isolated;
      words.push_back(graph);
      return site.run(words);
    };
    CHECK(with("sound.json").out == "y  float32 [2, 4]  0 0 0 0 0 0 0 0\n");
    const auto crash = with("crash.json");
    CHECK(crash.code == 1);
    CHECK(has(crash.err,
              "error: [misbehaves] node 'a': its worker process crashed with SIGSEGV (misbehaves.so); backtrace: misbehaves.so+0x"));
    const auto hang = with("hang.json");
    CHECK(hang.code == 1);
    CHECK(has(hang.err, "its worker process gave no answer within 0.5 s and was ended (misbehaves.so)"));
  }
}

TEST_CASE("--isolate names plugins that there are") {
  const Workplace site;
  const auto wrong = site.run({"--isolate", "tenon_elementwize", "run", "g.tenon", "--input", "x=x.npy"});
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "error: --isolate names 'tenon_elementwize', but there is no such plugin\nhint: did you mean tenon_elementwise?"));
  CHECK(site.run({"--isolate", "tenon_elementwise", "run", "g.tenon", "--input", "x=x.npy"}).code == 0);
}
