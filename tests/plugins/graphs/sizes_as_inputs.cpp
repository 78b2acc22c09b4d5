// Sizes, axes and widths from inputs: known in eager calls and from constants, computed at planning
// time, or in the run.
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "plugins/numbers.hpp"

using namespace plugin_tests;

namespace {

Tensor list(const Integers& numbers) {
  return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

Tensor counting(const Shape& shape) {
  Doubles values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return tensor(tenon::f32, shape, values);
}

}  // namespace

TEST_CASE(
    "a graph with computed shapes runs for each combination of shapes, without the nodes that "
    "compute them") {
  tenon::Graph graph(host());
  const auto x = graph.input("x", tenon::f32, {-1, -1, 2});
  const auto sizes = graph.add("shape", {x});
  const auto batch = graph.add("gather", {sizes, graph.constant("first", list({0}))});
  const auto target_shape = graph.add("concat", {batch, graph.constant("rest", list({-1}))});
  const auto flat = graph.add("reshape", {x, target_shape}, {}, "flat");
  const auto spread = graph.add(
      "broadcast_to",
      {graph.constant("one", Tensor::from(std::vector<float>{1}, Shape::scalar())), sizes});
  graph.output("flat", flat);
  graph.output("ones", spread);
  tenon::Session session(graph);
  for (const auto& shape : {Shape{2, 3, 2}, Shape{4, 1, 2}, Shape{2, 3, 2}, Shape{0, 3, 2}}) {
    if (shape[0] == 0) continue;  // no size can be inferred for -1
    const auto given = counting(shape);
    const auto made = session.run({{"x", given}});
    check_near(made.at("flat"), tenon::f32, {shape[0], shape[1] * 2}, doubles(given), 0);
    CHECK(made.at("ones").shape() == shape);
  }
  CHECK(session.plan({{"x", {5, 2, 2}}}).steps.size() == 2);
}

TEST_CASE("an input has the same effect as the parameter it replaces") {
  const auto x = counting({2, 3, 1, 4});
  struct Row {
    std::string op;
    Integers given;
    std::string input;
    Attributes parameters, others;
  };
  const Row rows[] = {
      {"reshape", {4, -1}, "sizes", {{"shape", Integers{4, -1}}}, {}},
      {"reshape", {}, "sizes", {{"shape", Integers{24}}}, {}},
      {"broadcast_to", {2, 3, 5, 4}, "sizes", {{"shape", Integers{2, 3, 5, 4}}}, {}},
      {"expand_dims", {-1, 0}, "axes", {{"axis", Integers{-1, 0}}}, {}},
      {"squeeze", {-2}, "axes", {{"axis", Integers{-2}}}, {}},
      {"squeeze", {}, "axes", {}, {}},
      {"tile", {1, 2, 3, 1}, "repeats", {{"times", Integers{1, 2, 3, 1}}}, {}},
      {"sum", {1, -1}, "axes", {{"axis", Integers{1, 3}}}, {{"keepdims", true}}},
      {"mean", {0}, "axes", {{"axis", Integers{0}}}, {}},
      {"max", {}, "axes", {}, {}},
      {"min", {3}, "axes", {{"axis", Integers{3}}}, {}},
      {"prod", {3}, "axes", {{"axis", Integers{3}}}, {}},
      {"cumsum", {1}, "along", {{"axis", 1}}, {{"reverse", true}}},
      {"top_k", {2}, "count", {{"k", 2}}, {{"axis", 1}}},
  };
  for (const auto& row : rows) {
    if (row.op == "reshape" && row.given.empty()) continue;
    INFO(row.op);
    Attributes by_parameter = row.others;
    for (const auto& [name, value] : row.parameters) by_parameter.set(name, value);
    const auto expected = host().call(row.op, {x}, by_parameter),
               found = host().call(row.op, {x, list(row.given)}, row.others);
    check_near(found, tenon::f32, expected.shape(), doubles(expected), 0);
  }
  const auto cut =
      host().call("slice", {x, list({-1, 3}), list({INT64_MIN, 1}), list({1, -1}), list({-2, -1})});
  check_near(cut, tenon::f32, {2, 2, 1, 2}, {11, 10, 3, 2, 23, 22, 15, 14}, 0);
  const auto parts = host().call_all("split", {x, list({1, 2})}, {{"sections", 2}, {"axis", 1}});
  check_near(parts.at(1), tenon::f32, {2, 2, 1, 4},
             {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23}, 0);
}

TEST_CASE("sizes that a run brings along or computes late are used once they are known") {
  tenon::Graph graph(host());
  const auto x = graph.input("x", tenon::f32, {4, 6}),
             begins = graph.input("begins", tenon::i64, {1});
  const auto ends = graph.add("add", {begins, graph.constant("two", list({2}))});
  graph.output("y", graph.add("slice", {x, begins, ends, graph.constant("along", list({1})), {}}));
  tenon::Session session(graph);
  for (const std::int64_t begin : {1, 5})
    CHECK(session.run({{"x", counting({4, 6})}, {"begins", list({begin})}}).at("y").shape() ==
          Shape{4, begin == 1 ? 2 : 1});
}

TEST_CASE("pad removes elements, wraps around, and takes its fill and its axes as inputs") {
  const auto x = counting({2, 3});
  const Integers crop{0, -1, 1, 1};
  check_near(host().call("pad", {x, list(crop)}), tenon::f32, {3, 3}, {1, 2, 0, 4, 5, 0, 0, 0, 0},
             0);
  const auto fill = Tensor::from(std::vector<float>{7}, Shape::scalar());
  check_near(host().call("pad", {x, list({-1, 1}), fill, list({-1})}), tenon::f32, {2, 3},
             {1, 2, 7, 4, 5, 7}, 0);
  check_near(host().call("pad", {x},
                         {{"before", Integers{4}},
                          {"after", Integers{2}},
                          {"axes", Integers{1}},
                          {"mode", "wrap"}}),
             tenon::f32, {2, 9}, {2, 0, 1, 2, 0, 1, 2, 0, 1, 5, 3, 4, 5, 3, 4, 5, 3, 4}, 0);
  check_near(
      host().call("pad", {x},
                  {{"before", Integers{0, -2}}, {"after", Integers{0, 3}}, {"mode", "reflect"}}),
      tenon::f32, {2, 4}, {2, 1, 0, 1, 5, 4, 3, 4}, 0);
}

TEST_CASE("range, trilu, reverse_sequence, depth_to_space, and ends of reductions") {
  const auto scalar = [](DType dtype, double value) {
    return tensor(dtype, Shape::scalar(), {value});
  };
  check_near(
      host().call("range", {scalar(tenon::i32, 10), scalar(tenon::i32, 3), scalar(tenon::i32, -3)}),
      tenon::i32, {3}, {10, 7, 4}, 0);
  check_near(host().call("range",
                         {scalar(tenon::f32, 1), scalar(tenon::f32, 2), scalar(tenon::f32, 0.25)}),
             tenon::f32, {4}, {1, 1.25, 1.5, 1.75}, 0);
  check_near(
      host().call("range", {scalar(tenon::f32, 1), scalar(tenon::f32, 0), scalar(tenon::f32, 1)}),
      tenon::f32, {0}, {}, 0);
  const auto x = counting({3, 4});
  check_near(host().call("trilu", {x}, {{"diagonal", 1}}), tenon::f32, {3, 4},
             {0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0, 11}, 0);
  check_near(host().call("trilu", {x, list({-1})}, {{"upper", false}}), tenon::f32, {3, 4},
             {0, 0, 0, 0, 4, 0, 0, 0, 8, 9, 0, 0}, 0);
  check_near(host().call("reverse_sequence", {x, list({1, 3, 2, 0})}), tenon::f32, {3, 4},
             {0, 9, 6, 3, 4, 5, 2, 7, 8, 1, 10, 11}, 0);
  const auto deep = counting({1, 8, 1, 2});
  check_near(host().call("depth_to_space", {deep}, {{"block", 2}}), tenon::f32, {1, 2, 2, 4},
             {0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15}, 0);
  check_near(host().call("depth_to_space", {deep}, {{"block", 2}, {"mode", "crd"}}), tenon::f32,
             {1, 2, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}, 0);
  for (const std::string mode : {"dcr", "crd"}) {
    const Attributes block = {{"block", 2}, {"mode", mode}};
    check_near(host().call("space_to_depth", {host().call("depth_to_space", {deep}, block)}, block),
               tenon::f32, {1, 8, 1, 2}, doubles(deep), 0);
  }
  check_near(host().call("max", {Tensor::empty(tenon::f32, {0, 2})},
                         {{"axis", Integers{0}}, {"allow_empty", true}}),
             tenon::f32, {2}, {-inf, -inf}, 0);
  check_near(host().call("sum", {x, list({})}, {{"noop_with_empty_axes", true}}), tenon::f32,
             {3, 4}, doubles(x), 0);
  const auto uneven =
      host().call_all("split", {counting({7})}, {{"sections", 4}, {"uneven", true}});
  check_near(uneven.at(3), tenon::f32, {1}, {6}, 0);
}

TEST_CASE("invalid sizes from inputs are refused with the reason") {
  const auto x = counting({2, 3});
  check_says(failure("reshape", {x, list({2, -1, -1})}), {"-1", "once"});
  check_says(failure("reshape", {x, list({5})}), {"[2, 3]", "[5]"});
  check_says(failure("reshape", {x, list({6})}, {{"shape", Integers{6}}}), {"shape", "sizes"});
  check_says(failure("reshape", {x, list({2, 3, 0})}, {{"copy_zeros", true}}),
             {"[2, 3]", "no axis for the size 0"});
  check_says(failure("slice", {x, list({0}), list({1, 2})}), {"end", "2 values", "1"});
  check_says(failure("slice", {x, list({0}), list({1}), list({0}), list({0})}), {"step", "0"});
  check_says(failure("sum", {x, list({2})}), {"axis", "2", "out of range"});
  check_says(failure("split", {x, list({1, 1})}, {{"sections", 2}, {"axis", 1}}),
             {"[2, 3]", "adds up to 2"});
  check_says(failure("tile", {x, list({2})}), {"[2, 3]", "1"});
  check_says(failure("top_k", {x, list({4})}), {"[2, 3]", "4"});
  check_says(failure("pad", {x, list({1, 1})}), {"1", "rank 2"});
}
