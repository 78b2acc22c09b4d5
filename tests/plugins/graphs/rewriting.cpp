// Graphs optimized by sessions: bundled rules, constant folding, duplicate and dead nodes, against
// the original graphs.
#include "rewriting.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "failure_of.hpp"

namespace {

using namespace tenon;
using namespace rewriting;

/// batch_norm with random parameters and states.
Value normalized(Graph& graph, Value data, std::int64_t channels, const std::string& name,
                 std::uint32_t seed) {
  const auto gamma = graph.variable(name + "_gamma", numbers({channels}, 0.5, 1.5, seed));
  const auto beta = graph.variable(name + "_beta", numbers({channels}, -1, 1, seed + 1));
  return graph.add("batch_norm", {data, gamma, beta}, {{"epsilon", 1e-3}}, name);
}

/// Two convolutions, one with a bias, and a product at the end. A training step has updated the
/// states.
Graph block(Host& host, bool dropout = false) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, 3, 9, 8});
  const auto first = graph.add(
      "convolution", {x, graph.variable("w1", numbers({6, 3, 3, 3}, -1, 1, 1))},
      {{"num_filter", 6}, {"kernel", {3, 3}}, {"pad", {1, 1}}, {"no_bias", true}}, "conv1");
  const auto act = graph.add("relu", {normalized(graph, first, 6, "bn1", 10)}, {}, "relu1");
  const auto second =
      graph.add("convolution",
                {act, graph.variable("w2", numbers({6, 3, 3, 3}, -1, 1, 2)),
                 graph.variable("b2", numbers({6}, -1, 1, 3))},
                {{"num_filter", 6}, {"kernel", {3, 3}}, {"pad", {1, 1}}, {"groups", 2}}, "conv2");
  const auto sum = graph.add("add", {normalized(graph, second, 6, "bn2", 20), act}, {}, "sum");
  auto flat = graph.add("reshape", {graph.add("relu", {sum}, {}, "relu2")},
                        {{"shape", {-1, 6 * 9 * 8}}}, "flat");
  if (dropout) flat = graph.add("dropout", {flat}, {{"p", 0.5}}, "drop");
  const auto product = graph.add("fully_connected",
                                 {flat, graph.variable("w3", numbers({5, 6 * 9 * 8}, -1, 1, 4)),
                                  graph.variable("b3", numbers({5}, -1, 1, 5))},
                                 {{"num_hidden", 5}}, "fc");
  graph.output("scores", normalized(graph, product, 5, "bn3", 30));
  graph.output("act", act);
  Session training(graph, {.training = true});
  training.run({{"x", numbers({4, 3, 9, 8}, -2, 3, 6)}});
  return training.graph();
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE(
    "batch_norm is folded into the preceding convolution or product: equal up to rounding, and "
    "bit-identical if exact results are "
    "required") {
  RewritingHost with;
  const auto graph = block(with.host);
  const NamedTensors inputs{{"x", numbers({2, 3, 9, 8}, -1, 1, 7)}};
  const auto names = nodes_of(graph);
  CHECK(has(names, "conv1+bn1+relu1"));
  CHECK(has(names, "conv2+bn2+sum+relu2"));
  CHECK(has(names, "fc+bn3"));
  CHECK(std::none_of(names.begin(), names.end(), [](const auto& name) {
    return name.find('/') != std::string::npos;
  }));  // folded
  const auto written = run(graph, inputs, Optimize::none),
             full = run(graph, inputs, Optimize::full), exact = run(graph, inputs, Optimize::exact);
  for (const auto* output : {"scores", "act"}) {
    CHECK(relative_difference(full.at(output), written.at(output)) < 1e-4);
    CHECK_FALSE(same_bits(full.at(output), written.at(output)));  // the graph was rewritten
    CHECK(same_bits(exact.at(output), written.at(output)));
  }
  CHECK(has(nodes_of(graph, Optimize::exact), "bn1"));
  CHECK(has(nodes_of(graph, Optimize::full, true), "bn1"));  // training
}

