// Composed operators, shapes known late, complex values and names of other spaces in graphs of
// bundled operators.
#include <doctest/doctest.h>

#include <memory>
#include <stop_token>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>

#include "built.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/vectors.hpp"

namespace graphs_of_operators {

using namespace tenon;

namespace {

struct BundledHost : Host {
  explicit BundledHost(std::vector<std::string> prefer = {}) : Host(options(std::move(prefer))) {
    add_plugins(built("plugins"));
  }

 private:
  static HostOptions options(std::vector<std::string> prefer) {
    HostOptions options;
    options.trust_writable = true;
    options.search_defaults = false;
    options.threads = 1;
    options.prefer = std::move(prefer);
    return options;
  }
};

constexpr void describe_unary(auto& op) {
  op.doc("for tests");
  op.types(floating + any_complex);
  op.input("x", "any shape");
  op.output("y", "as x");
}

/// stop_gradient(left) * right
struct HalfStopped : Operator {
  static constexpr void describe(auto& op) {
    op.doc("left times right, constant in left");
    op.input("left", "any shape");
    op.input("right", "the same");
    op.output("y", "the same");
  }
  void forward(Compose& c) const {
    c.set_output(0, c.add("mul", {c.add("stop_gradient", {c.input(0)}), c.input(1)}));
  }
};
struct Squared : Operator {
  static constexpr void describe(auto& op) { describe_unary(op); }
  void forward(Compose& c) const { c.set_output(0, c.add("mul", {c.input(0), c.input(0)})); }
};
/// A composed operator inside of another one.
struct SquaredTwice : Operator {
  static constexpr void describe(auto& op) { describe_unary(op); }
  void forward(Compose& c) const {
    c.set_output(0, c.add("squared", {c.add("squared", {c.input(0)})}));
  }
};
struct Dropped : Operator {
  static constexpr void describe(auto& op) {
    op.doc("dropout");
    op.input("x", "any shape");
    op.output("y", "as x");
  }
  void forward(Compose& c) const { c.set_output(0, c.add("dropout", {c.input(0)})); }
};
struct Twice : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x + x");
    op.input("x", "any shape");
    op.output("y", "as x");
    op.takes_strides();
  }
  void forward(Compose& c) const { c.set_output(0, c.add("add", {c.input(0), c.input(0)})); }
};
struct ThroughCsr : Operator {
  static constexpr void describe(auto& op) {
    op.doc("exp, of a csr matrix");
    op.input("x", "[rows, columns]");
    op.output("y", "as x");
  }
  void forward(Compose& c) const {
    c.set_output(
        0, c.add("tenon.exp", {c.add("tenon.cast_storage", {c.input(0)}, {{"storage", "csr"}})}));
  }
};

/// Operators with the names of operators that the host itself uses.
struct Thousand : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1000");
    op.space("acme");
    op.input("left", "any shape");
    op.input("right", "the same");
    op.output("y", "the same");
  }
  template <class T>
  TENON_FN T operator()(T, T) const {
    return T(1000);
  }
};
struct Seven : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("7 x");
    op.input("x", "any shape");
    op.output("y", "as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(7) * x;
  }
};
struct AcmeSeven : Seven {
  static constexpr void describe(auto& op) {
    Seven::describe(op);
    op.space("acme");
  }
};
/// Its gradient uses zeros.
struct First : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x, and x again");
    op.input("x", "any shape");
    op.output("y", "as x");
    op.output("again", "as x");
  }
  void forward(const Call& call) const {
    for (int i = 0; i < 2; ++i)
      std::copy_n(call.input<float>(0).data(), call.input<float>(0).size(),
                  call.output<float>(i).data());
  }
  void gradient(Gradient& g) const {
    g.set_input_grad(0, g.add("tenon.add", {g.output_grad(0), g.zeros_like(g.output(1))}));
  }
};
/// A text parameter with the name of a graph parameter.
struct Scan : probes::Copy {
  Text body;
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("body", &Scan::body, "a text");
  }
};
/// Does not write the last element.
struct Hole : Operator {
  static constexpr void describe(auto& op) { describe_unary(op); }
  void forward(const Call& call) const {
    visit<any_complex>(call.output_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      std::copy_n(x.data(), x.size() - 1, call.output<T>(0).data());
    });
  }
};

