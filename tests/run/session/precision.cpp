// The precision that a session requests: it selects kernels, and is refused if no kernel computes
// in it.
#include <doctest/doctest.h>

#include <tenon/host/evaluator.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "built.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

struct PrecisionHost : Host {
  PrecisionHost() : Host(HostOptions{.trust_writable = true}) {
    add_plugins(built("faults/which_precision.so"));
  }
};

Graph graph_of(Host& host, DType dtype, const char* op = "which_precision") {
  Graph graph(host);
  const auto x = graph.input("x", dtype, {2, 3});
  graph.output("y", graph.add("relu", {graph.add(op, {x}, {}, "node")}, {}, "after"));
  return graph;
}

double first_number(const Tensor& tensor) {
  return static_cast<double>(tensor.values<float>()[0]);
}

}  // namespace

TEST_CASE(
    "precision: a session with bfloat16 runs the kernels that compute in it, and lists them") {
  PrecisionHost host;
  const auto graph = graph_of(host, f32);
  Session usual(graph), asked(graph, {.precision = bf16});
  const auto x = Tensor::zeros(f32, {2, 3});
  CHECK(first_number(usual.run({{"x", x}}).at("y")) == 0);
  CHECK(first_number(asked.run({{"x", x}}).at("y")) == 1);
  CHECK(usual.plan({}).steps[0].variant.empty());
  CHECK(asked.plan({}).steps[0].variant == "InBf16");
  CHECK(asked.plan({}).steps[1].variant.empty());
}

TEST_CASE("precision: applies to differentiated nodes and to evaluations") {
  PrecisionHost host;
  Graph graph(host);
  const auto x = graph.variable("x", Tensor::zeros(f32, Shape::scalar()));
  const auto y = graph.add("which_precision", {x}, {}, "measured");
  graph.output("loss", y);
  graph.input("examples", f32, {-1});
  Graph with_gradient = graph.clone();
  with_gradient.output(
      "dx", with_gradient.gradient(with_gradient.find("measured"), {with_gradient.find("x")})[0]);
  const auto run = [&](DType precision) {
    return Session(with_gradient, {.training = true, .precision = precision})
        .run({{"examples", Tensor::zeros(f32, {1})}});
  };
  CHECK(first_number(run(bf16).at("dx")) == 1);
  CHECK(first_number(run(f32).at("dx")) == 0);
  const auto loss = [&](DType precision) {
    EvaluatorOptions options;
    options.loss = "loss";
    options.precision = precision;
    return *Evaluator(graph, options).evaluate({{"examples", Tensor::zeros(f32, {4})}}).loss;
  };
  CHECK(loss(bf16) == 1);
  CHECK(loss(f32) == 0);
}

TEST_CASE("precision: refused if no node can compute in it, or if it is not a precision") {
  PrecisionHost host;
  const auto refused = [&](const Graph& graph, DType precision) {
    return failure_of([&] { Session(graph, {.precision = precision}); });
  };
  const auto none = refused(graph_of(host, f32, "square"), bf16);
  CHECK(none.kind == static_cast<int>(FailureKind::usage));
  check_says(none.message, {"no node of this graph can compute in bfloat16",
                            "none of its operators has such a kernel"});
  check_says(none.hint, {"omit the precision", "AVX512-BF16"});
  CHECK(refused(graph_of(host, f64), bf16).message == none.message);
  check_says(refused(graph_of(host, f32), f16).message,
             {"SessionOptions::precision is float16", "float32 or bfloat16"});
}
