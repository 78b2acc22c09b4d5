// Lists of texts and small tensors as parameters in files: round trips and forged files.
// tenon_file.cpp saves and loads parameters_graph(), too.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/udf.hpp>

#include "../application_host.hpp"
#include "../failure_of.hpp"
#include "../probe_operators.hpp"
#include "forged_file.hpp"
#include "same_graph.hpp"
#include "sample_graph.hpp"

using namespace tenon;

namespace {

struct Filter : probes::Copy {
  Table<float> taps = {1, 2};
  Table<std::int64_t> sizes;
  Texts names = {"a", "b"};

  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("taps", &Filter::taps, "floats");
    op.param("sizes", &Filter::sizes, "integers");
    op.param("names", &Filter::names, "texts");
  }
};

struct FilterHost : ApplicationHost {
  FilterHost() { add<Filter>("filter"); }

  Graph graph(const std::string& attrs) {
    return Graph::from_json(*this,
                            R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]}},
            "nodes": [{"name": "f", "op": )"
                            R"("filter", "inputs": ["x"], "attrs": {)" +
                                attrs + R"(}}], "outputs": {"y": "f"}})");
  }
  /// The file's values after a round trip through both formats.
  std::string attributes(const std::string& attrs) {
    const auto text = graph(attrs).to_json();
    CHECK(Graph::from_json(*this, text).to_json() == text);
    CHECK(Graph::from_bytes(*this, Graph::from_json(*this, text).to_bytes()).to_json() == text);
    const auto begin = text.find("\"attrs\": {") + 10;
    return text.substr(begin, text.find("}}", begin) - begin);
  }
  std::string refused(const std::string& attrs) {
    const auto message = failure_of([&] { graph(attrs); }).message;
    return message.empty() ? message : message.substr(message.find(": ") + 2);
  }
};

std::string sentence_of(const std::function<void(format::AttributesT&, format::ModelT&)>& change) {
  auto graph = parameters_graph();
  graph.training.reset();
  auto sections = FileSections::of(graph);
  sections.change([&](format::ModelT& model) { change(*model.graphs[0]->attributes, model); });
  const auto message = failure_of([&] { read_forged(sections.bytes()); }).message;
  return message.empty() ? message : message.substr(message.find(": ") + 2);
}

// In parameters_graph(): [0] text, [1] text, then taps: dtype, rank, 2, 2, 2; exact: dtype, rank,
// 3; sizes: dtype, rank, element; wide: ...
constexpr std::size_t taps = 2, exact = 7, sizes = 10, table_wide = 13;

}  // namespace

TEST_CASE("table parameters: graph.json writes nested lists, or an object if those are ambiguous") {
  FilterHost host;
  CHECK(host.attributes("") == R"("taps": [1.0, 2.0], "sizes": [], "names": ["a", "b"])");
  CHECK(host.attributes(R"("taps": [1, 0.5, -0.0], "sizes": [3], "names": [])") ==
        R"("taps": [1.0, 0.5, -0.0], "sizes": [3], "names": [])");
  CHECK(host.attributes(R"("taps": [[1, 2], [3, 4]], "names": ["", "ü"])") ==
        R"("taps": [[1.0, 2.0], [3.0, 4.0]], "sizes": [], "names": ["", "ü"])");
  CHECK(host.attributes(R"("taps": ["nan", "-inf", 0.1], "sizes": [[9223372036854775807]])") ==
        R"("taps": ["nan", "-inf", 0.1], "sizes": [[9223372036854775807]], "names": ["a", "b"])");
  CHECK(host.attributes(
            R"("taps": {"dtype": "float64", "values": [0.5]}, "sizes": {"values": [[1], [2]]})") ==
        R"("taps": [0.5], "sizes": [[1], [2]], "names": ["a", "b"])");
}

TEST_CASE("table parameters: graph.json writes the shape of empty and single-element tensors") {
  FilterHost host;
  for (const char* value : {R"({"dtype": "float32", "shape": [0, 3], "values": []})",
                            R"({"dtype": "float32", "shape": [], "values": 2.5})"}) {
    const auto text = host.graph("\"taps\": " + std::string(value)).to_json();
    CAPTURE(text);
    CHECK(text.find("\"taps\": " + std::string(value)) != std::string::npos);
    CHECK(Graph::from_json(host, text).to_json() == text);
  }
}

TEST_CASE("table parameters: faults in graph.json are reported with their positions") {
  FilterHost host;
  CHECK(host.refused(R"("taps": 1)") ==
        "parameter 'taps' of node 'f' is an integer but must be a list");
  CHECK(host.refused(R"("taps": [1e300])") == "the element 1e+300 does not fit float32");
  CHECK(host.refused(R"("taps": [[1, 2], [3]])") ==
        "the list has 1 value, but the shape [2, 2] needs 2");
  CHECK(host.refused(R"("sizes": [1.5])") == "an element is a number but must be a 64-bit integer");
  CHECK(host.refused(R"("taps": {"dtype": "float64", "values": [0.1]})")
            .find("parameter 'taps' is float64 [1], which cannot be converted to a float32") !=
        std::string::npos);
  CHECK(host.refused(R"("taps": {"shape": [1]})").find("'values'") != std::string::npos);
  CHECK(host.refused(R"("names": ["a", 1])").find("an entry of parameter 'names' of node 'f'") !=
        std::string::npos);
  CHECK(host.refused(R"("names": ["a\u0000b"])").find("contains a zero byte") != std::string::npos);
  CHECK(host.refused(R"("names": "a")") ==
        "parameter 'names' of node 'f' is a string but must be a list");
}

