// Composed operators: the same numbers as the expanded graph, gradients, kernels that take
// precedence, and refusals.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// (x scale + shift)^2 and x scale + shift, composed of the test hosts' operators.
struct SquaredLine : Operator {
  double scale = 2, shift = 1;
  static constexpr void describe(auto& op) {
    op.doc("(scale x + shift)^2, and scale x + shift");
    op.input("x", "any shape");
    op.output("square", "same shape as x");
    op.output("line", "same shape as x");
    op.param("scale", &SquaredLine::scale, "slope");
    op.param("shift", &SquaredLine::shift, "constant");
  }
  void forward(Compose& c) const {
    const auto line = c.add("quadratic", {c.input("x")}, {{"b", scale}, {"c", shift}});
    c.set_output("line", line);
    c.set_output("square", c.add("quadratic", {line}, {{"a", 1}}));
  }
};

/// x times its squared line, composed of a composed operator.
struct Outer : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x + squared line of x + line of it");
    op.input("x", "any shape");
    op.input("y", "same shape as x").optional();
    op.output("sum", "same shape as x");
  }
  void forward(Compose& c) const {
    const auto [square, line] = c.add_outputs<2>("squared_line", {c.input(0)}, {{"scale", 3}});
    const auto sum = c.add("test_add", {square, line});
    c.set_output(0, c.has_input("y") ? c.add("test_add", {sum, c.input("y")}) : sum);
  }
};

/// Both outputs are inputs, and one value.
struct Through : Operator {
  static constexpr void describe(auto& op) {
    op.doc("the input, twice");
    op.input("x", "any shape");
    op.output("first", "x");
    op.output("second", "x");
  }
  void forward(Compose& c) const {
    for (int i = 0; i < c.outputs(); ++i) c.set_output(i, c.input(0));
  }
};

/// A distinguishable kernel for the squared line: it adds 1000.
struct KernelOfLine : SquaredLine {
  void infer(Infer& io) const {
    for (const int i : {0, 1}) io.set_output(i, io.input(0).shape);
  }
  void forward(const Call& call) const {
    visit<floating>(call.input_type(0).dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < call.input<T>(0).size(); ++i) {
        const double line = scale * static_cast<double>(call.input<T>(0)[i]) + shift;
        call.output<T>(0)[i] = static_cast<T>(line * line + 1000);
        call.output<T>(1)[i] = static_cast<T>(line);
      }
    });
  }
};
/// Has both: the kernel computes, the graph differentiates.
struct WithBoth : KernelOfLine {
  using KernelOfLine::forward;
  void forward(Compose& c) const { SquaredLine::forward(c); }
};

struct ComposedHost : ApplicationHost {
  ComposedHost() {
    add<SquaredLine>("squared_line");
    add<Outer>("outer");
    add<Through>("through");
    add<WithBoth>("with_both");
  }
};

/// square and line of x, without the composed operator.
std::pair<Value, Value> flat(Graph& graph, Value x, double scale) {
  const auto line = graph.add("quadratic", {x}, {{"b", scale}, {"c", 1.0}});
  return {graph.add("quadratic", {line}, {{"a", 1.0}}), line};
}

/// The values of these outputs and of the gradients of their sum.
NamedTensors run_with_gradient(Graph& graph, Value loss, Value x,
                               const GradientOptions& options = {}) {
  graph.output("loss", loss);
  graph.output("dx", graph.gradient(loss, {x}, options)[0]);
  return Session(graph).run({});
}

}  // namespace

TEST_CASE("composed: computes what its nodes compute, flat or nested, bit by bit") {
  ComposedHost host;
  const auto data = vector_of({0.1F, -2.5F, 3.7F});
  Graph nested(host), plain(host);
  const auto x = nested.variable("x", data), same = plain.variable("x", data);
  const auto composed = run_with_gradient(nested, nested.add("outer", {x, x}, {}, "o"), x);
  const auto [square, line] = flat(plain, same, 3);
  const auto expected = run_with_gradient(
      plain, plain.add("test_add", {plain.add("test_add", {square, line}), same}), same);
  CHECK(floats_of(composed.at("loss")) == floats_of(expected.at("loss")));
  CHECK(floats_of(composed.at("dx")) == floats_of(expected.at("dx")));
  CHECK(floats_of(host.call("outer", {data, data})) == floats_of(expected.at("loss")));
}

