// A sum of two values is written where its left side lies, but only where nobody notices.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "plan_of.hpp"

using tenon::Graph;
using tenon::Tensor;

namespace {

/// x times two and x times three, their sum, and what else a case wants.
struct Sum {
  const char* what;
  bool swapped;                          // the left side is the one that is made later
  bool left_after, right_after;          // is read once more by a node that comes after the sum
  bool left_given_out, right_given_out;  // is an output of the graph
  std::size_t fused;
};

}  // namespace

TEST_CASE("sums: fused where the right side can be added to the left, and the same numbers everywhere") {
  const Sum cases[] = {
      {"as gradients are summed", false, false, false, false, false, 1},
      {"the later one first", true, false, false, false, false, 0},
      {"left is read after the sum", false, true, false, false, false, 0},
      {"right is read after the sum", false, false, true, false, false, 0},
      {"left is given out", false, false, false, true, false, 0},
      {"right is given out", false, false, false, false, true, 0},
      {"the later one first, and read again", true, true, true, false, false, 0},
  };
  ApplicationHost host;
  for (const auto& c : cases) {
    CAPTURE(c.what);
    Graph graph(host);
    const auto x = graph.input("x", tenon::DType::f32, {3});
    const auto twice = graph.add("quadratic", {x}, {{"b", 2.0}}, "twice"), thrice = graph.add("quadratic", {x}, {{"b", 3.0}}, "thrice");
    const auto left = c.swapped ? thrice : twice, right = c.swapped ? twice : thrice;
    const auto sum = graph.add("sum_gradients", {left, right}, {}, "sum");
    graph.output("sum", graph.add("quadratic", {sum}, {{"b", 10.0}}));
    if (c.left_after) graph.output("left after", graph.add("quadratic", {left}, {{"b", 100.0}}));
    if (c.right_after) graph.output("right after", graph.add("quadratic", {right}, {{"b", 100.0}}));
    if (c.left_given_out) graph.output("left", left);
    if (c.right_given_out) graph.output("right", right);
    CHECK(plan_of(graph).fused_sums.size() == c.fused);
    const float a = c.swapped ? 3 : 2, b = c.swapped ? 2 : 3;
    for (const auto& [output, found] : tenon::Session(graph).run({{"x", Tensor::from({1.F, 2.F, -4.F}, {3})}})) {
      const std::string name = output;
      CAPTURE(name);
      const float factor = name == "sum" ? 50 : name == "left" ? a : name == "right" ? b : name == "left after" ? 100 * a : 100 * b;
      CHECK(same_bits(found, Tensor::from({factor, 2 * factor, -4 * factor}, {3})));
    }
  }
}
