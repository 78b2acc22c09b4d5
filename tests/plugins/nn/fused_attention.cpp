// Attention written as separate operators: sessions compute it in one pass, with the same bits as
// the operators in sequence.
#include <doctest/doctest.h>

#include <algorithm>
#include <tenon/host/tensor_functions.hpp>

#include "plugins/graphs/rewriting.hpp"

namespace {

using namespace rewriting;

struct AttentionCase {
  std::int64_t batch, heads, queries, keys, size, value_size;
  const char* scaled = nullptr;  ///< the operator that scales; may be null
  Shape mask = {};               ///< rank 0: no mask
  bool columns = false;          ///< keys are transposed as in a matrix product
  Shape scale = {1};
  const char* softmax = "softmax";
  std::int64_t axis = -1;  ///< axis of the softmax
};

using Axes = std::vector<std::int64_t>;

Graph attention(Host& host, const AttentionCase& of) {
  Graph graph(host);
  const auto heads = [&](const char* name, std::int64_t rows, std::int64_t size, const Axes& axes) {
    const auto given = graph.input(name, f32, {of.batch, rows, of.heads * size});
    const auto apart =
        graph.add("reshape", {given}, {{"shape", Axes{of.batch, rows, of.heads, size}}},
                  std::string(name) + "_parts");
    return graph.add("transpose", {apart}, {{"axes", axes}}, std::string(name) + "_heads");
  };
  const auto q = heads("q", of.queries, of.size, {0, 2, 1, 3});
  const auto k = heads("k", of.keys, of.size, of.columns ? Axes{0, 2, 3, 1} : Axes{0, 2, 1, 3});
  auto scores = graph.add("matmul", {q, k}, {{"transpose_b", !of.columns}}, "products");
  if (of.scaled)
    scores = graph.add(of.scaled, {scores, graph.constant("by", numbers(of.scale, 1.5, 2.5, 9))},
                       {}, "scaled");
  if (of.mask.rank() > 0)
    scores = graph.add("add", {scores, graph.input("mask", f32, of.mask)}, {}, "masked");
  const auto shares = graph.add(of.softmax, {scores}, {{"axis", of.axis}}, "shares");
  const auto mixed =
      graph.add("matmul", {shares, heads("v", of.keys, of.value_size, {0, 2, 1, 3})}, {}, "mixed");
  graph.output("y", graph.add("transpose", {mixed}, {{"axes", Axes{0, 2, 1, 3}}}, "rows"));
  return graph;
}

NamedTensors inputs_of(const AttentionCase& of) {
  NamedTensors inputs{{"q", numbers({of.batch, of.queries, of.heads * of.size}, -2, 2, 1)},
                      {"k", numbers({of.batch, of.keys, of.heads * of.size}, -2, 2, 2)},
                      {"v", numbers({of.batch, of.keys, of.heads * of.value_size}, -2, 2, 3)}};
  if (of.mask.rank() > 0) inputs["mask"] = numbers(of.mask, -3, 0, 4);
  return inputs;
}

bool is_fused(const Session& session) {
  const auto graph = session.optimized();
  const auto nodes = graph.nodes();
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const auto& node) { return node.op == "fused_attention"; }) == 1 &&
         std::none_of(nodes.begin(), nodes.end(),
                      [](const auto& node) { return node.op == "matmul"; });
}

}  // namespace

TEST_CASE("attention written as separate operators runs in one pass, with the operators' bits") {
  const AttentionCase cases[] = {
      {2, 3, 7, 5, 8, 6},
      {2, 3, 7, 5, 8, 6, "mul"},
      {2, 3, 7, 5, 8, 6, "div"},
      {1, 4, 9, 17, 16, 16, "mul", {9, 17}},
      {2, 4, 9, 17, 16, 16, "div", {2, 1, 1, 17}},
      {2, 2, 6, 33, 5, 4, nullptr, {2, 6, 33}},
      {2, 2, 6, 33, 5, 4, "mul", {2, 1, 6, 1}},  // one element for all keys
      {1, 2, 300, 70, 64, 64, "mul"},            // queries in blocks
      {1, 2, 300, 70, 8, 8, "mul", {300, 70}},
      {1, 1, 40, 12000, 3, 70, "div"},  // few queries per block
      {1, 1, 1, 1, 1, 1, "mul"},
      {2, 2, 0, 3, 4, 4, "mul"},
      {2, 2, 3, 4, 4, 0},
  };
  for (const int threads : {1, 3}) {
    RewritingHost all({}, threads);
    for (auto each : cases)
      for (const bool columns : {false, true}) {
        each.columns = columns;
        INFO(each.heads, " heads of ", each.queries, " queries and ", each.keys, " keys, ",
             std::string(each.scaled ? each.scaled : "unscaled"), ", mask of ", each.mask.rank(),
             " axes, columns ", columns, ", ", threads, " threads");
        const auto graph = attention(all.host, each);
        const auto inputs = inputs_of(each);
        Session session(graph, {.optimize = Optimize::exact});
        REQUIRE(is_fused(session));
        CHECK(same_bits(session.run(inputs).at("y"), run(graph, inputs, Optimize::none).at("y")));
      }
    CHECK(all.warnings.empty());
  }
}

TEST_CASE("attention in one pass multiplies in bfloat16 if requested") {
  RewritingHost all;
  const AttentionCase of{2, 4, 70, 90, 40, 24, "mul", {70, 90}};
  const auto graph = attention(all.host, of);
  try {
    Session written(graph, {.optimize = Optimize::none, .precision = bf16}),
        session(graph, {.precision = bf16});
    REQUIRE(is_fused(session));
    const auto result = session.run(inputs_of(of)).at("y");
    CHECK(same_bits(result, written.run(inputs_of(of)).at("y")));
    CHECK_FALSE(same_bits(result, run(graph, inputs_of(of), Optimize::none).at("y")));
  } catch (const Error& error) {
    MESSAGE("not tried: " << error.what());
    CHECK(std::string(error.what()).find("bfloat16") != std::string::npos);
  }
}

TEST_CASE(
    "graphs that are not attention with one scale and softmax over the last axis are not "
    "rewritten") {
  RewritingHost all;
  AttentionCase of{2, 3, 5, 5, 8, 6, "mul"};
  of.scale = {5};
  const auto graph = attention(all.host, of);
  CHECK_FALSE(is_fused(Session(graph)));
  CHECK(same_bits(run(graph, inputs_of(of), Optimize::exact).at("y"),
                  run(graph, inputs_of(of), Optimize::none).at("y")));
  of.scale = {1};
  of.axis = 2;
  CHECK_FALSE(is_fused(Session(attention(all.host, of))));
  of.axis = -1;
  of.softmax = "log_softmax";
  CHECK_FALSE(is_fused(Session(attention(all.host, of))));
}
