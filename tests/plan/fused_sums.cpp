// Sums are folded into the memory of their left side only if that is not observable.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "plan_of.hpp"

using tenon::Graph;
using tenon::Tensor;

namespace {

/// A sum of 2 x and 3 x, and the other conditions of a case.
struct Sum {
  const char* what;
  bool swapped;                          // the left side is computed last
  bool left_after, right_after;          // read again by a node after the sum
  bool left_given_out, right_given_out;  // a graph output
  std::size_t fused;
};

}  // namespace

TEST_CASE(
    "sums: folded if the right side can be accumulated into the left; results are the same in all "
    "cases") {
  const Sum cases[] = {
      {"like sums of gradients", false, false, false, false, false, 1},
      {"the left side is computed last", true, false, false, false, false, 0},
      {"left is read after the sum", false, true, false, false, false, 0},
      {"right is read after the sum", false, false, true, false, false, 0},
      {"left is an output", false, false, false, true, false, 0},
      {"right is an output", false, false, false, false, true, 0},
      {"the left side is computed last, and read again", true, true, true, false, false, 0},
  };
  ApplicationHost host;
  for (const auto& c : cases) {
    CAPTURE(c.what);
    Graph graph(host);
    const auto x = graph.input("x", tenon::DType::f32, {3});
    const auto twice = graph.add("quadratic", {x}, {{"b", 2.0}}, "twice"),
               thrice = graph.add("quadratic", {x}, {{"b", 3.0}}, "thrice");
    const auto left = c.swapped ? thrice : twice, right = c.swapped ? twice : thrice;
    const auto sum = graph.add("sum_gradients", {left, right}, {}, "sum");
    graph.output("sum", graph.add("quadratic", {sum}, {{"b", 10.0}}));
    if (c.left_after) graph.output("left after", graph.add("quadratic", {left}, {{"b", 100.0}}));
    if (c.right_after) graph.output("right after", graph.add("quadratic", {right}, {{"b", 100.0}}));
    if (c.left_given_out) graph.output("left", left);
    if (c.right_given_out) graph.output("right", right);
    CHECK(plan_of(graph).fused_sums.size() == c.fused);
    const float a = c.swapped ? 3 : 2, b = c.swapped ? 2 : 3;
    for (const auto& [output, found] :
         tenon::Session(graph).run({{"x", Tensor::from({1.F, 2.F, -4.F}, {3})}})) {
      const std::string name = output;
      CAPTURE(name);
      const float factor = name == "sum"          ? 50
                           : name == "left"       ? a
                           : name == "right"      ? b
                           : name == "left after" ? 100 * a
                                                  : 100 * b;
      CHECK(same_bits(found, Tensor::from({factor, 2 * factor, -4 * factor}, {3})));
    }
  }
}
