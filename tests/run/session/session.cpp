#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"

using tenon::DType;
using tenon::Graph;
using tenon::Session;
using tenon::Tensor;

namespace {

// fc1 -> quadratic -> fc2 with small weights, so that the result is easy to compute by hand.
Graph small_network(tenon::Host& host) {
  Graph graph(host);
  const auto image = graph.input("image", DType::f32, {-1, 2});
  const auto weight = graph.variable("w", Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}));
  const auto hidden =
      graph.add("fully_connected", {image, weight}, {{"num_hidden", 2}, {"no_bias", true}}, "fc1");
  const auto act = graph.add("quadratic", {hidden}, {{"a", 0.5}, {"b", 1}}, "act");
  graph.output("scores", act);
  return graph;
}

}  // namespace

TEST_CASE("session: one graph, several shapes, separate plans") {
  ApplicationHost host;
  Session session(small_network(host));
  // x = [1, 1] -> [3, 7] -> 0.5 x^2 + x = [7.5, 31.5]
  const auto one = session.run({{"image", Tensor::from({1.f, 1.f}, {1, 2})}}).at("scores");
  CHECK(same_bits(one, Tensor::from({7.5f, 31.5f}, {1, 2})));
  const auto two =
      session.run({{"image", Tensor::from({1.f, 1.f, 0.f, 2.f}, {2, 2})}}).at("scores");
  CHECK(same_bits(two, Tensor::from({7.5f, 31.5f, 12.f, 40.f}, {2, 2})));
  CHECK(same_bits(session.run({{"image", Tensor::from({1.f, 1.f}, {1, 2})}}).at("scores"), one));
  CHECK(session.step() == 3);
}

TEST_CASE("session: omitted variables get shapes by inference and values by name and seed") {
  ApplicationHost host;
  Graph graph(host);
  const auto image = graph.input("image", DType::f32, {-1, 64});
  const auto hidden = graph.add("fully_connected", {image}, {{"num_hidden", 64}}, "fc1");
  const auto scores = graph.add("fully_connected", {graph.add("quadratic", {hidden}, {{"a", 0.5}})},
                                {{"num_hidden", 10}}, "fc2");
  graph.output("scores", scores);
  CHECK(graph.shape(graph.find("fc1_weight")) == tenon::Shape{64, 64});
  CHECK(graph.shape(graph.find("fc1_bias")) == tenon::Shape{64});
  CHECK(graph.shape(graph.find("fc2_weight")) == tenon::Shape{10, 64});
  CHECK(graph.shape(scores) == tenon::Shape{-1, 10});
  const auto x = Tensor::from(std::vector<float>(128, 0.25f), {2, 64});
  const auto y = Session(graph).run({{"image", x}}).at("scores");
  CHECK(y.shape() == tenon::Shape{2, 10});
  for (int i = 0; i < 10; ++i)
    CHECK(y.values<float>()[static_cast<std::size_t>(i)] ==
          y.values<float>()[static_cast<std::size_t>(10 + i)]);
}

TEST_CASE(
    "session: outputs may be inputs, variables, the same value twice, and values read later") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {2});
  const auto w = graph.constant("w", Tensor::from({10.f, 20.f}, {2}));
  const auto first = graph.add("quadratic", {x}, {{"b", 2}}, "first");
  const auto second = graph.add("quadratic", {first}, {{"b", 3}}, "second");
  graph.output("x_again", x);
  graph.output("w_again", w);
  graph.output("first", first);
  graph.output("first_again", first);
  graph.output("second", second);
  const auto out = Session(graph).run({{"x", Tensor::from({1.f, 2.f}, {2})}});
  CHECK(same_bits(out.at("x_again"), Tensor::from({1.f, 2.f}, {2})));
  CHECK(same_bits(out.at("w_again"), Tensor::from({10.f, 20.f}, {2})));
  CHECK(same_bits(out.at("first"), Tensor::from({2.f, 4.f}, {2})));
  CHECK(out.at("first").data() == out.at("first_again").data());
  CHECK(same_bits(out.at("second"), Tensor::from({6.f, 12.f}, {2})));
}

