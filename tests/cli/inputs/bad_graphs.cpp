// Errors for faults of a graph: one sentence, the right exit code, and no output file.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"

namespace {

struct GraphFault {
  std::string nodes;
  int code;
  std::string err;
  std::string dtype = "float32";
};

}  // namespace

TEST_CASE("errors: faults of a graph.json") {
  // Nodes begin in line 2, column 12; errors without a more precise position point there.
  const std::string second = ", {\"name\": \"a\", \"op\": \"relu\", \"inputs\": [\"x\"]}";
  const GraphFault cases[] = {
      {R"({"name": "a", "op": "sigmoid", "inputs": ["x"]})", 1,
       "error: bad.json:2:12: [sigmoid] node 'a': x is int32 but must be one of float16, bfloat16, "
       "float32, float64 (x int32 [?, 4])\n",
       "int32"},
      {R"({"name": "b", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 3}},
           {"name": "a", "op": "matmul", "inputs": ["x", "b_weight"]})",
       1,
       "error: bad.json:3:12: [matmul] node 'a': a has 4 columns but b has 3 rows (a float32 "
       "[?, 4], b float32 [3, 4])\n"},
      {R"({"name": "f", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 4}},
           {"name": "i", "op": "argmax", "inputs": ["x"]}, )"
       R"({"name": "a", "op": "concat", "inputs": ["f", "i"]})",
       1,
       "error: bad.json:3:60: [concat] node 'a': inputs1 is int64 but inputs0 is float32: both "
       "must have the same dtype (inputs0 float32 "
       "[?, 4], inputs1 int64 []"},
      {R"({"name": "a", "op": "concat", "inputs": []})", 1,
       "error: bad.json:2:12: [concat] node 'a': needs at least one input\n"},
      {R"({"name": "a", "op": "relu", "inputs": ["xx"]})", 4,
       "error: bad.json:2:51: node 'a' reads 'xx', which is not in the graph\nhint: did you mean "
       "x?\n"},
      {R"({"name": "a", "op": "relu", "inputs": ["x:1"]})", 2,
       "error: bad.json:2:51: 'x:1': 'x' is one value and has no numbered outputs\nhint: write "
       "x\n"},
      {R"({"name": "a", "op": "relu", "inputs": ["x", "x"]})", 2,
       "error: bad.json:2:12: [relu] node 'a': the operator takes 1 input but is given 2\n"},
      {R"({"name": "a", "op": "fully_connected", "inputs": ["x"]})", 2,
       "error: bad.json:2:12: [fully_connected] node 'a': parameter 'num_hidden' is required: "
       "number of output features, the rows of weight\n"},
      {R"({"name": "a", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 0}})", 2,
       "error: bad.json:2:12: [fully_connected] node 'a': parameter 'num_hidden' is 0 but must be "
       "at least 1\n"},
      {R"({"name": "a", "op": "fully_connected", "inputs": ["x"], )"
       R"("attrs": {"num_hidden": "many"}})",
       2,
       "error: bad.json:2:12: [fully_connected] node 'a': parameter 'num_hidden' is \"many\" but "
       "must be an integer\n"},
      {R"({"name": "a", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 2.5}})",
       2,
       "error: bad.json:2:12: [fully_connected] node 'a': parameter 'num_hidden' is 2.5 but must "
       "be an integer\n"},
      {R"({"name": "a", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hiden": 3}})", 2,
       "error: bad.json:2:12: [fully_connected] node 'a': unknown parameter 'num_hiden'\nhint: did "
       "you mean num_hidden?\n"},
      {R"({"name": "a", "op": "relu", "inputs": ["x"], "attrs": {"slope": 3}})", 2,
       "error: bad.json:2:12: [relu] node 'a': unknown parameter 'slope'\nhint: it has no "
       "parameters\n"},
      {R"({"name": "a", "op": "relo", "inputs": ["x"]})", 3,
       "error: bad.json:2:12: no plugin has the operator 'relo' of node 'a'; searched "
       "in " TENON_TEST_PLUGINS "\nhint: did you mean relu?\n"},
      {R"({"name": "a", "op": "frobnicate", "inputs": ["x"]})", 3,
       "error: bad.json:2:12: no plugin has the operator 'frobnicate' of node 'a'; searched "
       "in " TENON_TEST_PLUGINS "\nhint: add the folder of its plugin (--plugins DIR)\n"},
      {R"({"name": "a", "op": "add", "inputs": ["x", "b"]}, )"
       R"({"name": "b", "op": "relu", "inputs": ["a"]})",
       4, "error: bad.json:2:12: the nodes form a cycle: 'a' reads 'b' reads 'a'\n"},
      {R"({"name": "a", "op": "relu", "inputs": ["a"]})", 4,
       "error: bad.json:2:12: the nodes form a cycle: 'a' reads 'a'\n"},
      {R"({"name": "a", "op": "relu", "inputs": ["x"]})" + second, 4,
       "error: bad.json:2:58: two nodes are named 'a'; the other one is at bad.json:2:12\n"},
      {R"({"name": "x", "op": "relu", "inputs": ["x"]})" + second, 4,
       "error: bad.json:2:12: the name 'x' is taken\n"},
      {R"({"name": "a", "op": "fully_connected", "inputs": {"dta": "x"}, )"
       R"("attrs": {"num_hidden": 3}})",
       2,
       "error: bad.json:2:12: [fully_connected] node 'a': unknown input 'dta'\nhint: did you mean "
       "data?\n"},
      {R"({"name": "a", "opp": "relu", "inputs": ["x"]})", 4,
       "error: bad.json:2:26: a node has no 'opp'\nhint: did you mean op?\n"},
      {R"({"name": "b", "op": "relu", "inputs": ["x"]})", 4, "error: bad.json:3:19: "},
      {R"({"name": "a")", 4, "error: bad.json:2:24: invalid JSON: "},
  };
  const Workplace place;
  place.write("bad.json", "");
  const auto before = place.folder().names();
  for (const auto& c : cases) {
    const auto& [nodes, code, err, dtype] = c;
    place.write("bad.json", graph_json(nodes, dtype));
    const auto result = place.run({"build", "bad.json", "-o", "out.tenon"});
    CAPTURE(c.nodes);
    CHECK(result.code == code);
    CHECK(result.out == "");
    CHECK(result.err.substr(0, err.size()) == err);
    CHECK(place.folder().names() == before);
  }
}

