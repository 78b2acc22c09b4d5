// Whatever is done to a graph.json, reading it yields a graph or a Failure, and a graph has a
// stable text.
#include <doctest/doctest.h>

#include <random>
#include <tenon/host/graph.hpp>

#include "odd_operator.hpp"
#include "sample_json.hpp"

using namespace tenon;

namespace {

/// Whether the text is a graph. Any result but a graph or a Failure ends the test program.
bool opens(Host& host, const std::string& text) {
  std::string first;
  try {
    first = Graph::from_json(host, text).to_json();
  } catch (const Failure&) {
    return false;
  }
  REQUIRE(Graph::from_json(host, first).to_json() == first);
  return true;
}

}  // namespace

TEST_CASE("a graph.json truncated at any length is refused") {
  JsonHost host;
  const std::string text = sample_json;
  int opened = 0;
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    opened += opens(host, text.substr(0, length));
  CHECK(opened == 0);
}

TEST_CASE("pieces of a graph.json removed, doubled and replaced") {
  JsonHost host;
  const std::string sound = sample_json;
  const std::string pieces[] = {"null",
                                "-1",
                                "1e400",
                                "\"\"",
                                "[]",
                                "{}",
                                "[[",
                                "}",
                                ",",
                                ":",
                                "\"fc\"",
                                "\"fc:1\"",
                                "\"odd\"",
                                "18446744073709551615",
                                "\\u0000",
                                "\xff",
                                "\"nan(0x7ff8000000000001)\"",
                                "0.1",
                                "true",
                                "\n"};
  std::mt19937 random(1);
  int opened = 0;
  for (int round = 0; round < 3000; ++round) {
    auto text = sound;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const auto at = random() % text.size(), length = random() % 12;
      const auto from = random() % text.size();
      const auto what = random() % 3;
      text.replace(at, length,
                   what == 0   ? ""
                   : what == 1 ? text.substr(from, length)
                               : pieces[random() % std::size(pieces)]);
    }
    opened += opens(host, text);
  }
  CHECK(opened > 0);
}