TEST_CASE(
    "an optimized session keeps names: variables, states, outputs, plans and queries of the "
    "graph") {
  RewritingHost with;
  const auto graph = block(with.host);
  Session session(graph);
  CHECK(same_bits(session.tensor("w1"), numbers({6, 3, 3, 3}, -1, 1, 1)));
  CHECK(same_bits(session.tensor("bn1_moving_var"), graph.tensor("bn1_moving_var")));
  CHECK(failure_of([&] { session.tensor("conv1"); }).message.find("is computed by a node") !=
        std::string::npos);
  const auto plan = session.plan({{"x", {2, 3, 9, 8}}});
  const auto fused = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [](const auto& step) { return step.node == "conv1+bn1+relu1"; });
  REQUIRE(fused != plan.steps.end());
  CHECK(fused->nodes == std::vector<std::string>{"conv1", "bn1", "relu1"});
  CHECK(has(nodes_of(session.graph(), Optimize::none), "bn1"));
  const NamedTensors inputs{{"x", numbers({1, 3, 9, 8}, -1, 1, 8)}};
  const auto part = run(graph, inputs, Optimize::full, "act");
  CHECK(part.size() == 1);
  CHECK(relative_difference(part.at("act"), run(graph, inputs, Optimize::none).at("act")) < 1e-4);
  std::vector<Tensor> given{inputs.at("x")}, taken(2);
  for (int i = 0; i < 2; ++i)
    session.run_in_order(given, taken);  // the second run uses the cached call
  CHECK(same_bits(taken[1], session.run(inputs).at("act")));
}

TEST_CASE(
    "tensors with a writable handle are not constants, and constants derived from handed-out "
    "tensors are recomputed") {
  RewritingHost with;
  const NamedTensors inputs{{"x", numbers({1, 3, 9, 8}, -1, 1, 9)}};
  auto graph = block(with.host);
  Session session(graph), written(graph, {.optimize = Optimize::none});
  session.run(inputs);
  {
    auto weight = graph.tensor("w1");  // a writable handle
    std::fill_n(weight.data<float>(), 40, 0.25F);
    CHECK(relative_difference(session.run(inputs).at("scores"), written.run(inputs).at("scores")) <
          1e-4);
    std::fill_n(weight.data<float>(), 40, -0.75F);
    CHECK(relative_difference(session.run(inputs).at("scores"), written.run(inputs).at("scores")) <
          1e-4);
  }
  CHECK(relative_difference(session.run(inputs).at("scores"), written.run(inputs).at("scores")) <
        1e-4);
  CHECK(has(
      [&] {
        std::vector<std::string> names;
        for (const auto& node : session.optimized().nodes()) names.push_back(node.name);
        return names;
      }(),
      "conv1+bn1+relu1"));
}

TEST_CASE("dropout is removed outside of training, even if results must be exact") {
  RewritingHost with;
  const auto graph = block(with.host, true);
  const NamedTensors inputs{{"x", numbers({2, 3, 9, 8}, -1, 1, 7)}};
  for (const auto optimize : {Optimize::full, Optimize::exact})
    CHECK_FALSE(has(nodes_of(graph, optimize), "drop"));
  CHECK(has(nodes_of(graph, Optimize::none), "drop"));
  CHECK(has(nodes_of(graph, Optimize::full, true), "drop"));
  CHECK(same_bits(run(graph, inputs, Optimize::exact).at("scores"),
                  run(graph, inputs, Optimize::none).at("scores")));
  // An output needs a node of its own: it never gets the memory of an input.
  Graph alone(with.host);
  alone.output("y", alone.add("dropout", {alone.input("x", f32, {2})}, {}, "drop"));
  CHECK(has(nodes_of(alone), "drop"));
}

