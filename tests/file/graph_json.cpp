// graph.json: round trips, and faults with their positions.
#include "file/json/graph_json.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/udf.hpp>

#include "../application_host.hpp"
#include "../failure_of.hpp"
#include "../probe_operators.hpp"
#include "../temporary_folder.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"
#include "file/tenon/tenon_file.hpp"
#include "graph/model.hpp"
#include "odd_operator.hpp"
#include "run/impl_access.hpp"
#include "same_graph.hpp"
#include "sample_json.hpp"

using namespace tenon;

namespace {

std::string canonical(Host& host, const std::string& text) {
  return Graph::from_json(host, text).to_json();
}

/// A graph with these nodes on the input `x`, a weight `w` and a state; the output is `y`.
std::string with_nodes(const std::string& nodes, const std::string& output = "a") {
  return R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 4]}}, "nodes": [)" +
         nodes + R"(], "outputs": {"y": ")" + output + R"("}})";
}

}  // namespace

TEST_CASE("a text in canonical form is written back character by character") {
  JsonHost host;
  const std::string text = sample_json;
  CHECK(canonical(host, text) == text);
}

TEST_CASE("a node without inputs, after one with an omitted last input") {
  JsonHost host;
  host.add<probes::Seven>();
  const auto text =
      canonical(host, with_nodes(R"({"name": "a", "op": "fully_connected", "inputs": ["x"],
                                     "attrs": {"num_hidden": 2, "no_bias": true}},
                                    {"name": "seven", "op": "seven", "inputs": []})"));
  CHECK(text.find(R"("name": "seven", "op": "app.seven", "inputs": [])") != std::string::npos);
}

TEST_CASE("non-finite numbers are words, and words of a text parameter stay words") {
  JsonHost host;
  const auto attributes = [&](const std::string& attrs) {
    const auto graph = Graph::from_json(
        host, with_nodes(R"({"name": "a", "op": "odd", "inputs": ["x"], "attrs": )" + attrs + "}"));
    const auto text = graph.to_json();
    const auto begin = text.find("\"single\"");
    return text.substr(begin, text.find(", \"wholes\"") - begin);
  };
  CHECK(attributes(R"({"single": "inf", "real": "nan", "words": "inf"})") ==
        R"("single": "inf", "real": "nan", "words": "inf")");
  CHECK(attributes(R"({"single": "-inf", "real": "-inf", "words": "nan"})") ==
        R"("single": "-inf", "real": "-inf", "words": "nan")");
}

TEST_CASE("text, graph, .tenon, graph, text: nothing is lost") {
  JsonHost host;
  const TemporaryFolder folder;
  const std::string text = sample_json;
  const auto graph = Graph::from_json(host, text);
  write_tenon(model_of(graph), folder / "graph.tenon");
  const auto loaded = Graph::load(host, folder / "graph.tenon");
  CHECK(loaded.to_json() == text);
  CHECK(outline_of(model_of(loaded)) == outline_of(model_of(graph)));
}

TEST_CASE("the README's example") {
  JsonHost host;
  const TemporaryFolder folder;
  write_npy(folder / "bias.npy", Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10}));
  const auto graph = Graph::from_json(host, R"({"tenon": 1,
     "inputs":    {"image": {"dtype": "float32", "shape": [-1, 64]}},
     "variables": {"fc1_weight": {"init": "xavier"},
                   "bias": {"dtype": "float32", "shape": [10], "npy": "bias.npy"}},
     "nodes": [
       {"name": "fc1", "op": "fully_connected", "inputs": ["image"], "attrs": {"num_hidden": 64}},
       {"name": "act", "op": "quadratic", "inputs": ["fc1"], "attrs": {"a": 0.5, "b": 1}},
       {"name": "fc2", "op": "fully_connected", "inputs": {"data": "act", "bias": "bias"},
        "attrs": {"num_hidden": 10}, "device": "cpu"}],
     "outputs": {"scores": "fc2"}})",
                                      folder.path());
  CHECK(graph.shape(graph.find("fc1_weight")) == Shape{64, 64});
  CHECK(graph.shape(graph.find("fc2")) == Shape{-1, 10});
  const auto& model = model_of(graph);
  CHECK(model.values[find_value(model, "fc1_weight")].init.kind == Init::Kind::xavier);
  CHECK(model.tensors[model.values[find_value(model, "bias")].tensor].values<float>()[9] == 9);
  const auto text = graph.to_json();
  CHECK(canonical(host, text) == text);
}

