// Operators between convolutions that keep channels-last tensors, against the original graphs.
#include <doctest/doctest.h>

#include <algorithm>

#include "../../../plugins/shared/product/processor.hpp"
#include "rewriting.hpp"

namespace channels_last_graphs {
namespace {

using namespace tenon;
using namespace rewriting;

Value layer(Graph& graph, Value x, std::int64_t channels, std::int64_t filters,
            std::uint32_t seed) {
  const auto name = std::to_string(seed);
  return graph.add("convolution",
                   {x, graph.variable("w" + name, numbers({filters, channels, 3, 3}, -1, 1, seed)),
                    graph.variable("b" + name, numbers({filters}, -1, 1, seed + 50))},
                   {{"num_filter", filters}, {"kernel", {3, 3}}, {"pad", {1, 1}}}, "conv" + name);
}

std::int64_t reorders(const Graph& graph, const std::map<std::string, Shape>& shapes) {
  const auto plan = Session(graph, {}).plan(shapes);
  return std::count_if(plan.steps.begin(), plan.steps.end(),
                       [](const auto& step) { return step.reordered >= 0; });
}

void check_same(const Graph& graph, const Tensor& x) {
  const auto found = run(graph, {{"x", x}}, Optimize::full).at("y"),
             expected = run(graph, {{"x", x}}, Optimize::none).at("y");
  REQUIRE(found.shape() == expected.shape());
  for (std::size_t i = 0; i < static_cast<std::size_t>(found.size()); ++i)
    REQUIRE(found.values<float>()[i] == doctest::Approx(expected.values<float>()[i]).epsilon(1e-4));
}

}  // namespace

TEST_CASE("split and concat between convolutions keep channels-last tensors, along any axis") {
  for (const int axis : {0, 1, 2, 3, -1, -3}) {
    for (const auto& sizes : {std::vector<std::int64_t>{4, 4}, std::vector<std::int64_t>{1, 7}}) {
      CAPTURE(axis);
      CAPTURE(sizes[0]);
      RewritingHost with;
      Graph graph(with.host);
      const auto x = graph.input("x", f32, {8, 5, 8, 8});
      const auto first = layer(graph, x, 5, 8, 1);
      const auto section =
          graph.add("split", {first}, {{"sections", 2}, {"sizes", sizes}, {"axis", axis}}, "cut");
      const auto whole = graph.add("concat", {graph.find("cut:1"), graph.add("relu", {section})},
                                   {{"axis", axis}}, "joined");
      graph.output("y", layer(graph, whole, 8, 3, 2));
      check_same(graph, numbers({8, 5, 8, 8}, -1, 1, 3));
      CHECK(reorders(graph, {}) == 2);  // the input and the output
    }
  }
}

TEST_CASE("conv_transpose with separate windows keeps channels-last tensors, others do not") {
  const bool vectors = product::this_vectors() != product::Vectors::scalar;
  for (const std::int64_t stride : {2, 1}) {
    RewritingHost with;
    Graph graph(with.host);
    const auto x = graph.input("x", f32, {1, 3, 9, 11});
    const auto up =
        graph.add("conv_transpose",
                  {layer(graph, x, 3, 6, 1), graph.variable("w", numbers({6, 4, 2, 2}, -1, 1, 4)),
                   graph.variable("b", numbers({4}, -1, 1, 5))},
                  {{"num_filter", 4}, {"kernel", {2, 2}}, {"stride", {stride, stride}}}, "up");
    graph.output("y", layer(graph, up, 4, 3, 2));
    check_same(graph, numbers({1, 3, 9, 11}, -1, 1, 3));
    CHECK((reorders(graph, {}) == 2) == (stride == 2 && vectors));
  }
}

TEST_CASE("means over both axes of a plane become poolings") {
  for (const bool kept : {true, false})
    for (const std::vector<std::int64_t>& axes :
         {std::vector<std::int64_t>{2, 3}, {-2, -1}, {1, 2}, {3}}) {
      CAPTURE(kept);
      CAPTURE(axes.front());
      RewritingHost with;
      Graph graph(with.host);
      const auto x = graph.input("x", f32, {2, 3, 9, 11});
      const auto mean = graph.add("mean", {layer(graph, x, 3, 4, 1)},
                                  {{"axis", axes}, {"keepdims", kept}}, "mean");
      graph.output("y", graph.add("relu", {mean}));
      check_same(graph, numbers({2, 3, 9, 11}, -1, 1, 3));
      const auto nodes = Session(graph, {}).optimized().nodes();
      const bool pools = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
        return node.op.ends_with("global_avg_pool");
      });
      CHECK(pools == (axes.size() == 2 && axes.front() != 1));
    }
}

}  // namespace channels_last_graphs