TEST_CASE(
    "constants are folded once, unless the node is random, an output, or much larger than its "
    "inputs") {
  RewritingHost with;
  Graph graph(with.host);
  const auto x = graph.input("x", f32, {2, 3});
  const auto c = graph.constant("c", numbers({3}, 1, 2, 1)),
             big = graph.constant("one", numbers({1}, 1, 2, 2));
  const auto chain = graph.add("exp", {graph.add("mul", {c, c}, {}, "square")}, {}, "table");
  const auto spread = graph.add("broadcast_to", {big}, {{"shape", {1000, 1000}}}, "spread");
  const auto noise = graph.add("uniform", std::vector<Value>(), {{"shape", {3}}}, "noise");
  graph.output("y", graph.add("add", {graph.add("add", {x, chain}, {}, "y1"), noise}, {}, "y2"));
  graph.output("total", graph.add("sum", {spread}, {}, "total_of"));
  graph.output("direct", graph.add("exp", {c}, {}, "direct_of"));
  const auto names = nodes_of(graph);
  for (const auto* gone : {"square", "table"}) CHECK_FALSE(has(names, gone));
  for (const auto* there : {"y1", "y2", "spread", "noise", "total_of", "direct_of"})
    CHECK(has(names, there));
  const NamedTensors inputs{{"x", numbers({2, 3}, -1, 1, 3)}};
  Session folded(graph, {.seed = 5}), written(graph, {.seed = 5, .optimize = Optimize::none});
  for (int i = 0; i < 3; ++i) {
    const auto one = folded.run(inputs), other = written.run(inputs);
    for (const auto& [name, tensor] : other) CHECK(same_bits(one.at(name), tensor));
  }
  const auto plan = folded.plan({});
  const auto why_removed = [&](const std::string& node) {
    const auto found = std::find_if(plan.removed.begin(), plan.removed.end(),
                                    [&](const auto& one) { return one.node == node; });
    return found == plan.removed.end() ? std::string() : found->why;
  };
  CHECK(why_removed("table") == "computed once, for all runs");
}

TEST_CASE("weights of 8 bits that become float32 are constants of the session") {
  RewritingHost with;
  Graph graph(with.host);
  const auto scale = graph.constant("scale", numbers({1}, 1, 2, 1));
  const auto weight = graph.add(
      "dequantize", {graph.variable("w", Tensor::zeros(i8, {300, 300})), scale}, {}, "weight");
  graph.output("y", graph.add("matmul", {graph.input("x", f32, {1, 300}), weight}, {}, "product"));
  CHECK(nodes_of(graph) == std::vector<std::string>{"product"});
}

TEST_CASE("casts to the dtype that a value has are removed, and do not keep rules from applying") {
  RewritingHost with;
  Graph graph(with.host);
  const auto cast = [&](const Value& x, const char* dtype, const char* name) {
    return graph.add("cast", {x}, {{"dtype", dtype}}, name);
  };
  const auto product = graph.add("fully_connected",
                                 {cast(graph.input("x", f32, {-1, 4}), "float32", "same"),
                                  graph.variable("w", numbers({5, 4}, -1, 1, 4))},
                                 {{"num_hidden", 5}, {"no_bias", true}}, "fc");
  const auto act = graph.add("relu", {cast(product, "float32", "same2")}, {}, "act");
  graph.output("y", cast(cast(act, "int32", "other"), "int32", "same3"));
  for (const auto optimize : {Optimize::full, Optimize::exact})
    CHECK(nodes_of(graph, optimize) == std::vector<std::string>{"fc+act", "other"});
  const NamedTensors inputs{{"x", numbers({3, 4}, -9, 9, 5)}};
  CHECK(same_bits(run(graph, inputs, Optimize::full).at("y"),
                  run(graph, inputs, Optimize::none).at("y")));
}

TEST_CASE("rules do not fix the elements of a state that another node modifies") {
  RewritingHost with;
  Graph graph(with.host);
  const auto rate = graph.constant("rate", numbers(Shape::scalar(), 0.5, 0.5, 1));
  graph.output("weight",
               graph.add("rmsprop", {graph.input("w", f32, {3}), graph.input("g", f32, {3}), rate},
                         {}, "step"));
  const auto average =
      graph.add("cast", {graph.find("step_square_average")}, {{"dtype", "float32"}});
  const auto folded = graph.add("exp", {graph.constant("c", numbers({3}, 0, 1, 2))});
  graph.output("y", graph.add("add", {graph.add("exp", {average}), folded}));
  graph.initialize();
  const NamedTensors inputs{{"w", numbers({3}, 0, 1, 3)}, {"g", numbers({3}, 1, 2, 4)}};
  Session session(graph);
  const auto first = session.run(inputs).at("y").clone();
  CHECK(!same_bits(session.run(inputs).at("y"), first));
}