TEST_CASE("session: memory is reused in place only from values without later readers") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {64});
  const auto a = graph.add("quadratic", {x}, {{"b", 2}}, "a");
  const auto b =
      graph.add("quadratic", {a}, {{"b", 3}}, "b");  // a is read again below: not in place
  const auto c = graph.add("quadratic", {b}, {{"b", 5}}, "c");  // b's last use: in place
  const auto d = graph.add("test_add", {a, c}, {}, "d");        // a's last use: in place
  const auto e = graph.add("reverse", {d}, {}, "e");            // with scratch
  graph.output("y", graph.add("quadratic", {e}, {{"b", 1}}, "y"));
  Session session(graph);
  const auto plan = session.describe_plan({});
  CAPTURE(plan);
  const auto line_of = [&](const std::string& node) {
    const auto at = plan.find("  " + node + " ");
    return plan.substr(at, plan.find('\n', at) - at);
  };
  CHECK(line_of("a").find("in place") == std::string::npos);
  CHECK(line_of("b").find("in place") == std::string::npos);
  CHECK(line_of("c").find("in place") != std::string::npos);
  CHECK(line_of("d").find("in place") != std::string::npos);
  CHECK(line_of("e").find("workspace 256") != std::string::npos);
  std::vector<float> numbers(64), expected(64);
  for (std::size_t i = 0; i < 64; ++i) numbers[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 64; ++i) expected[63 - i] = 2 * numbers[i] + 2 * 3 * 5 * numbers[i];
  CHECK(same_bits(session.run({{"x", Tensor::from(numbers, {64})}}).at("y"),
                  Tensor::from(expected, {64})));
}

TEST_CASE("session: random numbers depend on seed, step and node, not on threads") {
  const auto x = Tensor::from(std::vector<float>(100000, 1.f), {100000});
  const auto draw = [&](int threads, std::uint64_t seed, int runs, const char* name) {
    ApplicationHost host(threads);
    Graph graph(host);
    graph.output("y",
                 graph.add("dropout", {graph.input("x", DType::f32, {-1})}, {{"p", 0.5}}, name));
    tenon::SessionOptions options;
    options.seed = seed;
    options.training = true;
    Session session(graph, options);
    Tensor y;
    for (int i = 0; i < runs; ++i) y = session.run({{"x", x}}).at("y");
    return y;
  };
  const auto y = draw(1, 1, 1, "drop");
  CHECK(same_bits(y, draw(4, 1, 1, "drop")));
  CHECK_FALSE(same_bits(y, draw(1, 2, 1, "drop")));
  CHECK_FALSE(same_bits(y, draw(1, 1, 2, "drop")));
  CHECK_FALSE(same_bits(y, draw(1, 1, 1, "other")));
  double sum = 0;
  for (const auto value : y.values<float>()) sum += value;
  CHECK(std::abs(sum / 100000 - 1) < 0.02);
}

TEST_CASE("session: states change in training only, and belong to the session") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("counter", {graph.input("x", DType::f32, {1})}, {}, "count"));
  const tenon::NamedTensors zero{{"x", Tensor::zeros(DType::f32, {1})}};
  const auto run = [&](Session& session) { return session.run(zero).at("y").values<float>()[0]; };
  Session inference(graph), training(graph, {.training = true});
  CHECK(run(inference) == 0);
  CHECK(run(training) == 1);
  CHECK(run(training) == 2);
  CHECK(run(inference) == 0);
  Session trained(training.graph());
  CHECK(run(trained) == 2);
}

TEST_CASE("session: in training a node with a state runs even if its outputs are unused") {
  ApplicationHost host;
  for (const bool training : {true, false}) {
    Graph graph(host);
    const auto x = graph.input("x", DType::f32, {1});
    graph.add("counter", {x}, {}, "count");
    graph.output("y", graph.add("quadratic", {x}));
    tenon::SessionOptions options;
    options.training = training;
    Session session(graph, options);
    for (int i = 0; i < 3; ++i) session.run({{"x", Tensor::zeros(DType::f32, {1})}});
    CHECK(session.graph().tensor(session.graph().find("count_calls")).values<float>()[0] ==
          (training ? 3 : 0));
  }
}