TEST_CASE("table parameters: forged files are refused") {
  CHECK(sentence_of([](auto&, auto&) {}) == "");
  const struct {
    const char* says;
    std::function<void(format::AttributesT&, format::ModelT&)> change;
  } cases[] = {
      {"attribute 'names' of node 'first' is a list whose last text does not end with a zero byte",
       [](auto& attributes, auto& model) {
         model.strings[static_cast<std::size_t>(attributes.integers[0])].back() = 'x';
       }},
      {"attribute 'names' of node 'first' has the kind 7, but the file does not name "
       "\"parameters\" as a feature",
       [](auto&, auto& model) { model.required_features.clear(); }},
      {"attribute 'none' of node 'first' is text 999, but there are ",
       [](auto& attributes, auto&) { attributes.integers[1] = 999; }},
      {"attribute 'none' of node 'first' is text -1, but there are ",
       [](auto& attributes, auto&) { attributes.integers[1] = -1; }},
      {"attribute 'taps' of node 'first' has the dtype number 5 but must be int32, int64, float32 "
       "or float64",
       [](auto& attributes, auto&) { attributes.integers[taps] = TENON_F16; }},
      {"attribute 'taps' of node 'first' has the dtype number -1 but must be",
       [](auto& attributes, auto&) { attributes.integers[taps] = -1; }},
      {"attribute 'taps' of node 'first' has the dtype number 263 but must be",
       [](auto& attributes, auto&) { attributes.integers[taps] = 263; }},
      {"attribute 'taps' of node 'first' has 9 dimensions but must have 0 to 8",
       [](auto& attributes, auto&) { attributes.integers[taps + 1] = 9; }},
      {"attribute 'taps' of node 'first' has -1 dimensions but must have 0 to 8",
       [](auto& attributes, auto&) { attributes.integers[taps + 1] = -1; }},
      {"attribute 'taps' of node 'first' has the dimension -2",
       [](auto& attributes, auto&) { attributes.integers[taps + 3] = -2; }},
      {"attribute 'taps' of node 'first' has the shape [2, 65536, 2], but a tensor parameter holds "
       "at most 65536 elements",
       [](auto& attributes, auto&) { attributes.integers[taps + 3] = 65536; }},
      {"attribute 'taps' of node 'first' has the shape [4611686018427387904, 2, 2], but a tensor",
       [](auto& attributes, auto&) { attributes.integers[taps + 2] = std::int64_t{1} << 62; }},
      {"the attributes' lists end before those of node 'first'",
       [](auto& attributes, auto&) { attributes.integers[exact + 2] = 65536; }},
      {"attribute 'taps' of node 'first' has the element 0.1, which is not a float32",
       [](auto& attributes, auto&) { attributes.reals[7] = 0.1; }},
      {"attribute 'taps' of node 'first' has the element 1e+300, which is not a float32",
       [](auto& attributes, auto&) { attributes.reals[0] = 1e300; }},
      {"attribute 'taps' of node 'first' has the element nan, which is not a float32",
       [](auto& attributes, auto&) {
         attributes.reals[2] = std::bit_cast<double>(std::uint64_t{0x7ff8000000000001});
       }},
      {"attribute 'sizes' of node 'first' has the element -2147483649, which does not fit int32",
       [](auto& attributes, auto&) { --attributes.integers[sizes + 2]; }},
      {"the attributes' integers end before those of node 'first'",
       [](auto& attributes, auto&) { attributes.integers.resize(table_wide + 3); }},
      {"the attributes' lists end before those of node 'first'",
       [](auto& attributes, auto&) { attributes.integers.resize(table_wide + 5); }},
      {"it has attributes that do not belong to a node",
       [](auto& attributes, auto&) { attributes.reals.push_back(0); }},
  };
  for (const auto& test : cases) {
    CAPTURE(test.says);
    CHECK(sentence_of(test.change).starts_with(test.says));
  }
}

TEST_CASE("table parameters: a file's values are checked against the operator's declaration") {
  const auto error_of = [](const char* kind, const AttributeValue& value) {
    GraphMaker make;
    const auto op = make.op({"thing", {"x"}, {"y"}, {}, {{"a", kind}}});
    const auto x = make.value("x", Role::input, type_of(f32, {1}));
    make.attribute("a", value);
    const auto node = make.node("n", op, {x}, 1, 1);
    return failure_of([&] {
             check_parameters(make.model, make.model.nodes[node], *make.model.operators[op].info);
           })
        .message;
  };
  const auto table = Tensor::from<float>({1, 2}, {2});
  CHECK(error_of("tensor float32", table) == "");
  CHECK(error_of("texts", std::vector<std::string>{"a"}) == "");
  CHECK(error_of("tensor float64", table) ==
        "parameter 'a' is float32 [2] but must be a float64 tensor");
  CHECK(error_of("texts", table) ==
        "parameter 'a' is float32 [2] {1, 2} but must be a list of texts");
  CHECK(error_of("tensor int32", std::vector<std::string>{"a"}) ==
        "parameter 'a' is [\"a\"] but must be an int32 tensor");
  CHECK(error_of("ints", table) ==
        "parameter 'a' is float32 [2] {1, 2} but must be a list of integers");
  CHECK(error_of("tensor float32", Tensor::zeros(f32, {65537})).find("make it an input") !=
        std::string::npos);
}
