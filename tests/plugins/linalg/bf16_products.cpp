// Bundled products and convolutions in bfloat16 sessions, if this machine multiplies bfloat16.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tenon/host/session.hpp>
#include <vector>

#include "../../../plugins/shared/product/multiply_bf16.hpp"
#include "built.hpp"
#include "plugins/numbers.hpp"

#if defined(TENON_WIDE_LEVELS)
using namespace tenon;

namespace bf16_products {
namespace {

/// Integers, whose products and sums are the same in both precisions, or numbers with a fraction
/// that bfloat16 cannot represent.
Tensor operand_of(const Shape& shape, bool whole) {
  auto made = Tensor::zeros(f32, shape);
  auto values = made.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<int>((i * 2654435761u >> 7) % 17) - 8;
    values[i] =
        static_cast<float>(number) + (whole ? 0.0F : 0.0078125F * static_cast<float>(number % 3));
  }
  return made;
}

struct Product {
  const char* op;
  Shape left, right;
  Attributes parameters;
  bool bias = false;
};

using Integers = std::vector<std::int64_t>;

std::vector<Product> products() {
  return {{"matmul", {5, 70}, {70, 130}, {}},
          {"matmul", {3, 5, 7}, {7, 33}, {}},
          {"matmul", {2, 1, 9, 20}, {3, 20, 17}, {}},
          {"matmul", {20, 9}, {17, 20}, {{"transpose_a", true}, {"transpose_b", true}}},
          {"matmul", {6}, {6, 4}, {}},
          {"matmul", {4, 6}, {6}, {}},
          {"fully_connected", {30, 65}, {40, 65}, {{"num_hidden", 40}}, true},
          {"fully_connected",
           {35, 1100},
           {1340, 1100},
           {{"num_hidden", 1340}},
           true},  // two segments of the depth, tiles of many panels
          {"convolution",
           {2, 3, 17, 15},
           {20, 3, 3, 3},
           {{"num_filter", 20}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}},
           true},
          {"convolution",
           {1, 32, 9, 12},
           {48, 32, 1, 1},
           {{"num_filter", 48}, {"kernel", Integers{1, 1}}, {"no_bias", true}}},
          {"convolution",
           {3, 16, 8, 9},
           {32, 8, 3, 2},
           {{"num_filter", 32}, {"kernel", Integers{3, 2}}, {"groups", 2}},
           true},
          {"convolution",
           {2, 24, 30},
           {5, 24, 5},
           {{"num_filter", 5}, {"kernel", Integers{5}}, {"stride", Integers{2}}},
           true},
          {"convolution",
           {1, 8, 5, 6, 7},
           {16, 8, 2, 2, 2},
           {{"num_filter", 16}, {"kernel", Integers{2, 2, 2}}},
           true},
          // Channels-last tensors and all kinds of tile loads: a single channel, several, whole
          // cache lines; with strides; with padding larger than the window.
          {"convolution",
           {2, 1, 13, 40},
           {6, 1, 5, 5},
           {{"num_filter", 6}, {"kernel", Integers{5, 5}}, {"pad", Integers{2}}},
           true},
          {"convolution",
           {2, 1, 19, 30},
           {40, 1, 4, 6},
           {{"num_filter", 40}, {"kernel", Integers{4, 6}}, {"stride", Integers{2}}},
           true},
          {"convolution",
           {1, 32, 9, 30},
           {33, 32, 3, 3},
           {{"num_filter", 33}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}},
           true},
          {"convolution",
           {2, 64, 18, 18},
           {64, 64, 3, 3},
           {{"num_filter", 64},
            {"kernel", Integers{3, 3}},
            {"stride", Integers{2}},
            {"pad", Integers{1}}},
           true},
          {"convolution",
           {1, 20, 12, 13},
           {70, 20, 3, 2},
           {{"num_filter", 70}, {"kernel", Integers{3, 2}}, {"pad", Integers{1}}},
           true},
          {"convolution",
           {1, 48, 16, 17},
           {40, 48, 1, 1},
           {{"num_filter", 40}, {"kernel", Integers{1, 1}}, {"stride", Integers{2}}},
           true},
          {"convolution",
           {1, 10, 8, 7},
           {17, 10, 3, 3},
           {{"num_filter", 17}, {"kernel", Integers{3, 3}}, {"pad", Integers{4}}},
           true},
          {"convolution",
           {1, 16, 9, 14},
           {20, 16, 3, 3},
           {{"num_filter", 20}, {"kernel", Integers{3, 3}}, {"pad_end", Integers{2}}},
           true},
          {"convolution",
           {1, 1, 20, 32},
           {16, 1, 5, 5},
           {{"num_filter", 16}, {"kernel", Integers{5, 5}}, {"pad_end", Integers{2}}},
           true},
          // Large weights and few positions: im2col.
          {"convolution",
           {3, 40, 2, 2},
           {48, 40, 3, 3},
           {{"num_filter", 48}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}},
           true},
          {"convolution",
           {2, 30, 5, 4},
           {70, 30, 3, 3},
           {{"num_filter", 70}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}},
           true}};
}

