// The algorithms that plans list for steps whose kernels choose one by a table, which
// kernel_choice.cpp tests.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tenon/host/plan_info.hpp>
#include <vector>

#include "plugins/graphs/rewriting.hpp"

namespace {

using namespace rewriting;

using AxisList = std::vector<std::int64_t>;

/// The listed algorithm of a single step, or of its backward.
std::string listed_algorithm(Host& host, const std::string& op, const std::vector<Shape>& shapes,
                             const Attributes& attributes = {}, DType dtype = f32,
                             bool backward = false) {
  Graph graph(host);
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    inputs.push_back(graph.input("x" + std::to_string(i), dtype, shapes[i]));
  const auto y = graph.add(op, inputs, attributes, "step");
  if (!backward) graph.output("y", y);
  const auto gradients = backward ? graph.gradient(y, inputs) : std::vector<Value>();
  for (std::size_t i = 0; i < gradients.size(); ++i)
    graph.output("d" + std::to_string(i), gradients[i]);
  const auto plan = Session(graph, {.optimize = Optimize::none}).plan({});
  const auto step = std::find_if(
      plan.steps.begin(), plan.steps.end(),
      [&](const PlannedStep& each) { return each.op == op + (backward ? " backward" : ""); });
  REQUIRE(step != plan.steps.end());
  return step->algorithm;
}

}  // namespace

TEST_CASE("plans list that matmul multiplies a vector by the transposed matrix") {
  RewritingHost own;
  const auto one_row = listed_algorithm(own.host, "matmul", {{8}, {8, 6}});
  const std::string swapped =
      "vector times transposed matrix: float32, one column, several rows, no packed constant; " +
      one_row;
  CHECK(!one_row.empty());
  CHECK(listed_algorithm(own.host, "matmul", {{4, 8}, {8}}) == swapped);
  CHECK(listed_algorithm(own.host, "matmul", {{4, 8}, {8, 1}}) == swapped);
  CHECK(listed_algorithm(own.host, "matmul", {{1, 8}, {8, 1}}) == one_row);
  CHECK(listed_algorithm(own.host, "matmul", {{4, 8}, {8}}, {}, f64) == "OpenBLAS dgemm: float64");
  CHECK(listed_algorithm(own.host, "matmul", {{4, 8}, {8}}, {}, f32, true) ==
        "for a " + one_row + "; for b " + swapped);
}

TEST_CASE("plans list how attention multiplies") {
  RewritingHost own;
  const auto fma = listed_algorithm(own.host, "matmul", {{8}, {8, 6}});
  const Shape heads{1, 2, 3, 4};
  for (const bool backward : {false, true}) {
    CAPTURE(backward);
    CHECK(listed_algorithm(own.host, "attention", {heads, heads, heads}, {{"causal", true}}, f32,
                           backward) == fma);
    CHECK(listed_algorithm(own.host, "attention", {heads, heads, heads}, {}, f64, backward) ==
          "loops: float64");
  }
  CHECK(listed_algorithm(own.host, "fused_attention", {heads, heads, heads}) ==
        "for scores " + fma + "; for output " + fma);
}

TEST_CASE("plans list whether a reduction runs by rows or by columns") {
  RewritingHost own;
  const std::string rows = "rows: innermost axis reduced", columns = "columns: otherwise";
  for (const char* op : {"sum", "mean", "max", "min", "prod", "argmax", "argmin"}) {
    CAPTURE(std::string(op));
    const bool splits = std::string(op).find("arg") == std::string::npos;
    CHECK(listed_algorithm(own.host, op, {{4, 5}}, {{"axis", AxisList{1}}}) == rows);
    CHECK(listed_algorithm(own.host, op, {{4, 5}}, {{"axis", AxisList{0}}}) == columns);
    const auto large = listed_algorithm(own.host, op, {{1 << 17}});
    CHECK(large.rfind(splits ? "rows in segments: " : rows, 0) == 0);
  }
  CHECK(listed_algorithm(own.host, "sum", {{0, 5}}).empty());
  CHECK(listed_algorithm(own.host, "sum", {{4, 5}}, {}, f32, true).empty());
}

TEST_CASE("plans list the FFT of dft") {
  RewritingHost own;
  CHECK(listed_algorithm(own.host, "dft", {{2, 8, 1}}) ==
        "radix-2 FFT: the length is a power of two");
  CHECK(listed_algorithm(own.host, "dft", {{2, 6, 1}}) == "Bluestein's FFT: otherwise");
  CHECK(listed_algorithm(own.host, "dft", {{2, 6, 1}}, {{"length", 16}}) ==
        "radix-2 FFT: the length is a power of two");
}