TEST_CASE("a sum that broadcasts for some sizes is not fused: runs would need the original graph") {
  RewritingHost with;
  Graph graph(with.host);
  const auto x = graph.input("x", f32, {1, 3, -1, -1});
  const auto sum_of = [&](const std::string& name, const Value& addend) {
    const auto layer =
        graph.add("convolution", {x, graph.variable(name + "_w", numbers({4, 3, 1, 1}, -1, 1, 4))},
                  {{"num_filter", 4}, {"kernel", {1, 1}}, {"no_bias", true}}, name);
    return graph.add("add", {layer, addend}, {}, name + "_sum");
  };
  graph.output("y", sum_of("first", graph.constant("c", numbers({1, 4, 1, 1}, -1, 1, 1))));
  graph.output("z", sum_of("second", graph.input("addend", f32, {1, 4, -1, -1})));
  CHECK(nodes_of(graph) == std::vector<std::string>{"first+first_sum", "second+second_sum"});
}

TEST_CASE("transpositions around convolutions meet each other and end") {
  RewritingHost with;
  Graph graph(with.host);
  const auto transposed = [&](const Value& x, const AttributeValue& axes) {
    return graph.add("transpose", {x}, {{"axes", axes}});
  };
  const auto first = AttributeValue(std::vector<std::int64_t>{0, 3, 1, 2}),
             last = AttributeValue(std::vector<std::int64_t>{0, 2, 3, 1});
  const auto layer = [&](const Value& x, const std::string& name, std::uint32_t seed) {
    const auto weight = graph.variable(name + "_w", numbers({4, 4, 1, 1}, -1, 1, seed));
    return transposed(graph.add("convolution", {transposed(x, first), weight},
                                {{"num_filter", 4}, {"kernel", {1, 1}}, {"no_bias", true}}, name),
                      last);
  };
  // all sizes are 4, so that no shape prevents a constant from being moved to another axis
  const auto x = graph.input("x", f32, {4, 4, 4, 4});
  const auto shift = graph.constant("shift", numbers({4}, -1, 1, 1));
  const auto one = graph.constant("half", numbers({1}, 0.5, 1, 2));
  auto head =
      graph.add("relu", {graph.add("add", {layer(x, "conv1", 3), shift}, {}, "a1")}, {}, "r1");
  auto side = graph.add("mul", {one, layer(head, "conv2", 4)}, {}, "m1");
  auto both =
      graph.add("relu", {graph.add("add", {side, layer(head, "conv3", 5)}, {}, "a2")}, {}, "r2");
  graph.output("y", both);
  const NamedTensors inputs{{"x", numbers({4, 4, 4, 4}, -1, 1, 6)}};
  const auto transpositions = [&] {
    const auto session = Session(graph);
    std::size_t count = 0;
    for (const auto& node : session.optimized().nodes()) count += node.op == "transpose";
    return count;
  };
  CHECK(transpositions() == 2);  // of x and y
  CHECK(same_bits(run(graph, inputs, Optimize::exact).at("y"),
                  run(graph, inputs, Optimize::none).at("y")));
  int count = 0;
  for (const auto& shape : {Shape{4, 1, 1}, Shape{4, 1}, Shape{4, 1, 1, 1}, Shape{4, 4},
                            Shape{1, 1, 1, 4}, Shape{1, 4, 1, 4}}) {
    const auto name = std::to_string(++count);
    const auto rows = graph.constant("other" + name, numbers(shape, -1, 1, 7));
    graph.output("z" + name, graph.add("add", {layer(both, "conv_" + name, 8), rows}));
  }
  const auto written = run(graph, inputs, Optimize::none),
             exact = run(graph, inputs, Optimize::exact);
  for (const auto& [name, tensor] : written) CHECK(same_bits(exact.at(name), tensor));
}

TEST_CASE("a constant subgraph that fails stays in the graph, whose run names the node") {
  RewritingHost with;
  Graph graph(with.host);
  const auto rows = graph.constant("rows", Tensor::from<std::int64_t>({0, 7}, {2}));
  const auto table = graph.constant("table", numbers({3, 2}, 0, 1, 1));
  const auto taken =
      graph.add("embedding", {rows, table}, {{"input_dim", 3}, {"output_dim", 2}}, "taken");
  graph.output("y", graph.add("add", {graph.input("x", f32, {2, 2}), taken}, {}, "sum"));
  Session session(graph);
  const auto failure = failure_of([&] { session.run({{"x", numbers({2, 2}, 0, 1, 2)}}); });
  CHECK(failure.message.find("node 'taken'") != std::string::npos);
}