/// loss is the sum of the product, after an activation if `activated`; the gradients of both sides
/// are outputs, too, if `trains`.
Graph graph_of(Host& host, const Product& product, bool whole, bool activated, bool trains) {
  Graph graph(host);
  const auto left = graph.input("left", f32, product.left);
  const auto right = graph.variable("right", operand_of(product.right, whole));
  std::vector<Value> inputs{left, right};
  if (product.bias) inputs.push_back(graph.variable("bias", operand_of({product.right[0]}, whole)));
  auto y = graph.add(product.op, inputs, product.parameters, "product");
  if (activated) y = graph.add("relu", {y}, {}, "after");
  graph.output("y", y);
  if (!trains) return graph;
  const auto gradients =
      graph.gradient(graph.add("sum", {graph.add("square", {y})}), {left, right});
  graph.output("dleft", gradients[0]);
  graph.output("dright", gradients[1]);
  return graph;
}

/// The kernel variant of the product. A convolution's data may be reordered first.
std::string variant_in(Session& session) {
  for (const auto& step : session.plan({}).steps)
    if (step.node.starts_with("product")) return step.variant;
  return "none: no step computes the product";
}

double furthest(const Tensor& a, const Tensor& b) {
  const auto left = a.values<float>(), right = b.values<float>();
  double most = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double distance = std::abs(left[i] - right[i]);
    if (std::isnan(distance)) return distance;
    most = std::max(most, distance);
  }
  return most;
}

double largest(const Tensor& a) {
  return furthest(a, Tensor::zeros(f32, a.shape()));
}

/// Whether the processor and the bundled plugins support bfloat16; plugins built for plain vectors
/// do not.
bool multiplies() {
#if defined(TENON_TEST_PLAIN_PLUGINS)
  MESSAGE("skipped: the bundled plugins are compiled for plain vectors");
  return false;
#else
  const bool usable = product::multiplies_bf16();
  if (!usable) MESSAGE("skipped: this processor has no AVX512-BF16");
  return usable;
#endif
}

}  // namespace
}  // namespace bf16_products

using namespace bf16_products;

TEST_CASE(
    "sessions in bfloat16: bundled products round their factors, and nothing else, forward and "
    "backward") {
  if (!multiplies()) return;
  for (const auto& product : products())
    for (const bool whole : {true, false})
      for (const bool activated : {false, true})
        for (const bool trains : {false, true}) {
          CAPTURE(std::string(product.op));
          CAPTURE(product.left.rank());
          CAPTURE(activated);
          CAPTURE(trains);
          const auto left = operand_of(product.left, whole);
          const auto graph = graph_of(plugin_tests::host(), product, whole, activated, trains);
          Session usual(graph, {.training = trains}),
              asked(graph, {.training = trains, .precision = bf16});
          const auto exact = usual.run({{"left", left}}), rounded = asked.run({{"left", left}});
          CHECK(variant_in(asked).ends_with("InBf16"));
          CHECK(variant_in(usual).empty());
          for (const auto& each : exact) {
            const auto& name = each.first;
            const auto& tensor = each.second;
            CAPTURE(name);
            // Gradients multiply results, which are integers too large for bfloat16.
            if (whole && name == "y")
              CHECK(furthest(tensor, rounded.at(name)) == 0);
            else
              CHECK(furthest(tensor, rounded.at(name)) <= 0.01 * largest(tensor));
            if (!whole && name == "y") CHECK(furthest(tensor, rounded.at(name)) > 0);
          }
        }
}

TEST_CASE("sessions in bfloat16: products pack constant weights, with the same bits as without") {
  if (!multiplies()) return;
  for (const auto& product : products()) {
    CAPTURE(std::string(product.op));
    const auto left = operand_of(product.left, false);
    const auto graph = graph_of(plugin_tests::host(), product, false, true, false);
    Session keeps(graph, {.precision = bf16, .constant_weights = true});
    // A layout that only an optimized plan chooses may change a convolution's rounding.
    const bool slides = std::string(product.op) == "convolution";
    Session without(graph,
                    {.optimize = slides ? Optimize::full : Optimize::none, .precision = bf16});
    CHECK(furthest(keeps.run({{"left", left}}).at("y"), without.run({{"left", left}}).at("y")) ==
          0);
  }
}