std::string run(const Graph& graph, const NamedTensors& inputs, const std::string& output,
                SessionOptions options = {}) {
  return Session(graph, options).run(inputs).at(output).to_string();
}

}  // namespace

TEST_CASE("composed operators: a value used twice has its gradient from the use that is reached") {
  BundledHost host;
  host.add<HalfStopped>("half_stopped");
  Graph graph(host);
  const auto x = graph.input("x", f32, {2});
  graph.output("dx", graph.gradient(graph.add("sum", {graph.add("half_stopped", {x, x})}), {x})[0]);
  CHECK(run(graph, {{"x", vector_of({3, 4})}}, "dx") == "float32 [2]  3 4");
}

TEST_CASE(
    "composed operators: gradients with respect to complex inputs are those of the nodes inside") {
  BundledHost host;
  host.add<Squared>("squared");
  const auto z = Tensor::from(std::vector<Complex<float>>{{1, 2}, {3, -1}}, {2});
  std::vector<std::string> found;
  for (const bool composed : {false, true}) {
    Graph graph(host);
    const auto x = graph.input("z", c64, {2});
    const auto y = composed ? graph.add("squared", {x}) : graph.add("mul", {x, x});
    graph.output("dz", graph.gradient(graph.add("sum", {graph.add("real", {y})}), {x})[0]);
    found.push_back(run(graph, {{"z", z}}, "dz"));
  }
  CHECK(found[0] == "complex64 [2]  2-4j 6+2j");  // conj(2 z)
  CHECK(found[1] == found[0]);
}

TEST_CASE("composed operators: second derivatives are those of the nodes inside") {
  BundledHost host;
  host.add<Squared>("squared");
  host.add<SquaredTwice>("squared_twice");
  const auto at = Tensor::from({0.5, -2.0}, {2}), by = Tensor::from({1.0, 3.0}, {2});
  const auto second = [&](auto&& function) {
    Graph graph(host);
    const auto x = graph.input("x", f64, {2}), v = graph.input("v", f64, {2});
    const auto first = graph.gradient(graph.add("sum", {function(graph, x)}), {x})[0];
    graph.output("second",
                 graph.gradient(graph.add("sum", {graph.add("mul", {first, v})}), {x})[0]);
    return Session(graph).run({{"x", at}, {"v", by}}).at("second");
  };
  const auto square = [](Graph& graph, Value x) { return graph.add("mul", {x, x}); };
  const auto flat = second(
      [&](Graph& graph, Value x) { return graph.add("exp", {square(graph, square(graph, x))}); });
  const auto composed = second(
      [](Graph& graph, Value x) { return graph.add("exp", {graph.add("squared_twice", {x})}); });
  for (int i = 0; i < 2; ++i) {
    const double x = at.data<double>()[i];  // f = exp(x^4)
    const double expected =
        by.data<double>()[i] * (12 * x * x + 16 * std::pow(x, 6)) * std::exp(std::pow(x, 4));
    CHECK(flat.data<double>()[i] == doctest::Approx(expected));
    CHECK(composed.data<double>()[i] == doctest::Approx(expected));
  }

  host.add<Dropped>("dropped");
  Graph graph(host);
  const auto x = graph.input("x", f32, {2});
  const auto first = graph.gradient(
      graph.add("sum", {graph.add("square", {graph.add("dropped", {x}, {}, "node")})}), {x})[0];
  const auto failure = failure_of([&] { graph.gradient(graph.add("sum", {first}), {x}); });
  check_says(failure.message,
             {"[dropped backward] node 'node_backward':", "cannot be differentiated again",
              "'dropout' inside it draws new random numbers"});
}