TEST_CASE("nodes may stand in any order, which is preserved if possible") {
  JsonHost host;
  const auto names = [&](const std::string& nodes) {
    const auto graph = Graph::from_json(host, with_nodes(nodes));
    std::string names;
    for (const auto& node : model_of(graph).nodes)
      names += std::string(model_of(graph).strings[node.name]) + ' ';
    return names;
  };
  const std::string a = R"({"name": "a", "op": "quadratic", "inputs": ["x"]})",
                    b = R"({"name": "b", "op": "quadratic", "inputs": ["x"]})",
                    c = R"({"name": "c", "op": "test_add", "inputs": ["a", "d"]})",
                    d = R"({"name": "d", "op": "cosine", "inputs": {"x": "b"}})";
  CHECK(names(a + ',' + b + ',' + d + ',' + c) == "a b d c ");
  CHECK(names(b + ',' + d + ',' + a + ',' + c) == "b d a c ");
  CHECK(names(c + ',' + d + ',' + a + ',' + b) == "a b d c ");
}

TEST_CASE("a long chain in reverse order") {
  JsonHost host;
  std::string nodes;
  for (int i = 3000; i > 0; --i)
    nodes += fmt::format(R"({{"name": "n{}", "op": "quadratic", "inputs": ["n{}"]}},)", i, i - 1);
  const auto graph = Graph::from_json(
      host, with_nodes(nodes + R"({"name": "n0", "op": "quadratic", "inputs": ["x"]})", "n3000"));
  CHECK(model_of(graph).nodes.size() == 3001);
}