TEST_CASE("sessions in bfloat16: values of an earlier run do not reappear") {
  if (!multiplies()) return;
  const auto nothing = [](const Shape& shape) {
    auto made = Tensor::zeros(f32, shape);
    for (auto& value : made.values<float>()) value = std::numeric_limits<float>::quiet_NaN();
    return made;
  };
  // Larger than the others, and on all threads.
  const Product large{"convolution",
                      {16, 64, 40, 40},
                      {32, 64, 3, 3},
                      {{"num_filter", 32}, {"kernel", Integers{3, 3}}}};
  Session spoils(graph_of(plugin_tests::host(), large, false, false, false), {.precision = bf16});
  for (const auto& product : products()) {
    CAPTURE(std::string(product.op));
    const auto left = operand_of(product.left, false);
    Session session(graph_of(plugin_tests::host(), product, false, false, false),
                    {.precision = bf16});
    const auto y = session.run({{"left", left}}).at("y");
    spoils.run({{"left", nothing(large.left)}});
    CHECK(furthest(session.run({{"left", left}}).at("y"), y) == 0);
    CHECK(std::isnan(furthest(session.run({{"left", nothing(product.left)}}).at("y"), y)));
    CHECK(furthest(session.run({{"left", left}}).at("y"), y) == 0);
  }
}

TEST_CASE(
    "sessions in bfloat16: consecutive convolutions with channels-last tensors between them") {
  if (!multiplies()) return;
  Graph graph(plugin_tests::host());
  auto x = graph.input("x", f32, {2, 6, 20, 18});
  std::int64_t channels = 6;
  for (const std::int64_t filters : {16, 24, 24}) {
    const auto weight = graph.variable(join("weight", channels, filters),
                                       operand_of({filters, channels, 3, 3}, false));
    x = graph.add("convolution", {x, weight},
                  {{"num_filter", filters}, {"kernel", Integers{3, 3}}, {"no_bias", true}},
                  join("convolution", channels, filters));
    x = graph.add("relu", {x}, {}, join("after", channels, filters));
    channels = filters;
  }
  graph.output("y", x);
  const auto data = operand_of({2, 6, 20, 18}, false);
  const auto exact = Session(graph).run({{"x", data}}).at("y"),
             rounded = Session(graph, {.precision = bf16}).run({{"x", data}}).at("y");
  CHECK(furthest(exact, rounded) <= 0.01 * largest(exact));
  CHECK(furthest(exact, rounded) > 0);
}

TEST_CASE(
    "sessions in bfloat16: a convolution has the same bits on any number of threads, and in any "
    "batch") {
  if (!multiplies()) return;
  HostOptions options;
  options.threads = 1;
  options.trust_writable = true;
  options.search_defaults = false;
  Host one_thread(options);
  one_thread.add_plugins(built("plugins"));
  const auto run = [](Host& host, const Product& product, const Tensor& data) {
    return Session(graph_of(host, product, false, true, false), {.precision = bf16})
        .run({{"left", data}})
        .at("y");
  };
  // Rows are distributed if data is large, filters if weights are.
  for (const Product& product : std::vector<Product>{
           {"convolution",
            {3, 32, 40, 20},
            {48, 32, 3, 3},
            {{"num_filter", 48}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}},
            true},
           {"convolution",
            {3, 96, 7, 7},
            {160, 96, 3, 3},
            {{"num_filter", 160}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}},
            true},
           {"convolution",
            {3, 1, 90, 28},
            {6, 1, 5, 5},
            {{"num_filter", 6}, {"kernel", Integers{5, 5}}, {"pad", Integers{2}}},
            true}}) {
    CAPTURE(product.left[1]);
    auto alone = product;
    alone.left = {1, product.left[1], product.left[2], product.left[3]};
    const auto all = operand_of(product.left, false);
    auto first = Tensor::zeros(f32, alone.left);
    std::copy_n(all.values<float>().begin(), first.size(), first.values<float>().begin());
    const auto y = run(plugin_tests::host(), product, all);
    CHECK(furthest(y, run(one_thread, product, all)) == 0);
    for (auto* host : {&plugin_tests::host(), &one_thread}) {
      const auto single = run(*host, alone, first);
      CHECK(std::equal(single.values<float>().begin(), single.values<float>().end(),
                       y.values<float>().begin()));
    }
  }
}
#endif