TEST_CASE("composed operators: strided tensors are read correctly") {
  BundledHost host;
  host.add<Twice>("twice");
  const auto base = Tensor::from({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2});
  const auto transposed = Tensor::borrow(base.data(), f32, {2, 2}, std::vector<std::int64_t>{1, 2});
  CHECK(host.call("twice", {transposed}).to_string() == "float32 [2, 2]  2 6 4 8");
}

TEST_CASE("graphs as parameters: random operators inside composed ones are refused, too") {
  BundledHost host;
  host.add<Dropped>("dropped");
  Graph body(host);
  body.output("y", body.add("dropped", {body.input("x", f32, {4})}));
  Graph graph(host);
  const auto failure = failure_of([&] {
    graph.add("scan", {graph.input("x", f32, {-1, 4})}, {{"body", body.to_json()}}, "node");
  });
  CHECK(failure.message.find("the graph 'body' uses the random operator 'dropout'") !=
        std::string::npos);
}

TEST_CASE(
    "graphs as parameters: text parameters of other operators with such names stay texts in "
    "graph.json") {
  BundledHost host;
  host.add<Scan>("scan");
  Graph graph(host);
  const std::string text = "hello, \"world\"}";
  graph.output("y", graph.add("app.scan", {graph.input("x", f32, {2})}, {{"body", text}}));
  CHECK(Graph::from_json(host, graph.to_json()).to_json() == graph.to_json());
  CHECK(graph.to_json().find(R"({"body": "hello, \"world\"}"})") != std::string::npos);
}

TEST_CASE("a destroyed token stops nothing, nor does one that stops after its run") {
  BundledHost host;
  Graph body(host);
  const auto sum = body.input("sum", f32, {4}), row = body.input("row", f32, {4});
  body.output("next", body.add("add", {sum, row}));
  Graph graph(host);
  const auto start = graph.constant("start", Tensor::zeros(f32, {4}));
  graph.output(
      "y", graph.add("scan", {start, graph.input("x", f32, {-1, 4})}, {{"body", body.to_json()}}));
  Session session(graph);
  const NamedTensors inputs{{"x", full(f32, {30, 4}, 1.0)}};
  std::stop_source source;
  {
    const auto options = std::make_unique<RunOptions>();
    options->stop = source.get_token();
    session.run(inputs, *options);
  }
  source.request_stop();
  CHECK(session.first_non_finite(inputs).empty());
}

TEST_CASE("the host's own helpers are Tenon's, whatever operators short names refer to") {
  for (const bool impostors : {false, true}) {
    CAPTURE(impostors);
    BundledHost host({"acme"});
    if (impostors) {
      host.add<Thousand>("mul_gradients");
      host.add<AcmeSeven>("fill_like");
      host.add<AcmeSeven>("cast_storage");
      host.add<Seven>("fill_like");
    }
    host.add<ThroughCsr>("through_csr");
    host.add<First>("first");
    Graph graph(host);
    const auto x = graph.input("x", f64, {2});
    const auto y =
        graph.add("tenon.sum", {graph.add("tenon.exp", {graph.add("tenon.mul", {x, x})})});
    const auto first = graph.gradient(y, {x})[0];
    graph.output("second", graph.gradient(graph.add("tenon.sum", {first}), {x})[0]);
    const auto second = Session(graph).run({{"x", Tensor::from({0.0, 1.0}, {2})}}).at("second");
    CHECK(second.data<double>()[0] == doctest::Approx(2));
    CHECK(second.data<double>()[1] == doctest::Approx(6 * std::exp(1.0)));  // (2 + 4 x^2) exp(x^2)
    CHECK(host.call("through_csr", {Tensor::from({0.0f, 1.0f, 0.0f, 0.0f}, {2, 2})})
              .data<float>()[1] == doctest::Approx(std::exp(1.0)));

    Graph zeros(host);
    const auto v = zeros.input("v", f32, {2});
    zeros.output("dv", zeros.gradient(zeros.add("tenon.sum", {zeros.add("first", {v})}), {v})[0]);
    CHECK(run(zeros, {{"v", vector_of({3, 4})}}, "dv") == "float32 [2]  1 1");
  }
}

