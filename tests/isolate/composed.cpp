// Composed operators: forward(Compose&) in a worker, inner nodes anywhere, and kernels that replace
// the composition.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>

#include "isolated_host.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

Tensor numbered(std::int64_t rows, std::int64_t columns) {
  const auto tensor = Tensor::zeros(f32, {rows, columns});
  for (std::int64_t i = 0; i < rows * columns; ++i)
    tensor.values<float>()[static_cast<std::size_t>(i)] = 0.25F * static_cast<float>(i) - 1;
  return tensor;
}

struct GatedHost : IsolatedHost {
  explicit GatedHost(bool isolate) : IsolatedHost("plugins", isolate) {
    host.add_plugins(built("tests/examples/swiglu.so"));
  }
};

/// Returns the output, the gradients of all inputs, and the output of an eager call.
std::vector<std::vector<float>> results(Host& host) {
  Graph graph(host);
  const std::vector<Value> inputs = {
      graph.variable("x", numbered(2, 3)), graph.variable("a", numbered(3, 4)),
      graph.variable("b", numbered(3, 4)), graph.variable("c", numbered(4, 3))};
  const Attributes attributes = {{"hidden", 4}, {"limit", 3.0}};
  const auto y = graph.add("swiglu", inputs, attributes, "gated");
  const auto gradients = graph.gradient(y, inputs);
  graph.output("y", y);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    graph.output("g" + std::to_string(i), gradients[i]);
  std::vector<std::vector<float>> found;
  for (const auto& [name, tensor] : Session(graph).run({})) found.push_back(floats_of(tensor));
  found.push_back(floats_of(host.call(
      "swiglu", {numbered(2, 3), numbered(3, 4), numbered(3, 4), numbered(4, 3)}, attributes)));
  return found;
}

}  // namespace

TEST_CASE("isolate: a composed operator of an isolated plugin gives bit-identical results") {
  GatedHost here(false), isolated(true);
  const auto expected = results(here.host);
  REQUIRE(expected.size() == 6);
  CHECK(expected[4] == expected[5]);  // the graph's output and the eager call's
  CHECK(expected[4].front() != expected[4].back());
  CHECK(results(isolated.host) == expected);
}

TEST_CASE(
    "isolate: a kernel of another plugin replaces a composed operator, and its graph provides "
    "gradients") {
  for (const bool isolate : {false, true}) {
    GatedHost with(isolate);
    with.host.add_plugins(built("faults/kernel_of_swiglu.so"));
    Graph graph(with.host);
    const auto x = graph.variable("x", numbered(2, 3));
    const auto y = graph.add("swiglu", {x}, {{"hidden", 4}}, "gated");
    graph.output("y", y);
    CHECK(floats_of(Session(graph).run({}).at("y")) == std::vector<float>(6, 42));
    CHECK(floats_of(with.host.call("swiglu",
                                   {numbered(2, 3), numbered(3, 4), numbered(3, 4), numbered(4, 3)},
                                   {{"hidden", 4}})) == std::vector<float>(6, 42));
    // A graph with a gradient runs the inner nodes, because the kernel has no backward.
    graph.output("dx", graph.gradient(y, {x})[0]);
    CHECK(floats_of(Session(graph).run({}).at("y")) != std::vector<float>(6, 42));
  }
}
