// Symbols defined by both a plugin and the program's libraries.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"
#include "file/array/npy.hpp"

TEST_CASE("symbols: a plugin calls its own functions, and shares the libraries' allocator") {
  const Workplace site;
  tenon::write_npy(site.folder() / "one.npy", tenon::Tensor::from({1.0F}, {1, 1}));
  struct Case {
    const char *plugin, *result;
  };
  for (const auto& each : {Case{"brings_own", "y  float32 [1, 1]  42\n"},
                           Case{"brings_allocator", "y  float32 [1, 1]  3890\n"}}) {
    const auto& plugin = each.plugin;
    const auto& result = each.result;
    CAPTURE(plugin);
    site.write("own.json",
               std::string(
                   R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [1, 1]}},
                "nodes": [{"name": "a", "op": ")") +
                   plugin + R"(", "inputs": ["x"]}], "outputs": {"y": "a"}})");
    const auto run =
        site.run({"run", "own.json", "--input", "x=one.npy", "--plugins",
                  TENON_TEST_FAULTS "/" + std::string(plugin) + ".so", "--trust-writable"});
    CAPTURE(run.err);
    CHECK(run.code == 0);
    CHECK(run.out == result);
  }
}