TEST_CASE("errors: files that are not graphs") {
  const Workplace place;
  place.write("junk.json", "hello");
  place.write("empty.json", "");
  place.write("newer.json", "{\"tenon\": 2}");
  place.write("junk.tenon", "hello");
  place.write("empty.tenon", "");
  place.write("short.tenon", read_bytes(place.folder() / "g.tenon").substr(0, 300));
  std::filesystem::create_directory(place.folder() / "folder.json");
  std::filesystem::create_directory(place.folder() / "folder.tenon");
  const std::pair<std::string, std::string> cases[] = {
      {"junk.json", "error: junk.json:1:1: invalid JSON: "},
      {"empty.json", "error: empty.json: the file is empty, but JSON is needed\n"},
      {"newer.json", "error: newer.json:1:11: 'tenon' is 2, but this version reads format 1\n"},
      {"missing.json", "error: cannot read missing.json: there is no such file\n"},
      {"folder.json", "error: cannot read folder.json: it is a folder, but a file is needed\n"},
      {"no/g.json", "error: cannot read no/g.json: the folder no does not exist\n"},
      {"junk.tenon", "error: junk.tenon: this is not a .tenon file: its signature is wrong\n"},
      {"empty.tenon",
       "error: empty.tenon: the file is empty, but a .tenon file has at least 64 bytes\n"},
      {"short.tenon", "error: short.tenon: the file has 300 bytes, but its header says "},
      {"missing.tenon", "error: cannot read missing.tenon: there is no such file\n"},
      {"folder.tenon", "error: cannot read folder.tenon: it is a folder, but a file is needed\n"},
  };
  const auto before = place.folder().names();
  for (const auto& c : cases) {
    const auto& [name, err] = c;
    for (const std::string command : {"show", "validate", "run", "bench"}) {
      const auto result = place.run({command, name});
      CAPTURE(command);
      CAPTURE(c.first);
      CHECK(result.code == 4);
      CHECK(result.out == "");
      CHECK(result.err.substr(0, err.size()) == err);
    }
  }
  CHECK(place.folder().names() == before);
}
