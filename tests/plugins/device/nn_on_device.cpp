// Layers, losses and their gradients on a GPU, or a simulated one, against the CPU's results for
// the same graph.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "failure_of.hpp"
#include "on_gpu.hpp"
#include "plugins/numbers.hpp"
#include "plugins/strict_host.hpp"
#include "plugins/table_gradient.hpp"

using namespace plugin_tests;
using tenon::Storage;
using tenon::Value;

namespace {

/// A graph with variables of arbitrary numbers.
struct Net {
  tenon::Graph graph;
  std::vector<Value> weights = {};

  Value weight(const std::string& name, const Shape& shape) {
    const auto seed = static_cast<unsigned>(weights.size()) + 1;
    weights.push_back(graph.variable(name, arbitrary(tenon::f32, shape, -0.5, 0.5, seed)));
    return weights.back();
  }
  /// Outputs: the loss, and the gradient with respect to each weight.
  void differentiate(Value loss) {
    graph.output("loss", loss);
    const auto gradients = graph.gradient(loss, weights);
    for (std::size_t i = 0; i < weights.size(); ++i)
      graph.output("gradient " + std::to_string(i), gradients[i]);
  }
};

tenon::SessionOptions on(const char* device) {
  tenon::SessionOptions options;
  options.training = true;
  options.seed = 7;
  options.device = device;
  return options;
}

tenon::NamedTensors run(const tenon::Graph& graph, const char* device,
                        const tenon::NamedTensors& inputs = {}) {
  return tenon::Session(graph, on(device)).run(inputs);
}

void check_all_near(const tenon::NamedTensors& found, const tenon::NamedTensors& expected,
                    double tolerance) {
  for (const auto& output : expected) {
    CAPTURE(output.first);
    const auto here = doubles(found.at(output.first)), there = doubles(output.second);
    REQUIRE(here.size() == there.size());
    double largest = 0;
    for (std::size_t i = 0; i < here.size(); ++i)
      largest = std::max(largest, std::abs(here[i] - there[i]) / (1 + std::abs(there[i])));
    CHECK(largest <= tolerance);
  }
}

tenon::NamedTensors images() {
  return {{"x", arbitrary(tenon::f32, {4, 3, 9, 8}, -1, 1, 20)},
          {"labels", Tensor::from<std::int64_t>({0, 4, 2, 1}, {4})}};
}

std::map<std::string, Shape> shapes_of(const tenon::NamedTensors& tensors) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.shape();
  return shapes;
}

/// p: the parameter of dropout.
tenon::Graph convnet(tenon::Host& host, double p) {
  Net net{tenon::Graph(host)};
  auto& graph = net.graph;
  const auto x = graph.input("x", tenon::f32, {4, 3, 9, 8}),
             labels = graph.input("labels", tenon::i64, {4});
  const auto conv =
      graph.add("convolution", {x, net.weight("filters", {6, 3, 3, 3}), net.weight("bias", {6})},
                {{"num_filter", 6}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}});
  const auto norm =
      graph.add("batch_norm", {conv, net.weight("gamma", {6}), net.weight("beta", {6})});
  const auto pool = graph.add("max_pool", {graph.add("relu", {norm})},
                              {{"kernel", Integers{3, 3}}, {"stride", Integers{2}}});
  const auto drop = graph.add("dropout", {pool}, {{"p", p}}, "drop");
  const auto hidden = graph.add("fully_connected",
                                {drop, net.weight("w1", {10, 6 * 4 * 3}), net.weight("b1", {10})},
                                {{"num_hidden", 10}});
  const auto even =
      graph.add("layer_norm", {hidden, net.weight("scale", {10}), net.weight("offset", {10})});
  const auto scores =
      graph.add("fully_connected", {even, net.weight("w2", {5, 10}), net.weight("b2", {5})},
                {{"num_hidden", 5}});
  graph.output("mask", graph.find("drop:mask"));
  net.differentiate(graph.add("softmax_cross_entropy", {scores, labels}));
  return graph;
}

}  // namespace

TEST_CASE(
    "on a GPU: a convnet's loss and gradients match the CPU's, and dropout's mask is "
    "bit-identical") {
  if (!has_gpu()) return;
  StrictHost host(2);
  const auto graph = convnet(host, 0.25);
  const auto expected = run(graph, "cpu", images()), found = run(graph, "cuda", images());
  CHECK(same_bits(found.at("mask"), expected.at("mask")));
  check_all_near(found, expected,
                 1e-4);  // cuDNN may use Winograd, which has larger rounding errors
}

TEST_CASE("on a GPU: products of bfloat16 sessions round their factors, forward and backward") {
  if (!has_gpu()) return;
  StrictHost host(2);
  Net net{tenon::Graph(host)};
  auto& graph = net.graph;
  const auto x = graph.input("x", tenon::f32, {20, 30});
  const auto hidden =
      graph.add("fully_connected", {x, net.weight("w", {40, 30}), net.weight("b", {40})},
                {{"num_hidden", 40}}, "hidden");
  const auto product = graph.add("matmul", {hidden, net.weight("m", {40, 10})}, {}, "product");
  net.differentiate(graph.add("sum", {graph.add("square", {product})}));
  const tenon::NamedTensors inputs{{"x", arbitrary(tenon::f32, {20, 30}, -1, 1, 20)}};
  auto asked = on("cuda");
  asked.precision = tenon::bf16;
  tenon::Session session(graph, asked);
  const auto found = session.run(inputs), exact = run(graph, "cpu", inputs);
  const auto plan = session.plan({});
  for (const std::string name : {"hidden", "product"})
    CHECK(std::any_of(plan.steps.begin(), plan.steps.end(), [&](const auto& step) {
      return step.node == name && step.variant.ends_with("InBf16");
    }));
  for (const auto& each : exact) {
    const auto& name = each.first;
    const auto& tensor = each.second;
    CAPTURE(name);
    const auto here = doubles(found.at(name)), there = doubles(tensor);
    double largest = 0, furthest = 0;
    for (std::size_t i = 0; i < there.size(); ++i) {
      largest = std::max(largest, std::abs(there[i]));
      furthest = std::max(furthest, std::abs(here[i] - there[i]));
    }
    CHECK(furthest <= 0.02 * largest);
    CHECK(furthest > 1e-5 * largest);
  }
}

