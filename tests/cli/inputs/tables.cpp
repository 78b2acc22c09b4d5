// Texts on the command line: tables and arrays as inputs, names as outputs.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"

namespace {

/// y: color * 10 + size; back: the color again.
constexpr const char* graph = R"({"tenon": 1,
 "inputs": {"color": {"dtype": "int64", "shape": [-1, 1]},
  "size": {"dtype": "float32", "shape": [-1, 1]}},
 "constants": {"ten": {"values": [10.0]}, "zero": {"dtype": "int64", "values": [0]}},
 "nodes": [{"name": "number", "op": "cast", "inputs": ["color"], "attrs": {"dtype": "float32"}},
  {"name": "tens", "op": "mul", "inputs": ["number", "ten"]},
  {"name": "sum", "op": "add", "inputs": ["tens", "size"]},
  {"name": "back", "op": "add", "inputs": ["color", "zero"]}],
 "outputs": {"back": "back", "y": "sum"},
 "categories": {"color": ["red", "light green"], "back": ["red", "light green"]}})";

}  // namespace

TEST_CASE("--input TABLE.csv: inputs are columns, and names are printed") {
  const Workplace place;
  place.write("g.json", graph);
  place.write("t.csv", "size,id,color\n1.5,7,\"light green\"\n,8,red\n");
  const auto result = place.run({"run", "g.json", "--input", "t.csv"});
  CHECK(result.err == "");
  CHECK(result.out == "back  text [2, 1]  'light green' 'red'\ny  float32 [2, 1]  11.5 nan\n");
  const auto json = place.run({"--json", "run", "g.json", "--input", "t.csv", "--output", "back"});
  CHECK(has(json.out, "\"dtype\": \"text\""));
  CHECK(has(json.out, "\"light green\",\n"));
  CHECK(place.run({"run", "g.json", "--input", "t.csv[1:2]", "--output", "back"}).out ==
        "back  text [1, 1]  'red'\n");
  CHECK(place.run({"run", "g.json", "--input", "t.csv", "--batch", "1", "--output", "back"}).out ==
        "back  text [2, 1]  'light green' 'red'\n");
}

TEST_CASE("texts in .npy files, in and out") {
  const Workplace place;
  place.write("g.json", graph);
  place.write("t.csv", "size,color\n1,light green\n2,red\n");
  CHECK(place.run({"run", "g.json", "--input", "t.csv", "--output", "back=back.npy"}).code == 0);
  const auto again = place.run(
      {"run", "g.json", "--input", "color=back.npy", "--input", "size=t.csv", "--output", "y"});
  CHECK(again.out == "y  float32 [2, 1]  11 2\n");
  CHECK(place
            .run({"run", "g.json", "--input", "t.csv", "--batch", "1", "--output",
                  "back=batches.npy"})
            .code == 0);
  CHECK(read_bytes(place.folder() / "batches.npy") == read_bytes(place.folder() / "back.npy"));
}

TEST_CASE("texts: what the command line refuses") {
  const Workplace place;
  place.write("g.json", graph);
  place.write("t.csv", "size,color\n1,pink\n");
  place.write("ragged.csv", "size,color\n1,red\n2\n");
  place.write("other.csv", "size\n1\n");
  const struct {
    Words words;
    int code;
    const char* sentence;
  } cases[] = {{{"--input", "t.csv"}, 1, "element 0 of output 'back' is the index -1"},
               {{"--input", "ragged.csv"}, 4, "line 3 has 1 cell, but the first line has 2"},
               {{"--input", "other.csv"}, 2, "'other.csv' has no column for input 'color'"},
               {{"--input", "t.csv", "--input", "other.csv"}, 2, "--input names two tables"},
               {{"--input", "table.txt"}, 2, "NAME=FILE"},
               {{"--input", "t.csv", "--output", "back=x.npz"}, 2, "'back' is text"},
               {{"--input", "t.csv", "--output", "y=t.csv"}, 2, "t.csv"},
               {{"--input", "missing.csv"}, 4, "there is no such file"}};
  for (const auto& one : cases) {
    Words words{"run", "g.json"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    const auto result = place.run(words);
    INFO(result.out << result.err);
    CHECK(result.code == one.code);
    CHECK(has(result.err, one.sentence));
  }
  CHECK(place.run({"run", "g.json", "--input", "t.csv", "--output", "y"}).out ==
        "y  float32 [1, 1]  -9\n");
}

TEST_CASE("random inputs are indices of names") {
  const Workplace place;
  place.write("g.json", graph);
  for (const auto* seed : {"1", "2", "3"}) {
    const auto result = place.run({"run", "g.json", "--shape", "color=40,1", "--shape", "size=40,1",
                                   "--seed", seed, "--output", "back"});
    CHECK(result.code == 0);
    CHECK(has(result.out, "'red'"));
    CHECK(has(result.out, "'light green'"));
  }
}

TEST_CASE("tenon show: categories of inputs and outputs") {
  const Workplace place;
  place.write("g.json", graph);
  const auto shown = place.run({"show", "g.json"}).out;
  CHECK(has(shown, "int64 [?, 1]  {'red', 'light green'}\n"));
  CHECK(has(shown, "back int64 [?, 1]  {'red', 'light green'}\n"));
  CHECK(has(place.run({"show", "g.json", "--optimized"}).out,
            "back int64 [?, 1]  {'red', 'light green'}\n"));
}