TEST_CASE("composed: types and gradient are known while the graph is built") {
  ComposedHost host;
  Graph graph(host);
  const auto x = graph.input("x", f64, {-1, 3});
  const auto y = graph.add("squared_line", {x}, {{"scale", 2.0}}, "s");
  CHECK(graph.dtype(y.output(1)) == f64);
  CHECK(graph.shape(y.output(1)) == Shape{-1, 3});
  graph.output("dx", graph.gradient(y, {x})[0]);
  graph.output("y", y);
  Session session(graph);
  for (const std::int64_t rows : {1, 4}) {
    const auto data = Tensor::zeros(f64, {rows, 3});
    const auto found = session.run({{"x", data}});
    CHECK(found.at("dx").shape() == Shape{rows, 3});
    CHECK(found.at("dx").values<double>()[0] == 4);  // 2 (2 x + 1) 2 at 0
    CHECK(found.at("y").values<double>()[0] == 1);
  }
  const auto plan = session.describe_plan({{"x", {2, 3}}});
  CHECK(plan.find("s/quadratic_1") != std::string::npos);
}

TEST_CASE("composed: only outputs that reach the loss matter, and a file stores one node") {
  ComposedHost host;
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1, 2}));
  const auto s = graph.add("squared_line", {x}, {}, "s");
  graph.output("dx", graph.gradient(s.output(1), {x})[0]);
  CHECK(graph.nodes().size() == 3);  // with the loss's gradient and one backward node
  auto loaded = Graph::from_bytes(host, graph.to_bytes());
  CHECK(floats_of(Session(loaded).run({}).at("dx")) == std::vector<float>{2, 2});
}

TEST_CASE("composed: outputs that are inputs, and values shared by two outputs") {
  ComposedHost host;
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1, 2}));
  const auto t = graph.add("through", {x}, {}, "t");
  graph.output("second", t.output(1));
  const auto found = run_with_gradient(graph, graph.add("test_add", {t, t.output(1)}), x);
  CHECK(floats_of(found.at("loss")) == std::vector<float>{2, 4});
  CHECK(floats_of(found.at("second")) == std::vector<float>{1, 2});
  CHECK(floats_of(found.at("dx")) == std::vector<float>{2, 2});
  const auto both = host.call_all("through", {vector_of({5, 6})});
  REQUIRE(both.size() == 2);
  CHECK(floats_of(both[0]) == std::vector<float>{5, 6});
  CHECK(floats_of(both[1]) == std::vector<float>{5, 6});
}

TEST_CASE("composed: a value at two inputs gets the sum of both gradients") {
  ComposedHost host;
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1}));
  const auto found = run_with_gradient(graph, graph.add("outer", {x, x}), x);
  CHECK(floats_of(found.at("dx")) == std::vector<float>{28});  // 2 (3 + 1) 3 + 3 + 1
}

TEST_CASE("composed: values are recomputed for the gradient on request") {
  ComposedHost host;
  std::vector<float> first;
  for (const bool again : {false, true}) {
    Graph graph(host);
    const auto x = graph.variable("x", vector_of({1, -2}));
    const auto s = graph.add("outer", {graph.add("outer", {x}, {}, "a")}, {}, "b");
    GradientOptions options;
    if (again) options.recompute = {s, graph.find("a")};
    const auto found = floats_of(run_with_gradient(graph, s, x, options).at("dx"));
    if (again) CHECK(graph.find("a_recomputed").empty() == false);
    if (first.empty()) first = found;
    CHECK(found == first);
  }
}

TEST_CASE("composed: the class's own kernel computes, and the graph differentiates") {
  ComposedHost host;
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1}));
  const auto y = graph.add("with_both", {x});
  graph.output("y", y);
  CHECK(floats_of(Session(graph).run({}).at("y")) == std::vector<float>{1009});
  CHECK(floats_of(host.call("with_both", {vector_of({1})})) == std::vector<float>{1009});
  graph.output("dx", graph.gradient(y, {x})[0]);
  CHECK(floats_of(Session(graph).run({}).at("dx")) == std::vector<float>{12});
}
