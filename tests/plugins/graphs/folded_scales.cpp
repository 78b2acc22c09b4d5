// Factors and summands per channel after a convolution, and activations written as several
// operators, against the original graphs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "rewriting.hpp"

namespace folded_scales {
namespace {

using namespace tenon;
using namespace rewriting;

/// An elementwise operator with a constant, which is its left input if `left` is set.
struct Scale {
  const char* op;
  Shape constant;
  bool left = false;
};

struct Case {
  std::string name;
  Shape data, kernel;
  bool bias;
  std::vector<Scale> scales;
  bool folds = true;
};

constexpr std::int64_t filters = 6;

Graph graph_of(Host& host, const Case& test) {
  Graph graph(host);
  auto whole = test.data;
  whole.set(0, -1);
  std::vector<std::int64_t> kernel(test.kernel.begin(), test.kernel.end());
  auto weight = Shape::of_rank(test.data.rank());
  weight.set(0, filters), weight.set(1, test.data[1]);
  for (int axis = 2; axis < weight.rank(); ++axis) weight.set(axis, test.kernel[axis - 2]);
  std::vector<Value> inputs{graph.input("x", f32, whole),
                            graph.variable("w", numbers(weight, -1, 1, 1))};
  if (test.bias) inputs.push_back(graph.variable("b", numbers({filters}, -1, 1, 2)));
  auto value =
      graph.add("convolution", inputs,
                {{"num_filter", filters}, {"kernel", kernel}, {"no_bias", !test.bias}}, "conv");
  std::uint32_t seed = 3;
  for (const auto& [op, shape, left] : test.scales) {
    const auto constant = graph.constant("c" + std::to_string(seed), numbers(shape, 0.5, 2, seed));
    value = graph.add(op, left ? std::vector{constant, value} : std::vector{value, constant}, {},
                      op + std::to_string(seed++));
  }
  graph.output("y", graph.add("relu", {value}, {}, "relu"));
  return graph;
}

double difference(const Tensor& left, const Tensor& right) {
  REQUIRE(left.shape() == right.shape());
  double most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(left.size()); ++i)
    most = std::max(most, std::fabs(double{left.values<float>()[i]} - right.values<float>()[i]));
  return most;
}

}  // namespace

TEST_CASE("factors and summands per channel, or of one element, are folded into a convolution") {
  RewritingHost with;
  const Shape plane{2, 4, 8, 8}, line{2, 4, 8}, volume{1, 6, 6, 4, 4};
  const Shape channels{1, filters, 1, 1}, channels_of_lines{1, filters, 1};
  const Case cases[] = {
      {"mul", plane, {3, 3}, true, {{"mul", channels}}},
      {"mul without bias", plane, {3, 3}, false, {{"mul", channels}}},
      {"mul on the right", plane, {3, 3}, true, {{"mul", channels, true}}},
      {"mul on the right without bias", plane, {3, 3}, false, {{"mul", channels, true}}},
      {"add", plane, {3, 3}, true, {{"add", channels}}},
      {"add without bias", plane, {3, 3}, false, {{"add", channels}}},
      {"add on the right", plane, {3, 3}, true, {{"add", channels, true}}},
      {"add on the right without bias", plane, {3, 3}, false, {{"add", channels, true}}},
      {"sub", plane, {3, 3}, true, {{"sub", channels}}},
      {"sub without bias", plane, {3, 3}, false, {{"sub", channels}}},
      {"normalization",
       plane,
       {3, 3},
       false,
       {{"sub", channels}, {"mul", channels}, {"add", channels}}},
      {"one element", plane, {3, 3}, true, {{"mul", {1}, true}, {"add", Shape::scalar()}}},
      {"one element on the other side",
       plane,
       {1, 1},
       true,
       {{"mul", Shape::scalar()}, {"add", {1}, true}}},
      {"one element of four axes", plane, {1, 1}, true, {{"mul", {1, 1, 1, 1}}}},
      {"lines", line, {3}, true, {{"mul", channels_of_lines}, {"add", channels_of_lines}}},
      {"lines without bias",
       line,
       {3},
       false,
       {{"mul", channels_of_lines}, {"add", channels_of_lines}}},
      // the constants' elements are not those of filters
      {"columns", plane, {3, 3}, true, {{"mul", {1, 1, 1, 6}}, {"add", {6}}}, false},
      {"columns without bias",
       plane,
       {3, 3},
       false,
       {{"mul", {1, 1, 1, 6}}, {"add", {1, 1, 1, 6}}},
       false},
      {"rows", plane, {3, 3}, true, {{"mul", {6, 1}}, {"add", {1, 1, 6, 1}}}, false},
      {"columns of lines", line, {3}, true, {{"mul", {1, 1, 6}}, {"add", {6}}}, false},
      {"all elements", plane, {3, 3}, true, {{"mul", {1, filters, 6, 6}}}, false},
      {"samples", plane, {3, 3}, false, {{"mul", {2, filters, 1, 1}}}, false},
      {"volumes", volume, {1, 1, 1}, false, {{"mul", {1, filters, 1, 1}}}, false},
      {"volumes and a sum", volume, {1, 1, 1}, true, {{"add", {1, filters, 1, 1}}}, false},
      {"lines as planes", {6, 6, 8}, {3}, false, {{"mul", {6, 1, 1}}}, false},
      {"minuend", plane, {3, 3}, true, {{"sub", channels, true}}, false},
      {"divisor", plane, {3, 3}, true, {{"div", channels}}, false},
      {"dividend", plane, {3, 3}, true, {{"div", channels, true}}, false},
  };
  for (const auto& test : cases) {
    CAPTURE(test.name);
    const auto graph = graph_of(with.host, test);
    const auto names = nodes_of(graph);
    CHECK((names.size() == 1) == test.folds);
    for (std::uint32_t seed = 10; seed < 12; ++seed) {
      const NamedTensors inputs{{"x", numbers(test.data, -1, 1, seed)}};
      CHECK(difference(run(graph, inputs, Optimize::full).at("y"),
                       run(graph, inputs, Optimize::none).at("y")) < 1e-5);
    }
    CHECK(nodes_of(graph, Optimize::exact).size() > 1);
  }
}