TEST_CASE("an application's operator has its gradient, whatever its short name") {
  BundledHost host;
  for (const char* name : {"seven", "in_training", "stop_gradient", "fill_like"}) {
    CAPTURE(name);
    const auto full_name = host.add<Seven>(name);
    Graph graph(host);
    const auto x = graph.input("x", f32, {2});
    graph.output("dx", graph.gradient(graph.add("sum", {graph.add(full_name, {x})}), {x})[0]);
    CHECK(run(graph, {{"x", vector_of({3, 4})}}, "dx") == "float32 [2]  7 7");
  }
}

TEST_CASE("late sizes: a node that waits for one reads states as they were before later nodes") {
  BundledHost host;
  SessionOptions training;
  training.training = true;
  const auto result = [&](const std::string& count) {
    const auto graph =
        Graph::from_json(host,
                         R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
            "states": {"norm_moving_mean": {"values": [100, 200]}},
                "nodes": [)" +
                             count +
                             R"({"name": "r", "op": "add", "inputs": ["norm_moving_mean", "n"]},
                   {"name": "norm", "op": "batch_norm", "inputs": ["x"],
                    "attrs": {"momentum": 0.5}}], "outputs": {"r": "r", "y": "norm"}})");
    return run(graph, {{"x", Tensor::from({1.0f, 10.0f, 3.0f, 30.0f}, {2, 2})}}, "r", training);
  };
  CHECK(result(R"({"name": "n", "op": "sum", "inputs": ["x"]},)") == "float32 [2]  144 244");
  CHECK(result(R"({"name": "where", "op": "nonzero", "inputs": ["x"]},
                  {"name": "places", "op": "cast", "inputs": ["where"],
                   "attrs": {"dtype": "float32"}},
                  {"name": "n", "op": "sum", "inputs": ["places"]},)") == "float32 [2]  104 204");
}

TEST_CASE("late sizes: a variable may be updated by a value whose shape only its kernel knows") {
  BundledHost host;
  for (const bool read : {false, true}) {
    CAPTURE(read);
    Graph graph(host);
    const auto x = graph.input("x", f32, {3});
    const auto places = graph.add("nonzero", {x});
    graph.update(graph.variable("places", Tensor::from({std::int64_t{7}, std::int64_t{8}}, {2, 1})),
                 places);
    graph.output("y", read ? places : x);
    SessionOptions training;
    training.training = true;
    Session session(graph, training);
    session.run({{"x", vector_of({1, 0, 3})}});
    CHECK(session.tensor("places").to_string() == "int64 [2, 1]  0 2");
    CHECK(failure_of([&] {
            session.run({{"x", vector_of({1, 2, 3})}});
          }).message.find("places") != std::string::npos);
    CHECK(session.tensor("places").to_string() == "int64 [2, 1]  0 2");
  }
}

TEST_CASE("complex values: debugging finds elements that are not written or not finite") {
  BundledHost host;
  host.add<Hole>("hole");
  for (const auto dtype : {c64, c128}) {
    CAPTURE(dtype);
    Graph graph(host);
    const auto x = graph.input("x", dtype, {4});
    graph.output("y", graph.add("hole", {x}, {}, "node"));
    SessionOptions debug;
    debug.debug = true;
    const auto numbers = random_uniform(dtype, {4}, 1, 0.0, 1.0);
    CHECK(failure_of([&] {
            Session(graph, debug).run({{"x", numbers}});
          })
              .message.starts_with(
                  "[hole] node 'node': its kernel does not write element 3 of 'node'"));

    Graph divided(host);
    const auto z = divided.input("x", dtype, {4});
    divided.output("y", divided.add("div", {z, divided.constant("zero", Tensor::zeros(dtype, {4}))},
                                    {}, "node"));
    CHECK(Session(divided)
              .first_non_finite({{"x", numbers}})
              .starts_with("[div] node 'node': element 0 is "));
  }
}

}  // namespace graphs_of_operators
