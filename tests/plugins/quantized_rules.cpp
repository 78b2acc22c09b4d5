// Sessions compute dequantize -> product or convolution -> quantize with integers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "graphs/rewriting.hpp"

namespace {

using namespace tenon;
using namespace rewriting;

Tensor whole(DType dtype, const Shape& shape, int low, int high, std::uint32_t seed) {
  const auto from = numbers(shape, low, high + 1, seed);
  auto made = Tensor::empty(dtype, shape);
  for (std::int64_t i = 0; i < made.size(); ++i) {
    const auto value = std::floor(from.values<float>()[static_cast<std::size_t>(i)]);
    if (dtype == u8)
      made.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
    else
      made.data<std::int8_t>()[i] = static_cast<std::int8_t>(value);
  }
  return made;
}

/// Builds quantized layers as importers write them.
struct QuantizedGraph {
  Graph graph;
  explicit QuantizedGraph(Host& host) : graph(host) {}

  Value scale(const std::string& name, double value) {
    return graph.constant(name, Tensor::from({static_cast<float>(value)}, Shape::scalar()));
  }
  Value zero(const std::string& name, DType dtype, int value) {
    return graph.constant(name, whole(dtype, Shape::scalar(), value, value, 1));
  }
  Value quantize(Value x, const std::string& name, double size, int at) {
    return graph.add("quantize", {x, scale(name + "_s", size), zero(name + "_z", u8, at)}, {},
                     name);
  }
  Value dequantize(Value x, const std::string& name, double size, int at) {
    return graph.add("dequantize", {x, scale(name + "_s", size), zero(name + "_z", u8, at)}, {},
                     name);
  }
  Value weight(const std::string& name, const Shape& shape, int axis, std::uint32_t seed) {
    return graph.add("dequantize",
                     {graph.constant(name + "_q", whole(i8, shape, -127, 127, seed)),
                      graph.constant(name + "_s", numbers({shape[axis]}, 0.001, 0.002, seed + 1))},
                     {{"axis", axis}}, name);
  }
};

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : Session(graph).optimized().nodes()) names.push_back(node.op);
  return names;
}
std::int64_t number_of(const std::vector<std::string>& names, const std::string& name) {
  return std::count(names.begin(), names.end(), name);
}

/// The largest difference of quantized results, in steps.
int steps_between(const Tensor& left, const Tensor& right) {
  REQUIRE(left.shape() == right.shape());
  int most = 0;
  for (std::int64_t i = 0; i < left.size(); ++i)
    most = std::max(most, std::abs(int{left.values<std::uint8_t>()[static_cast<std::size_t>(i)]} -
                                   int{right.values<std::uint8_t>()[static_cast<std::size_t>(i)]}));
  return most;
}

}  // namespace

TEST_CASE("products of dequantized values run with integers, also if others read the values") {
  RewritingHost with;
  QuantizedGraph made(with.host);
  auto& graph = made.graph;
  const auto x = made.dequantize(graph.input("x", u8, {-1, 24}), "x_f", 0.02, 128);
  const auto first = graph.add("matmul", {x, made.weight("w1", {24, 40}, 1, 3)}, {}, "first");
  const auto layer = graph.add(
      "fully_connected",
      {x, made.weight("w2", {40, 24}, 0, 5), graph.constant("b", numbers({40}, -1, 1, 9))},
      {{"num_hidden", 40}}, "layer");
  graph.output("a", made.quantize(first, "a_q", 0.01, 100));
  graph.output("b", made.quantize(graph.add("relu", {layer}, {}, "relu"), "b_q", 0.01, 0));
  graph.output("f", graph.add("neg", {x}, {}, "negative"));
  const auto names = operators_of(graph);
  CHECK(number_of(names, "quantized_matmul") == 2);
  CHECK(number_of(names, "dequantize") == 1);  // for neg
  CHECK(number_of(names, "quantize") == 0);
  const NamedTensors inputs{{"x", whole(u8, {7, 24}, 0, 255, 11)}};
  const auto full = run(graph, inputs, Optimize::full), exact = run(graph, inputs, Optimize::exact);
  CHECK(steps_between(full.at("a"), exact.at("a")) <= 1);
  CHECK(steps_between(full.at("b"), exact.at("b")) <= 1);
  CHECK(same_bits(full.at("f"), exact.at("f")));
  CHECK(with.warnings.empty());
}

