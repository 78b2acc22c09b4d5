// The dtypes of version 0.2 in files and in graph.json.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

namespace {

const std::vector<std::pair<std::string, Tensor>> new_tensors = {
    {"a_i16", Tensor::from<std::int16_t>({-32768, 5}, {2})},
    {"b_u16", Tensor::from<std::uint16_t>({65535, 0}, {2})},
    {"c_u32", Tensor::from<std::uint32_t>({4294967295U}, {1})},
    {"d_u64", Tensor::from<std::uint64_t>({UINT64_MAX, 3, std::uint64_t{1} << 63}, {3})},
    {"e_c64", Tensor::from<Complex<float>>({{1, -0.0F}, {0.1F, 3e38F}}, {2, 1})},
    {"f_c128", Tensor::from<Complex<double>>({{0.1, 1e-300}}, Shape::scalar())},
};

Graph graph_of_new_dtypes(Host& host) {
  Graph graph(host);
  for (const auto& [name, tensor] : new_tensors)
    graph.output("out_" + name, graph.constant(name, tensor));
  graph.input("z", c64, {-1});
  return graph;
}

void check_same(const Graph& graph) {
  for (const auto& named : new_tensors) {
    CAPTURE(named.first);
    CHECK(same_bits(graph.tensor(graph.find(named.first)), named.second));
  }
}

std::string refused(Host& host, const std::string& constant) {
  return failure_of([&] {
           Graph::from_json(host, R"({"tenon": 1, "constants": {"c": )" + constant + "}}");
         })
      .message;
}

}  // namespace

TEST_CASE("dtypes of 0.2: a .tenon file stores them and declares the feature") {
  ApplicationHost host;
  const TemporaryFolder folder;
  auto graph = graph_of_new_dtypes(host);
  graph.save(folder / "new.tenon");
  const auto loaded = Graph::load(host, folder / "new.tenon");
  check_same(loaded);
  CHECK(loaded.dtype(loaded.find("z")) == c64);
  CHECK(read_bytes(folder / "new.tenon").find(std::string("\6\0\0\0dtypes", 10)) !=
        std::string::npos);
  Graph plain(host);
  plain.output("y", plain.input("x", f32, {2}));
  plain.save(folder / "plain.tenon");
  CHECK(read_bytes(folder / "plain.tenon").find("dtypes") == std::string::npos);
}

TEST_CASE(
    "dtypes of 0.2: graph.json writes complex elements as [re, im] and quotes large uint64 values, "
    "exactly") {
  ApplicationHost host;
  const auto json = graph_of_new_dtypes(host).to_json();
  CHECK(json.find(R"("18446744073709551615")") != std::string::npos);
  CHECK(json.find("[[1.0, -0.0]]") != std::string::npos);
  check_same(Graph::from_json(host, json));
  const auto mixed = Graph::from_json(host,
                                      R"({"tenon": 1,
          "constants": {"c": {"dtype": "complex64", "shape": [2], "values": [3, [0, -1]]}}})");
  CHECK(same_bits(mixed.tensor(mixed.find("c")),
                  Tensor::from<Complex<float>>({{3, 0}, {0, -1}}, {2})));
  for (const auto& refusal : {
           std::pair(R"({"dtype": "complex64", "shape": [1], "values": [[1, 2, 3]]})",
                     "a complex element is a number or [real, imaginary]"),
           {R"({"dtype": "complex64", "shape": [1], "values": [[1, 1e39]]})",
            "does not fit float32"},
           {R"({"dtype": "complex64", "values": [[1, 2]]})", "complex values need a 'shape'"},
           {R"({"dtype": "uint64", "shape": [1], "values": ["18446744073709551616"]})",
            "is not a uint64 integer"},
           {R"({"dtype": "uint64", "shape": [1], "values": ["-1"]})", "is not a uint64 integer"},
           {R"({"dtype": "uint64", "shape": [1], "values": [-1]})",
            "the element -1 does not fit uint64"},
           {R"({"dtype": "uint64", "shape": [1], "values": [18446744073709551615]})",
            "write it in quotes"},
           {R"({"dtype": "int16", "shape": [1], "values": [40000]})",
            "the element 40000 does not fit int16"},
           {R"({"dtype": "uint32", "shape": [1], "values": [4294967296]})", "does not fit uint32"},
       }) {
    CAPTURE(refusal.first);
    const auto message = refused(host, refusal.first);
    CAPTURE(message);
    CHECK(message.find(refusal.second) != std::string::npos);
  }
}