TEST_CASE("batch_norm after a convolution of volumes keeps its values, with as many filters") {
  for (const bool bias : {true, false}) {
    RewritingHost with;
    Graph graph(with.host);
    std::vector<Value> layer{graph.input("x", f32, {2, 6, 4, 3, 3}),
                             graph.variable("w", numbers({6, 6, 2, 1, 2}, -1, 1, 1))};
    if (bias) layer.push_back(graph.variable("b", numbers({6}, -1, 1, 2)));
    const auto made = graph.add("convolution", layer,
                                {{"num_filter", 6}, {"kernel", {2, 1, 2}}, {"no_bias", !bias}});
    graph.output("y", graph.add("batch_norm", {made, graph.variable("g", numbers({6}, 0.5, 2, 3)),
                                               graph.variable("o", numbers({6}, -1, 1, 4))}));
    const NamedTensors inputs{{"x", numbers({2, 6, 4, 3, 3}, -1, 1, 5)}};
    CHECK(difference(run(graph, inputs, Optimize::full).at("y"),
                     run(graph, inputs, Optimize::none).at("y")) < 1e-5);
  }
}

TEST_CASE("a factor that the application changes is folded again") {
  RewritingHost with;
  auto graph = graph_of(with.host, {"", {2, 4, 8, 8}, {3, 3}, true, {{"mul", {1, filters, 1, 1}}}});
  Session session(graph), original(graph, {.optimize = Optimize::none});
  const NamedTensors inputs{{"x", numbers({2, 4, 8, 8}, -1, 1, 4)}};
  session.run(inputs);
  { graph.tensor("c3").data<float>()[1] = -7; }
  CHECK(difference(session.run(inputs).at("y"), original.run(inputs).at("y")) < 1e-4);
}