TEST_CASE("duplicate nodes are merged, except for random ones; two outputs stay two tensors") {
  RewritingHost with;
  Graph graph(with.host);
  const auto x = graph.input("x", f32, {4});
  const auto one = graph.add("exp", {x}, {}, "one"), same = graph.add("exp", {x}, {}, "same");
  const auto next = graph.add("mul", {one, one}, {}, "next"),
             next_same = graph.add("mul", {same, one}, {}, "next_same");
  const auto scaled = graph.add("quadratic", {x}, {{"b", 2}}, "scaled"),
             other = graph.add("quadratic", {x}, {{"b", 3}}, "other");
  const auto noise = graph.add("uniform", std::vector<Value>(), {{"shape", {4}}}, "noise");
  const auto noise2 = graph.add("uniform", std::vector<Value>(), {{"shape", {4}}}, "noise2");
  graph.output("y", graph.add("add",
                              {graph.add("sub", {next, next_same}, {}, "zero"),
                               graph.add("sub", {scaled, other}, {}, "minus_x")},
                              {}, "sum"));
  graph.output("r", graph.add("sub", {noise, noise2}, {}, "difference"));
  graph.output("a", graph.add("tanh", {x}, {}, "a"));
  graph.output("b", graph.add("tanh", {x}, {}, "b"));
  const auto names = nodes_of(graph, Optimize::exact);
  for (const auto* gone : {"same", "next_same"}) CHECK_FALSE(has(names, gone));
  for (const auto* there : {"one", "next", "scaled", "other", "noise", "noise2", "a", "b"})
    CHECK(has(names, there));
  const NamedTensors inputs{{"x", numbers({4}, -1, 1, 3)}};
  const auto joined = run(graph, inputs, Optimize::exact),
             written = run(graph, inputs, Optimize::none);
  for (const auto& [name, tensor] : written) CHECK(same_bits(joined.at(name), tensor));
  CHECK(joined.at("a").data() != joined.at("b").data());
}

TEST_CASE("dead nodes are removed, and gradients in a session that does not train are unchanged") {
  RewritingHost with;
  Graph graph(with.host);
  const auto x = graph.input("x", f32, {4});
  graph.add("exp", {graph.add("tanh", {x}, {}, "dead")}, {}, "dead_end");
  const auto loss = graph.add("sum", {graph.add("exp", {x}, {}, "e")}, {}, "loss");
  graph.output("g", graph.gradient(loss, {x})[0]);
  const auto names = nodes_of(graph);
  for (const auto* gone : {"dead", "dead_end"}) CHECK_FALSE(has(names, gone));
  const NamedTensors inputs{{"x", numbers({4}, -1, 1, 3)}};
  CHECK(same_bits(run(graph, inputs, Optimize::full).at("g"),
                  run(graph, inputs, Optimize::none).at("g")));
}

TEST_CASE(
    "a plugin's own fused form is used if a graph uses the plugin; its file alone changes no "
    "graph") {
  RewritingHost with({"tests/examples/times.so"});
  Graph graph(with.host);
  const auto x = graph.input("x", f32, {-1, 3});
  graph.output("y", graph.add("relu", {graph.add("times", {x}, {{"factor", -2.5}}, "t")}, {}, "r"));
  CHECK(nodes_of(graph) == std::vector<std::string>{"t+r"});
  CHECK(nodes_of(graph, Optimize::exact) == std::vector<std::string>{"t", "r"});
  const NamedTensors inputs{{"x", numbers({5, 3}, -1, 1, 3)}};
  CHECK(same_bits(run(graph, inputs, Optimize::full).at("y"),
                  run(graph, inputs, Optimize::none).at("y")));
  CHECK(with.warnings.empty());
  Graph read_twice(with.host);
  const auto inner = read_twice.add("times", {read_twice.input("x", f32, {3})}, {}, "t");
  read_twice.output("y", read_twice.add("relu", {inner}, {}, "r"));
  read_twice.output("z", inner);
  CHECK(nodes_of(read_twice) == std::vector<std::string>{"t", "r"});
}