TEST_CASE("faults in a text, with positions") {
  JsonHost host;
  const std::string a = R"({"name": "a", "op": "quadratic", "inputs": ["x"]})";
  const struct {
    std::string text;
    int kind;
    const char *message, *hint;
  } cases[] = {
      {"[]", 4, "graph.json:1:1: the graph is a list but must be an object", ""},
      {"{}", 4, "graph.json:1:1: the graph lacks 'tenon'",
       R"(add "tenon": 1, the version of the format)"},
      {R"({"tenon": 2})", 4, "graph.json:1:11: 'tenon' is 2, but this version reads format 1", ""},
      {R"({"tenon": 1, "node": []})", 4, "graph.json:1:14: the graph has no 'node'",
       "did you mean nodes?"},
      {R"({"tenon": 1, "inputs": {"x": {"type": "float32"}}})", 4,
       "graph.json:1:31: input 'x' has no 'type'", "did you mean dtype?"},
      {R"({"tenon": 1, "inputs": {"x": {"dtype": "float"}}})", 4,
       "graph.json:1:40: the dtype of input 'x' is 'float' but must be one of bool, uint8, int8, "
       "int32, int64, float16, bfloat16, float32, "
       "float64, int16, uint16, uint32, uint64, complex64, complex128, float8_e4m3fn, "
       "float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn, int4, uint4, "
       "int2, uint2",
       ""},
      {R"({"tenon": 1, "inputs": {"x": {"shape": [2, -2]}}})", 4,
       "graph.json:1:44: a dimension is -2 but must be at least 0, or -1 if unknown", ""},
      {R"({"tenon": 1, "inputs": {"x": {"shape": [1,1,1,1,1,1,1,1,1]}}})", 4,
       "graph.json:1:40: the shape of input 'x' has 9 dimensions, but at most 8 are allowed", ""},
      {R"({"tenon": 1, "inputs": {"a:b": {}}})", 2,
       "graph.json:1:25: the name 'a:b' contains a colon or a control character",
       "a colon separates a node's name from the number of its output, as in 'split:1'"},
      {R"({"tenon": 1, "variables": {"v": {"init": "xaver"}}})", 4,
       "graph.json:1:42: the init of variable 'v' is \"xaver\" but must be \"zeros\", \"ones\", "
       "\"xavier\", \"he\", {\"uniform\": [a, b]}, "
       "{\"normal\": [mean, sd]} or "
       "{\"value\": v}",
       ""},
      {R"({"tenon": 1, "variables": {"v": {"init": {"normal": [1]}}}})", 4,
       "graph.json:1:42: \"normal\" needs two numbers but has 1", ""},
      {R"({"tenon": 1, "variables": {"v": {"dtype": "float16", "shape": [2], )"
       R"("init": {"value": 1e6}}}})",
       2, "graph.json:1:28: the initial value of 'v' is 1000000, which does not fit float16", ""},
      {R"({"tenon": 1, "variables": {"v": {"init": {"uniform": [2, 1]}}}})", 2,
       "graph.json:1:28: the init of 'v' is uniform from 2 to 1 but needs two finite numbers, the "
       "first not above the second",
       ""},
      {R"({"tenon": 1, "variables": {"v": {"init": {"normal": [0, -1]}}}})", 2,
       "graph.json:1:28: the init of 'v' is normal with mean 0 and standard deviation -1, but both "
       "must be finite and the deviation 0 or "
       "more",
       ""},
      {R"({"tenon": 1, "states": {"s_calls": {"storage": "row_sparse"}}})", 2,
       "graph.json:1:25: the state 's_calls' is row_sparse but must be dense", ""},
      {with_nodes(R"({"name": "a", "op": "quadratic", "inputs": ["x"], "device": "tpu"})"), 2,
       "graph.json:1:81: the device of node 'a' is 'tpu' but must be cpu, cuda or cuda:NUMBER", ""},
      {R"({"tenon": 1, "constants": {"c": {"dtype": "float32"}}})", 4,
       "graph.json:1:33: constant 'c' has neither 'values' nor 'npy'", ""},
      {R"({"tenon": 1, "constants": {"c": {"values": [[1, 2], [3]]}}})", 4,
       "graph.json:1:53: the list has 1 value, but the shape [2, 2] needs 2", ""},
      {R"({"tenon": 1, "constants": {"c": {"dtype": "uint8", "values": [256]}}})", 4,
       "graph.json:1:63: the element 256 does not fit uint8", ""},
      {R"({"tenon": 1, "constants": {"c": {"dtype": "float16", "values": [70000]}}})", 4,
       "graph.json:1:65: the element 70000 does not fit float16", ""},
      {R"({"tenon": 1, "constants": {"c": {"shape": [9999999, 9999999], "values": [1]}}})", 4,
       "graph.json:1:73: the shape [9999999, 9999999] needs more values than the text has", ""},
      {R"({"tenon": 1, "constants": {"c": {"shape": [0], "values": 1}}})", 4,
       "graph.json:1:58: dimension 0 of the values is an integer but must be a list", ""},
      {R"({"tenon": 1, "constants": {"c": {"shape": [2], "values": []}}})", 4,
       "graph.json:1:58: the list has 0 values, but the shape [2] needs 2", ""},
      {R"({"tenon": 1, "constants": {"c": {"shape": [0], "values": [1]}}})", 4,
       "graph.json:1:58: the list has 1 value, but the shape [0] needs 0", ""},
      {R"({"tenon": 1, "constants": {"c": {"values": [1], "npy": "c.npy"}}})", 4,
       "graph.json:1:56: constant 'c' has both values and an npy file", ""},
      {R"({"tenon": 1, "states": {"s_calls": {}}})", 4,
       "graph.json:1:25: no node has a state 's_calls'", ""},
      {with_nodes(R"({"op": "quadratic"})"), 4, "graph.json:1:81: a node lacks 'name'", ""},
      {with_nodes(R"({"name": "a"})"), 4, "graph.json:1:81: node 'a' lacks 'op'", ""},
      {with_nodes(R"({"name": "a", "op": "quadratc"}, {"name": "b", "op": "cosin"})"), 3,
       "graph.json:1:81: no plugin has the operators 'quadratc' of node 'a', 'cosin' of node 'b'; "
       "searched no folder",
       "did you mean quadratic or cosine?"},
      {with_nodes(R"({"name": "a", "op": "quadratic", "inputs": ["z"]})"), 4,
       "graph.json:1:125: node 'a' reads 'z', which is not in the graph",
       "a value is a node, node:1, node:output, or the name of an input, variable or constant"},
      {with_nodes(R"({"name": "a", "op": "quadratic", "inputs": {"dat": "x"}})"), 2,
       "graph.json:1:81: [quadratic] node 'a': unknown input 'dat'", "did you mean data?"},
      {with_nodes(R"({"name": "a", "op": "quadratic", "inputs": "x"})"), 4,
       "graph.json:1:124: 'inputs' of node 'a' must be a list, or an object with the inputs' names",
       ""},
      {with_nodes(R"({"name": "a", "op": "quadratic", "inputs": ["x", "x"]})"), 2,
       "graph.json:1:81: [quadratic] node 'a': the operator takes 1 input but is given 2", ""},
      {with_nodes(R"({"name": "a", "op": "quadratic", "inputs": ["x"], "attrs": {"d": 1}})"), 2,
       "graph.json:1:81: [quadratic] node 'a': unknown parameter 'd'",
       "its parameters are a, b, c"},
      {with_nodes(R"({"name": "a", "op": "quadratic", "inputs": ["x"], "attrs": {"a": {}}})"), 4,
       "graph.json:1:146: parameter 'a' of node 'a' must be true, false, a number, a string or a "
       "list of numbers",
       ""},
      {with_nodes(a + ", " + a), 4,
       "graph.json:1:132: two nodes are named 'a'; the other one is at graph.json:1:81", ""},
      {with_nodes(R"({"name": "x", "op": "quadratic", "inputs": ["x"]})"), 4,
       "graph.json:1:81: the name 'x' is taken", ""},
      {with_nodes(R"({"name": "a", "op": "test_add", "inputs": ["x", "c"]}, )"
                  R"({"name": "b", "op": "cosine", "inputs": ["a"]},
        {"name": "c", "op": "cosine", "inputs": ["b:0"]})"),
       4, "graph.json:1:81: the nodes form a cycle: 'a' reads 'c' reads 'b' reads 'a'", ""},
      {with_nodes(a, "a:2"), 2, "graph.json:1:150: 'a:2': node 'a' has 1 output", ""},
      {with_nodes(a, "b"), 4, "graph.json:1:150: output 'y' reads 'b', which is not in the graph",
       "a value is a node, node:1, node:output, or the name of an input, variable or constant"},
  };
  for (const auto& wrong : cases) {
    const auto failure = failure_of([&] { Graph::from_json(host, wrong.text); });
    CHECK(failure.kind == wrong.kind);
    CHECK(failure.message == std::string(wrong.message));
    CHECK(failure.hint == std::string(wrong.hint));
  }
}