TEST_CASE("products run with integers only if scales differ along the columns") {
  RewritingHost with;
  struct Layer {
    std::string op;
    Attributes attributes;
    int columns;  ///< axis of the weight
  };
  for (const auto& [op, attributes, columns] :
       {Layer{"matmul", {}, 1}, Layer{"matmul", {{"transpose_b", true}}, 0},
        Layer{"fully_connected", {{"num_hidden", 24}, {"no_bias", true}}, 0}})
    for (const std::int64_t axis : {-2, -1, 0, 1}) {
      INFO(op, " ", axis);
      QuantizedGraph made(with.host);
      auto& graph = made.graph;
      const auto x = made.dequantize(graph.input("x", u8, {-1, 24}), "x_f", 0.02, 128);
      const auto w = graph.add("dequantize",
                               {graph.constant("w_q", whole(i8, {24, 24}, -127, 127, 3)),
                                graph.constant("w_s", numbers({24}, 0.001, 0.02, 4))},
                               {{"axis", axis}}, "w");
      graph.output("y", graph.add(op, {x, w}, attributes, "product"));
      const bool along_columns = (axis + 2) % 2 == columns;
      CHECK(number_of(operators_of(graph), "quantized_matmul") == along_columns);
      const NamedTensors inputs{{"x", whole(u8, {7, 24}, 0, 255, 11)}};
      const auto full = run(graph, inputs, Optimize::full).at("y"),
                 none = run(graph, inputs, Optimize::none).at("y");
      REQUIRE(full.shape() == none.shape());
      for (std::size_t i = 0; i < full.values<float>().size(); ++i)
        REQUIRE(full.values<float>()[i] == doctest::Approx(none.values<float>()[i]).epsilon(1e-4));
    }
}

TEST_CASE("a bias of one element is added to a product of two vectors, which has no dimensions") {
  RewritingHost with;
  QuantizedGraph made(with.host);
  const auto x = made.dequantize(made.graph.input("x", u8, Shape()), "x_f", 0.02, 100);
  const auto weight = made.graph.add(
      "dequantize", {made.graph.constant("w", whole(i8, {7}, -9, 9, 3)), made.scale("w_s", 0.1)},
      {{"axis", 0}});
  const auto product = made.graph.add("matmul", {x, weight}, {}, "product");
  made.graph.output(
      "y", made.graph.add("add", {product, made.graph.constant("c", numbers({1}, 1, 2, 1))}));
  CHECK(number_of(operators_of(made.graph), "quantized_matmul") == 1);
  for (const auto& shape : {Shape{7}, Shape{3, 7}}) {
    const NamedTensors inputs{{"x", whole(u8, shape, 0, 255, 11)}};
    CHECK(relative_difference(run(made.graph, inputs, Optimize::full).at("y"),
                              run(made.graph, inputs, Optimize::none).at("y")) < 1e-5);
  }
}

TEST_CASE("convolutions of dequantized values run with integers, in both layouts") {
  RewritingHost with;
  struct Layer {
    Shape data, weight;
    Attributes more;
  };
  for (const auto& [data, weight, more] :
       {Layer{{2, 5, 9, 8}, {37, 5, 3, 3}, {{"kernel", {3, 3}}, {"pad", {1, 1}}}},
        Layer{{1, 64, 7, 7}, {16, 64, 1, 1}, {{"kernel", {1, 1}}, {"stride", {2, 2}}}},
        Layer{{1, 3, 11, 13},
              {8, 3, 5, 3},
              {{"kernel", {5, 3}}, {"dilate", {2, 3}}, {"pad", {3, 0}}, {"pad_end", {1, 4}}}},
        Layer{{3, 6, 21}, {9, 6, 4}, {{"kernel", {4}}, {"stride", {3}}, {"pad", {2}}}},
        Layer{{1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {{"kernel", {2, 3, 2}}, {"pad", {1, 1, 1}}}}}) {
    INFO(to_string(data));
    QuantizedGraph made(with.host);
    auto& graph = made.graph;
    const auto x = made.dequantize(graph.input("x", u8, data), "x_f", 0.02, 77);
    auto attributes = more;
    attributes.set("num_filter", weight[0]);
    const auto sum = graph.add(
        "convolution",
        {x, made.weight("w", weight, 0, 3), graph.constant("b", numbers({weight[0]}, -1, 1, 9))},
        attributes, "conv");
    const auto limited = graph.add("clip", {sum}, {{"low", 0.0}, {"high", 1.5}}, "clip");
    graph.output("y", made.quantize(limited, "y_q", 0.01, 3));
    const auto names = operators_of(graph);
    CHECK(number_of(names, "quantized_convolution") == 1);
    CHECK(names.size() == 1);
    const NamedTensors inputs{{"x", whole(u8, data, 0, 255, 11)}};
    CHECK(steps_between(run(graph, inputs, Optimize::full).at("y"),
                        run(graph, inputs, Optimize::none).at("y")) <= 1);
  }
}