TEST_CASE(
    "on a GPU: a captured convnet has the same bits as its first run, which is not captured") {
  if (!has_gpu()) return;
  StrictHost host(2);
  tenon::Session session(convnet(host, 0), on("cuda"));
  const auto first = session.run(images());
  CHECK(session.describe_plan(shapes_of(images())).find("captured") != std::string::npos);
  for (int again = 0; again < 3; ++again)
    for (const auto& [name, tensor] : session.run(images()))
      CHECK(same_bits(tensor, first.at(name)));
}

TEST_CASE("on a GPU: an embedding's gradient has the CPU's rows and bits, dense and row_sparse") {
  if (!has_gpu()) return;
  StrictHost host(2);
  for (const Shape& uses : {Shape{0}, Shape{1}, Shape{300}, Shape{5000}})
    for (const Shape& table : {Shape{1, 3}, Shape{700, 5}, Shape{100000, 40}})
      for (const bool sparse : {false, true}) {
        if (!sparse && table[0] > 1000) continue;
        CAPTURE(uses);
        CAPTURE(table);
        CAPTURE(sparse);
        const auto indices = arbitrary(tenon::i32, uses, 0, static_cast<double>(table[0] - 1), 5);
        const auto factors = arbitrary(tenon::f32, {uses[0], table[1]}, -1, 1, 9);
        const auto graph =
            table_gradient(host, indices, factors, Tensor::zeros(tenon::f32, table), sparse);
        const auto expected = run(graph, "cpu").at("gradient"),
                   found = run(graph, "cuda").at("gradient");
        REQUIRE(found.storage() == (sparse ? Storage::row_sparse : Storage::dense));
        CHECK(same_bits(found, expected));
      }
}

TEST_CASE("on a GPU: the gradient of taken rows has the CPU's bits, with and without repetitions") {
  if (!has_gpu()) return;
  StrictHost host(2);
  for (const std::int64_t rows : {1, 2, 40, 5000})
    for (const std::int64_t uses : {1, 2, 3, 4, 5, 8, 9, 600}) {
      CAPTURE(rows);
      CAPTURE(uses);
      tenon::Graph graph(host);
      const auto data = graph.variable("data", Tensor::zeros(tenon::f32, {rows, 3}));
      const auto numbers = graph.constant(
          "numbers", arbitrary(tenon::i32, {uses}, 0, static_cast<double>(rows - 1), 5));
      const auto factors = graph.constant("factors", arbitrary(tenon::f32, {uses, 3}, -1, 1, 9));
      const auto loss =
          graph.add("sum", {graph.add("mul", {graph.add("take_rows", {data, numbers}), factors})});
      graph.output("gradient", graph.gradient(loss, {data}).at(0));
      CHECK(same_bits(run(graph, "cuda").at("gradient"), run(graph, "cpu").at("gradient")));
    }
}

TEST_CASE("on a GPU: batch_norm over rows of one channel matches the CPU for any length") {
  if (!has_gpu()) return;
  StrictHost host(2);
  for (const Shape& shape : {Shape{6, 3}, Shape{1, 1, 5}, Shape{4, 3, 7, 7}, Shape{2, 5, 33},
                             Shape{3, 2, 17, 19}, Shape{2, 3, 0}})
    for (const int axis : {1, -1}) {
      CAPTURE(shape);
      CAPTURE(axis);
      Net net{tenon::Graph(host)};
      const auto channels = axis == 1 ? shape[1] : shape[shape.rank() - 1];
      const auto x = net.weight("x", shape);
      const auto norm = net.graph.add(
          "batch_norm", {x, net.weight("gamma", {channels}), net.weight("beta", {channels})},
          {{"axis", axis}});
      const auto factors = net.graph.constant("factors", arbitrary(tenon::f32, shape, -1, 1, 9));
      net.differentiate(net.graph.add("sum", {net.graph.add("mul", {norm, factors})}));
      check_all_near(run(net.graph, "cuda"), run(net.graph, "cpu"), 1e-5);
    }
}

TEST_CASE("on a GPU: an index out of range is an error that names the node") {
  if (!has_gpu()) return;
  StrictHost host(2);
  tenon::Graph graph(host);
  const auto logits = graph.input("logits", tenon::f32, {2, 3}),
             labels = graph.input("labels", tenon::i32, {2});
  graph.output("loss", graph.add("softmax_cross_entropy", {logits, labels}, {}, "loss"));
  const auto failure = failure_of([&] {
    run(graph, "cuda",
        {{"logits", arbitrary(tenon::f32, {2, 3}, -1, 1, 1)},
         {"labels", Tensor::from<std::int32_t>({2, 3}, {2})}});
  });
  CHECK(failure.message.find("node 'loss'") != std::string::npos);
  CHECK(failure.message.find("index 3 is out of range: it must be from 0 to 2") !=
        std::string::npos);
}