namespace {

/// x's activation, written as several operators.
using Written = Value (*)(Graph&, Value x);

Value number(Graph& graph, double value, const char* name) {
  return graph.constant(name, Tensor::from(std::vector<float>{static_cast<float>(value)}, {1}));
}
Value clipped(Graph& graph, Value x) {
  return graph.add("clip", {graph.add("add", {x, number(graph, 3, "three")})},
                   {{"low", 0.0}, {"high", 6.0}});
}
Value cdf(Graph& graph, Value x, const char* op, double scale) {
  const auto erf = graph.add("erf", {graph.add(op, {x, number(graph, scale, "root")})});
  return graph.add("add", {erf, number(graph, 1, "one")});
}
Value half(Graph& graph) {
  return number(graph, 0.5, "half");
}

struct WrittenCase {
  const char* op;
  Written written;
};

const WrittenCase activations[] = {
    {"swish",
     [](Graph& g, Value x) {
       return g.add("mul", {x, g.add("sigmoid", {x})});
     }},
    {"swish",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("sigmoid", {x}), x});
     }},
    {"hard_swish",
     [](Graph& g, Value x) {
       return g.add("mul", {x, g.add("hard_sigmoid", {x}, {{"alpha", 1.0 / 6}})});
     }},
    {"hard_swish",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("hard_sigmoid", {x}, {{"alpha", double{1.0F / 6}}}), x});
     }},
    {"hard_swish",
     [](Graph& g, Value x) {
       return g.add("div", {g.add("mul", {x, clipped(g, x)}), number(g, 6, "six")});
     }},
    {"hard_swish",
     [](Graph& g, Value x) {
       return g.add("div", {g.add("mul", {clipped(g, x), x}), number(g, 6, "six")});
     }},
    {"hard_swish",
     [](Graph& g, Value x) {
       return g.add("mul", {x, g.add("div", {clipped(g, x), number(g, 6, "six")})});
     }},
    {"hard_swish",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("div", {clipped(g, x), number(g, 6, "six")}), x});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("mul", {x, cdf(g, x, "div", std::sqrt(2.0))}), half(g)});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {half(g), g.add("mul", {x, cdf(g, x, "div", std::sqrt(2.0))})});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("mul", {x, half(g)}), cdf(g, x, "div", std::sqrt(2.0))});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("mul", {half(g), x}), cdf(g, x, "div", std::sqrt(2.0))});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {x, g.add("mul", {cdf(g, x, "div", std::sqrt(2.0)), half(g)})});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("mul", {x, cdf(g, x, "mul", std::sqrt(0.5))}), half(g)});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("mul", {x, half(g)}), cdf(g, x, "mul", std::sqrt(0.5))});
     }},
    {"gelu",
     [](Graph& g, Value x) {
       return g.add("mul", {x, g.add("mul", {cdf(g, x, "mul", std::sqrt(0.5)), half(g)})});
     }},
    // with other numbers, or of two different values
    {"",
     [](Graph& g, Value x) {
       return g.add("mul", {x, g.add("hard_sigmoid", {x}, {{"alpha", 0.2}})});
     }},
    {"",
     [](Graph& g, Value x) {
       return g.add("div", {g.add("mul", {x, clipped(g, x)}), number(g, 5, "five")});
     }},
    {"",
     [](Graph& g, Value x) {
       return g.add("mul", {g.add("mul", {x, cdf(g, x, "div", 1.5)}), half(g)});
     }},
    {"",
     [](Graph& g, Value x) {
       return g.add("mul", {x, g.add("sigmoid", {g.add("neg", {x})})});
     }},
    {"",
     [](Graph& g, Value x) {
       const auto sixes = g.constant("sixes", Tensor::from(std::vector<float>(7, 6), {7}));
       return g.add("div", {g.add("mul", {x, clipped(g, x)}), sixes});
     }},
};

}  // namespace

TEST_CASE("activations written as several operators become one, within rounding") {
  RewritingHost with;
  for (std::size_t i = 0; i < std::size(activations); ++i) {
    const auto& [op, written] = activations[i];
    CAPTURE(i);
    Graph graph(with.host);
    graph.output("y", written(graph, graph.input("x", f32, {-1, 7})));
    const auto nodes = Session(graph, {}).optimized().nodes();
    const bool replaced = *op != '\0';
    CHECK((nodes.size() == 1) == replaced);
    if (replaced) CHECK(nodes.front().op.ends_with(op));
    const NamedTensors inputs{{"x", numbers({90, 7}, -8, 8, 5)}};
    CHECK(difference(run(graph, inputs, Optimize::full).at("y"),
                     run(graph, inputs, Optimize::none).at("y")) < 4e-6);
    CHECK(nodes_of(graph, Optimize::exact).size() > 1);
  }
}

}  // namespace folded_scales