TEST_CASE("sparse tensors in a text: faults with positions") {
  JsonHost host;
  const auto csr = [](const std::string& more) {
    return R"({"tenon": 1, "constants": {"c": {"storage": "csr", )" + more + "}}}";
  };
  const auto rows = [](const std::string& more) {
    return R"({"tenon": 1, "constants": {"c": {"storage": "row_sparse", )" + more + "}}}";
  };
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {csr(R"("shape": [2, 2], "values": [1], "columns": [0])"),
       "1:33: constant 'c' lacks 'row_starts'"},
      {csr(R"("shape": [2, 2], "values": [1], "row_starts": [0, 1, 1])"),
       "1:33: constant 'c' lacks 'columns'"},
      {csr(R"("values": [1], "columns": [0], "row_starts": [0, 1])"),
       "1:33: constant 'c' needs a 'shape'"},
      {csr(R"("shape": [2, 2], "values": [1, 2], "columns": [0], "row_starts": [0, 1, 1])"),
       "1:79: the list has 2 values, but the shape [1] needs 1"},
      {csr(R"("shape": [2, 2], "values": [1], "columns": [2], "row_starts": [0, 1, 1])"),
       "1:33: constant 'c': csr float32 [2, 2]: column index 0 is 2, but there are 2 columns"},
      {csr(R"("shape": [2, 2], "values": [1], "columns": [0], "row_starts": [0, 2, 1])"),
       "1:33: constant 'c': csr float32 [2, 2]: row 1 starts at 2, but row 2 starts at 1: row "
       "starts must not decrease"},
      {csr(R"("shape": [4], "values": [1], "columns": [0], "row_starts": [0, 1])"),
       "1:33: constant 'c': csr float32 [4]: csr needs two dimensions"},
      {csr(R"("shape": [2, 2], "values": [1], "columns": [0.5], "row_starts": [0, 1, 1])"),
       "1:96: an element is a number but must be a 64-bit integer"},
      {csr(R"("shape": [2, 2], "values": [1], "columns": [4294967296], )"
           R"("row_starts": [0, 1, 1], "index_dtype": "int32")"),
       "1:96: the element 4294967296 does not fit int32"},
      {csr(R"("shape": [2, 2], "values": [1], "columns": [0], )"
           R"("row_starts": [0, 1, 1], "index_dtype": "int8")"),
       "1:140: the index_dtype of constant 'c' is int8 but must be int32 or int64"},
      {csr(R"("shape": [2, 2], "values": [1], "columns": [0], )"
           R"("row_starts": [0, 1, 1], "row_ids": [0])"),
       "1:136: constant 'c' has 'row_ids', which does not apply to csr values"},
      {csr(R"("shape": [9223372036854775807, 1], "values": [], "columns": [], "row_starts": [0])"),
       "1:33: constant 'c': a tensor of float32 [9223372036854775807, 1] has more bytes than can "
       "be counted"},
      {rows(R"("shape": [3], "values": [1], "row_ids": [3])"),
       "1:33: constant 'c': row_sparse float32 [3]: row index 0 is 3, but there are 3 rows"},
      {rows(R"("shape": [3, -1], "values": [[1]], "row_ids": [0])"),
       "1:87: the values need a known shape, but it is [1, ?]"},
      {rows(R"("shape": [], "values": 1, "row_ids": [0])"),
       "1:33: constant 'c': row_sparse float32 []: row_sparse needs at least one dimension"},
      {rows(R"("shape": [3], "values": [1], "columns": [3])"),
       "1:99: constant 'c' has 'columns', which does not apply to row_sparse values"},
      {R"({"tenon": 1, "constants": {"c": {"values": [1], "index_dtype": "int32"}}})",
       "1:64: constant 'c' has 'index_dtype', which does not apply to dense values"},
      {R"({"tenon": 1, "constants": {"c": {"npy": "c.npy", "columns": [1]}}})",
       "1:61: constant 'c' has 'columns', which does not apply to files"},
      {R"({"tenon": 1, "constants": {"c": {"npy": "c.npy", "npz": "c.npz"}}})",
       "1:57: constant 'c' has both an npy and an npz file"},
  };
  for (const auto& wrong : cases) {
    const auto failure = failure_of([&] { Graph::from_json(host, wrong.text); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == std::string("graph.json:") + wrong.message);
  }
}