TEST_CASE(
    "a matrix product and a sum become a dense layer, and transposed factors are read in place") {
  RewritingHost all;
  Graph graph(all.host);
  const auto x = graph.input("x", f32, {2, -1, 5});
  const auto weight = graph.variable("w", numbers({5, 6}, -1, 1, 1)),
             bias = graph.variable("b", numbers({6}, -1, 1, 2));
  const auto dense =
      graph.add("add", {bias, graph.add("matmul", {x, weight}, {}, "product")}, {}, "sum");
  const auto hidden = graph.add("relu", {dense}, {}, "hidden");
  const auto turned =
      graph.add("transpose", {hidden}, {{"axes", std::vector<std::int64_t>{0, 2, 1}}}, "turned");
  graph.output("scores", graph.add("matmul", {hidden, turned}, {}, "scores"));
  const NamedTensors inputs{{"x", numbers({2, 7, 5}, -1, 1, 3)}};
  CHECK(nodes_of(graph) == std::vector<std::string>{"product+sum+hidden", "turned+scores"});
  CHECK(relative_difference(run(graph, inputs, Optimize::full).at("scores"),
                            run(graph, inputs, Optimize::none).at("scores")) < 1e-6);

  // If x is csr, the product's sparse kernel reads the stored elements.
  const auto narrow = numbers({3, 5}, -1, 1, 3);
  Graph sparse(all.host);
  sparse.output("y", sparse.add("add",
                                {sparse.add("matmul",
                                            {sparse.input("x", f32, {-1, 5}),
                                             sparse.variable("w", numbers({5, 6}, -1, 1, 1))},
                                            {}, "product"),
                                 sparse.variable("b", numbers({6}, -1, 1, 2))},
                                {}, "sum"));
  Session session(sparse);
  const auto dense_result = session.run({{"x", narrow}}).at("y");
  CHECK(relative_difference(session.run({{"x", cast_storage(narrow, Storage::csr)}}).at("y"),
                            dense_result) < 1e-6);
  CHECK(all.warnings.empty());

  // A sum that is not a bias stays a sum.
  Graph other(all.host);
  const auto rows = other.variable("b", numbers({1, 6}, -1, 1, 2));
  other.output("y", other.add("add",
                              {other.add("matmul",
                                         {other.input("x", f32, {2, 5}),
                                          other.variable("w", numbers({5, 6}, -1, 1, 1))},
                                         {}, "product"),
                               rows},
                              {}, "sum"));
  CHECK(nodes_of(other) == std::vector<std::string>{"product", "sum"});
}

TEST_CASE("constants that may add dimensions to the result keep rules from applying") {
  RewritingHost with;
  const auto hard_swish = [](Graph& graph, const Value& x, const Shape& shape) {
    const auto number = [&](const std::string& name, double value) {
      return graph.constant(name, full(f32, shape, value));
    };
    const auto limited = graph.add("clip", {graph.add("add", {x, number("three", 3)})},
                                   {{"low", 0.0}, {"high", 6.0}});
    return graph.add("mul", {x, graph.add("div", {limited, number("six", 6)})});
  };
  const auto gelu = [](Graph& graph, const Value& x, const Shape& shape) {
    const auto number = [&](const std::string& name, double value) {
      return graph.constant(name, full(f32, shape, value));
    };
    const auto cdf = graph.add(
        "add", {graph.add("erf", {graph.add("div", {x, number("root", 1.4142135623730951)})}),
                number("one", 1)});
    return graph.add("mul", {graph.add("mul", {x, number("half", 0.5)}), cdf});
  };
  const Shape scalar = Shape::scalar(), of_any_rank;
  struct Case {
    Shape declared, x, constants;
    bool applies;
  };
  for (const auto& [declared, x, constants, applies] :
       {Case{of_any_rank, {5}, scalar, true}, Case{of_any_rank, {5}, {1, 1, 1}, false},
        Case{of_any_rank, scalar, {1}, false}, Case{{-1}, {5}, {1}, true},
        Case{{-1}, {5}, {1, 1}, false}, Case{{-1, -1, 2}, {1, 1, 2}, {1, 1}, true}})
    for (const bool is_gelu : {false, true}) {
      INFO(to_string(declared) << " " << to_string(constants) << " " << is_gelu);
      Graph graph(with.host);
      const auto data = graph.input("x", f32, declared);
      graph.output("y",
                   is_gelu ? gelu(graph, data, constants) : hard_swish(graph, data, constants));
      const NamedTensors inputs{{"x", numbers(x, -2, 2, 3)}};
      CHECK(nodes_of(graph).size() == (applies ? 1 : is_gelu ? 5 : 4));
      CHECK(relative_difference(run(graph, inputs, Optimize::full).at("y"),
                                run(graph, inputs, Optimize::none).at("y")) < 1e-5);
    }
}
