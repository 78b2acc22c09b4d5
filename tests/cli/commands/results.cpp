// stdout is only for results, whatever plugins print.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"
#include "file/array/npy.hpp"

namespace {

struct PrintingWorkplace : Workplace {
  PrintingWorkplace() {
    write("prints.json", graph_json(R"({"name": "a", "op": "prints", "inputs": ["x"]})"));
    tenon::write_npy(folder() / "two.npy", tenon::Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {1, 4}));
  }
  ProgramResult run(Words words) const {
    words.insert(words.end(), {"--plugins", TENON_TEST_FAULTS "/prints.so", "--trust-writable"});
    return Workplace::run(words);
  }
};

}  // namespace

TEST_CASE("results: plugins' output goes to stderr, and only results to stdout") {
  const PrintingWorkplace site;
  const auto text = site.run({"run", "prints.json", "--input", "x=two.npy"});
  CHECK(text.code == 0);
  CHECK(text.out == "y  float32 [1, 4]  2 4 6 8\n");
  const auto json = site.run({"--json", "run", "prints.json", "--input", "x=two.npy"});
  CHECK(json.code == 0);
  CHECK(json.out.starts_with("{"));
  CHECK(has(json.out, "2.0"));
  for (const auto* out : {&text.out, &json.out})
    for (const std::string word : {"printf", "cout", "write"}) CHECK_FALSE(has(*out, word));
  for (const auto* err : {&text.err, &json.err})
    for (const std::string words :
         {"printf when loaded", "printf when made", "cout when called", "write when called"})
      CHECK(has(*err, words));
}

TEST_CASE("results: help and version are results") {
  const PrintingWorkplace site;
  for (const Words& words : {Words{"--version"}, Words{"run", "--help"}}) {
    const auto result = site.Workplace::run(words);
    CHECK(result.code == 0);
    CHECK(has(result.out, "tenon "));
    CHECK(result.err == "");
  }
}
