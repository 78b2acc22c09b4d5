// Failed runs of training graphs of bundled operators change no variable and no state, and their
// messages have a bounded length.
#include <doctest/doctest.h>

#include <limits>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "failure_of.hpp"
#include "graph/operators/optimizer.hpp"
#include "plugins/strict_host.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

Tensor indices(std::int64_t index) {
  return Tensor::from(std::initializer_list<std::int64_t>{index}, {1});
}

Tensor scalar(float value) {
  return Tensor::from(std::initializer_list<float>{value}, Shape::scalar());
}

/// Runs the graph with an index that scatter_along refuses, then with a valid one, and compares the
/// named variables and states with those of a session that made only the valid run.
void check_failed_run(const Graph& graph, const NamedTensors& inputs,
                      const std::vector<std::string>& names) {
  for (const auto optimize : {Optimize::full, Optimize::none}) {
    CAPTURE(static_cast<int>(optimize));
    const SessionOptions options{.training = true, .optimize = optimize};
    Session tried(graph, options), untouched(graph, options);
    auto invalid = inputs, valid = inputs;
    invalid["index"] = indices(7), valid["index"] = indices(1);
    for (int i = 0; i < 2; ++i)
      CHECK(failure_of([&] { tried.run(invalid); }).message.find("scatter_along") !=
            std::string::npos);
    CHECK(tried.step() == 0);
    tried.run(valid), untouched.run(valid);
    for (const auto& name : names) {
      CAPTURE(name);
      CHECK(same_bits(tried.tensor(name), untouched.tensor(name)));
    }
  }
}

/// An optimizer of an application, which refuses large gradients.
struct CarefulDescent : Operator {
  static constexpr void describe(auto& op) {
    op.doc("weight - learning_rate * grad");
    op.types({f32});
    op.input("weight", "[n]");
    op.input("grad", "[n]");
    op.input("learning_rate", "scalar");
    op.output("updated", "[n]");
    op.inplace("weight", "updated");
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const Call& call) const {
    const auto grad = call.input<float>("grad");
    if (grad[0] > 100) throw Error("the gradient is too large");
    for (std::int64_t i = 0; i < grad.size(); ++i)
      call.output<float>(0)[i] =
          call.input<float>("weight")[i] - call.input<float>("learning_rate")[0] * grad[i];
  }
};

}  // namespace

TEST_CASE("failed runs: an optimizer of the application fails after another one") {
  StrictHost host(2);
  static_cast<Host&>(host).add<CarefulDescent>("careful");
  for (const char* other : {"sgd", "careful"}) {
    CAPTURE(other);
    Graph graph(host);
    const auto small = graph.input("small", f32, {1}), large = graph.input("large", f32, {1});
    const auto first = graph.variable("first", vector_of({1})),
               second = graph.variable("second", vector_of({1}));
    const auto rate = graph.constant("rate", scalar(0.5F));
    graph.update(first, graph.add(other, {first, small, rate}));
    graph.update(second, graph.add("careful", {second, large, rate}));
    graph.output("small_again", small);
    Session session(graph, {.training = true});
    CHECK(failure_of([&] {
            session.run({{"small", vector_of({1})}, {"large", vector_of({1000})}});
          }).kind != 0);
    CHECK(first_of(session.tensor("first")) == 1);
  }
}

TEST_CASE("failed runs: an update fails after another one has succeeded") {
  StrictHost host(2);
  Graph graph(host);
  const auto index = graph.input("index", i64, {1}), grad = graph.input("grad", f32, {3});
  const auto first = graph.variable("first", vector_of({1, 1, 1})),
             second = graph.variable("second", vector_of({1, 1, 1}));
  graph.update(first, graph.add("sgd", {first, graph.add("relu", {grad}),
                                        graph.constant("rate", scalar(0.5F))}));
  graph.update(second,
               graph.add("scatter_along", {second, index, graph.constant("new", vector_of({9}))}));
  graph.output("grad_again", grad);
  check_failed_run(graph, {{"grad", vector_of({1, 2, 3})}}, {"first", "second"});
}

TEST_CASE("failed runs: a node fails after batch_norm has updated its states") {
  StrictHost host(2);
  Graph graph(host);
  const auto index = graph.input("index", i64, {1}), x = graph.input("x", f32, {2, 1});
  const auto normal = graph.add(
      "batch_norm",
      {x, graph.constant("scale", vector_of({1})), graph.constant("shift", vector_of({0}))}, {},
      "bn");
  const auto table = graph.variable("table", vector_of({1, 1, 1}));
  graph.update(table,
               graph.add("scatter_along", {table, index, graph.constant("new", vector_of({9}))}));
  graph.output("y", normal);
  const auto batch = Tensor::from(std::initializer_list<float>{1, 5}, {2, 1});
  std::vector<std::string> names{"table"};
  for (const auto& state : graph.states()) names.push_back(state.name);
  CHECK(names.size() == 3);
  check_failed_run(graph, {{"x", batch}}, names);
}

// Runs that change nothing but weights of these operators at their end are not backed up.
TEST_CASE("failed runs: bundled optimizers accept any numbers") {
  StrictHost host(2);
  int count = 0;
  for (const auto& op : static_cast<Host&>(host).catalog().operators()) {
    if (!is_optimizer(op.info)) continue;
    ++count;
    CAPTURE(op.info.name);
    for (const float rate : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()}) {
      Graph graph(host);
      const auto weight = graph.variable("weight", vector_of({1, 0, rate}));
      const auto grad = graph.input("grad", f32, {3});
      graph.update(weight,
                   graph.add(op.info.name, {weight, grad, graph.constant("rate", scalar(rate))}));
      graph.output("grad_again", grad);
      Session session(graph, {.training = true});
      CHECK_NOTHROW(session.run({{"grad", vector_of({rate, 1, -rate})}}));
    }
  }
  CHECK(count >= 5);
}

TEST_CASE("failed calls: a message lists the first 16 inputs") {
  StrictHost host(2);
  Graph graph(host);
  std::vector<Value> inputs;
  for (int i = 0; i < 40; ++i) inputs.push_back(graph.input("x" + std::to_string(i), f32, {1}));
  const auto failure = failure_of([&] { graph.add("concat", inputs, {{"axis", 5}}); });
  CHECK(failure.message.find("inputs15 float32 [1] and 24 more)") != std::string::npos);
}