TEST_CASE("session: training on a clone leaves the original graph's states unchanged") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("counter", {graph.input("x", DType::f32, {1})}, {}, "count"));
  graph.initialize();
  tenon::SessionOptions options;
  options.training = true;
  Session session(graph.clone(), options);
  CHECK(session.run({{"x", Tensor::zeros(DType::f32, {1})}}).at("y").values<float>()[0] == 1);
  CHECK(graph.tensor(graph.find("count_calls")).values<float>()[0] == 0);
}

TEST_CASE("session: messages print NaN without its sign, which differs between CPUs") {
  ApplicationHost host;
  for (const double sign : {1.0, -1.0}) {
    Graph graph(host);
    const auto x = graph.input("x", DType::f32, {1});
    graph.output("y", x);
    auto given = Tensor::zeros(DType::f32, {1});
    given.values<float>()[0] =
        std::copysign(std::numeric_limits<float>::quiet_NaN(), static_cast<float>(sign));
    CHECK(Session(graph).first_non_finite({{"x", given}}) == "'x': element 0 is nan");
  }
}

TEST_CASE("session: first_non_finite() draws the random numbers of the run it inspects") {
  ApplicationHost host;
  Graph graph(host);
  const auto kept =
      graph.add("dropout", {graph.input("x", DType::f32, {64})}, {{"p", 0.5}}, "drop");
  graph.output("y", graph.add("quadratic", {kept}, {{"a", 1.0}},
                              "square"));  // infinite where dropout kept the element
  const tenon::NamedTensors inputs{{"x", Tensor::from(std::vector<float>(64, 1e30F), {64})}};
  tenon::SessionOptions options;
  options.training = true;
  Session session(graph, options);
  for (int run = 0; run < 20; ++run) {
    const auto y = session.run(inputs).at("y");
    const auto values = y.values<float>();
    const auto first =
        std::find_if(values.begin(), values.end(), [](float value) { return std::isinf(value); }) -
        values.begin();
    CHECK(session.first_non_finite(inputs) ==
          "[quadratic] node 'square': element " + std::to_string(first) + " is inf");
  }
}

TEST_CASE("session: bad inputs and failing kernels are reported before and during a run") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {-1});
  graph.output("y", graph.add("reverse", {x}, {}, "back"));
  Session session(graph);
  struct Case {
    tenon::NamedTensors inputs;
    int kind;
    const char* message;
  };
  const Case cases[] = {
      {{}, 2, "no value passed for input x"},
      {{{"x", Tensor::zeros(DType::f32, {2})}, {"z", Tensor::zeros(DType::f32, {2})}},
       2,
       "the graph has no input 'z'"},
      {{{"x", Tensor::zeros(DType::f64, {2})}},
       2,
       "input 'x' is float64 [2] but the graph needs float32 [?]"},
      {{{"x", Tensor::zeros(DType::f32, {2, 2})}},
       2,
       "input 'x' is float32 [2, 2] but the graph needs float32 [?]"},
      {{{"x", Tensor::from({1.f, -2.f}, {2})}},
       1,
       "[reverse] node 'back': element is negative (data float32 [2])"},
  };
  for (const auto& c : cases) {
    const auto failure = failure_of([&] { session.run(c.inputs); });
    CHECK(failure.message == c.message);
    CHECK(failure.kind == c.kind);
  }
  const auto unknown = failure_of([&] { session.plan({{"x", {2}}, {"zz", {2}}}); });
  CHECK(unknown.kind == 2);
  CHECK(unknown.message == "the graph has no input 'zz'");
  CHECK(unknown.hint == "its inputs are x");
  CHECK(same_bits(session.run({{"x", Tensor::from({1.f, 2.f}, {2})}}).at("y"),
                  Tensor::from({2.f, 1.f}, {2})));
}