TEST_CASE("nested lists have at most as many dimensions as tensors") {
  JsonHost host;
  const auto read = [&](int dimensions) {
    const auto depth = static_cast<std::size_t>(dimensions);
    const auto values = std::string(depth, '[') + "7" + std::string(depth, ']');
    return Graph::from_json(host, R"({"tenon": 1, "constants": {"c": {"values": )" + values +
                                      R"(}}, "outputs": {"y": "c"}})");
  };
  const auto graph = read(8);
  CHECK(graph.shape(graph.find("c")) == Shape{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(failure_of([&] { read(9); }).message ==
        "graph.json:1:44: the values have more than 8 dimensions");
}

TEST_CASE("a csr matrix from a file in the text's folder") {
  JsonHost host;
  const TemporaryFolder folder;
  const auto csr = cast_storage(Tensor::from({0.0f, 1.0f, 2.0f, 0.0f}, {2, 2}), Storage::csr);
  write_npz(folder / "c.npz", {{"", csr}});
  write_npz(folder / "dense.npz", {{"a", Tensor::zeros(f32, {2})}});
  write_npz(folder / "two.npz", {{"a", Tensor::zeros(f32, {2})}, {"b", Tensor::zeros(f32, {2})}});
  const auto read = [&](const std::string& constant) {
    return Graph::from_json(
        host, R"({"tenon": 1, "constants": {"c": )" + constant + R"(}, "outputs": {"y": "c"}})",
        folder.path());
  };
  const auto graph = read(R"({"storage": "csr", "npz": "c.npz"})");
  CHECK(same_bits(graph.tensor(graph.find("c")), csr));
  CHECK(model_of(graph).values[0].type.storage == TENON_CSR);
  const auto dense = read(R"({"npz": "dense.npz"})");
  CHECK(dense.tensor(dense.find("c")).shape() == Shape{2});
  const struct {
    const char *constant, *message;
  } cases[] = {
      {R"({"npz": "c.npz"})",
       "graph.json:1:41: c.npz holds a csr tensor, but graph.json declares dense"},
      {R"({"storage": "csr", "npz": "dense.npz"})",
       "graph.json:1:59: dense.npz holds a dense tensor, but graph.json declares csr"},
      {R"({"storage": "csr", "npz": "c.npz", "shape": [3, 2]})",
       "graph.json:1:59: c.npz holds float32 [2, 2], but graph.json declares csr ? [3, 2]"},
      {R"({"npz": "two.npz"})", "graph.json:1:41: two.npz holds 2 arrays but must hold one"},
  };
  for (const auto& wrong : cases)
    CHECK(failure_of([&] { read(wrong.constant); }).message == wrong.message);
}

TEST_CASE("the file's name precedes the position in messages") {
  JsonHost host;
  const TemporaryFolder folder;
  write_bytes(folder / "broken.json", "{\"tenon\": 1,}");
  CHECK(failure_of([&] {
          Graph::load(host, folder / "broken.json");
        }).message.starts_with((folder / "broken.json").string() + ":1:13: invalid JSON: "));
}
