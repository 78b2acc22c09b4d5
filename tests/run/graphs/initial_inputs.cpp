// Initial values of variables: set by the graph, else by the operator for its input, else by a rule
// for the shape.
#include <doctest/doctest.h>

#include <algorithm>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "temporary_folder.hpp"

using tenon::Graph;

namespace {

/// Returns its variables; it declares the first two, and all from the third on.
struct Shown : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("copies its initial values");
    op.types({tenon::f32});
    op.input("data", "[n]");
    op.input("scale", "same shape as data").initial(2.5);
    op.input("square", "[n, n]").initial(0);
    op.input("offset", "same shape as data").weight();
    op.input("rest", "same shape as data").variadic().initial(-4);
    op.output("scales", "scale");
    op.output("squares", "square");
    op.output("offsets", "offset");
    op.output("last", "the last of rest");
  }
  void infer(tenon::Infer& io) const {
    const auto n = io.input(0).shape;
    if (!n.has_rank()) return;
    io.set_input("square", {n[0], n[0]});
    for (int i : {1, 3, 4, 5}) io.set_input(i, n);
    for (int i : {0, 2, 3}) io.set_output(i, n);
    io.set_output(1, {n[0], n[0]});
  }
  void forward(const tenon::Call& call) const {
    const int from[] = {1, 2, 3, 5};
    for (int i = 0; i < 4; ++i) {
      const auto in = call.input<float>(from[i]);
      std::copy_n(in.data(), in.size(), call.output<float>(i).data());
    }
  }
};

/// A byte whose declared initial value does not fit.
struct TooMuchIn : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.input("byte", "[1]").types({tenon::u8}).initial(256);
  }
  void infer(tenon::Infer& io) const {
    io.set_input("byte", {1}, tenon::u8);
    io.set_output(0, io.input(0).shape);
  }
};

struct ShownHost : ApplicationHost {
  ShownHost() {
    add<Shown>();
    add<TooMuchIn>();
  }
};

/// The node's inputs, how r2 is declared and what else is, and the value of every element.
struct Case {
  const char *what, *inputs, *r2, *more;
  float scale, square, offset, last;
};

std::string json_of(const Case& c) {
  return std::string(
             R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [3]}},
                 "variables": {"r1": {"dtype": "float32"})") +
         R"(, "r2": )" + c.r2 + c.more +
         R"(}, "nodes": [{"name": "node", "op": "shown", "inputs": )" + c.inputs +
         R"(}], "outputs": {"scale": "node", "square": "node:1", "offset": "node:2",
                            "last": "node:3"}})";
}

void check(const Graph& graph, const Case& c) {
  const auto found =
      tenon::Session(graph.clone()).run({{"x", tenon::Tensor::from({1.F, 2.F, 3.F}, {3})}});
  for (const auto& output :
       {std::pair("scale", c.scale), {"square", c.square}, {"offset", c.offset}, {"last", c.last}})
    for (const float element : found.at(output.first).values<float>())
      CHECK_MESSAGE(element == output.second, std::string(c.what)
                                                  << ": " << std::string(output.first));
}

}  // namespace

TEST_CASE("initial values: a variable begins as the operator declares, unless the graph sets it") {
  ShownHost host;
  const char* some = R"({"data": "x", "rest": ["r1", "r2"]})";
  const char* plain = R"({"dtype": "float32"})";
  const Case cases[] = {
      {"nothing said", some, plain, "", 2.5, 0, 0, -4},
      {"a scale of the graph's", some, plain, R"(, "node_scale": {"init": "ones"})", 1, 0, 0, -4},
      {"a square of the graph's", some, plain, R"(, "node_square": {"init": {"value": 7}})", 2.5, 7,
       0, -4},
      {"a last one of the graph's", some, R"({"init": {"value": 9}})", "", 2.5, 0, 0, 9},
      {"a name of its own", R"({"data": "x", "scale": "s", "rest": ["r1", "r2"]})", plain,
       R"(, "s": {"dtype": "float32"})", 2.5, 0, 0, -4},
  };
  for (const auto& c : cases) check(Graph::from_json(host, json_of(c)), c);

  const TemporaryFolder folder;
  Graph::from_json(host, json_of(cases[1])).save(folder / "shown.tenon");
  check(Graph::load(host, folder / "shown.tenon"), cases[1]);
}

TEST_CASE("initial values: a variable shared by two nodes begins as the first one declares") {
  ShownHost host;
  const std::string scales =
      R"({"name": "scales", "op": "shown",
          "inputs": {"data": "x", "scale": "s", "rest": ["r1", "r2"]}})";
  const std::string last =
      R"({"name": "last", "op": "shown", "inputs": {"data": "x", "rest": ["r1", "s"]}})";
  for (const bool scales_first : {true, false}) {
    const auto graph =
        Graph::from_json(host,
                         R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [3]}},
            "variables": {"r1": {"dtype": "float32"},)"
                         R"("r2": {"dtype": "float32"}, "s": {"dtype": "float32"}}, "nodes": [)" +
                             (scales_first ? scales + "," + last : last + "," + scales) +
                             R"(], "outputs": {"scales": "scales", "last": "last:3"}})");
    const auto found = tenon::Session(graph).run({{"x", tenon::Tensor::zeros(tenon::f32, {3})}});
    for (const char* name : {"scales", "last"})
      for (const float element : found.at(name).values<float>())
        CHECK(element == (scales_first ? 2.5F : -4.F));
  }
}

TEST_CASE("initial values: a value that does not fit the variable's dtype is refused") {
  ShownHost host;
  Graph graph(host);
  graph.output("y", graph.add("too_much_in", {graph.input("x", tenon::f32, {1})}, {}, "node"));
  CHECK(failure_of([&] {
          tenon::Session(graph).run({{"x", tenon::Tensor::from({1.F}, {1})}});
        }).message.starts_with("the initial value of 'node_byte' is 256"));
}

TEST_CASE("initial values: a session without training warns about random variables") {
  using tenon::Init;
  const auto warnings_of = [](const std::vector<Init>& inits, bool training, bool initialized) {
    std::vector<std::string> warnings;
    ApplicationHost host(ApplicationHost::options(1, warnings));
    Graph graph(host);
    auto sum = graph.input("x", tenon::f32, {2, 2});
    for (std::size_t i = 0; i < inits.size(); ++i)
      sum = graph.add("test_add",
                      {sum, graph.variable("v" + std::to_string(i), tenon::f32, {2, 2}, inits[i])});
    graph.output("sum", sum);
    if (initialized) graph.initialize(3);
    for (int i = 0; i < 2; ++i) {
      tenon::SessionOptions options;
      options.training = training;
      options.seed = 7;
      tenon::Session(graph, options).run({{"x", tenon::Tensor::zeros(tenon::f32, {2, 2})}});
    }
    return warnings;
  };
  const auto sentence = [](const std::string& which) {
    return which +
           " no values, so the session initializes them randomly with seed 7: train the graph, "
           "load a saved one, or initialize it";
  };
  const std::vector<std::string> none;
  CHECK(warnings_of({Init::zeros(), Init::ones(), Init::value(3)}, false, false) == none);
  for (const auto& init :
       {Init{}, Init::xavier(), Init::he(), Init::normal(0, 1), Init::uniform(0, 1)})
    CHECK(warnings_of({init}, false, false) == std::vector{sentence("'v0' has")});
  CHECK(warnings_of({Init::ones(), Init::he(), Init::he()}, false, false) ==
        std::vector{sentence("'v1' and 1 more variable have")});
  CHECK(warnings_of({Init::he(), Init::he(), Init::he()}, false, false) ==
        std::vector{sentence("'v0' and 2 more variables have")});
  CHECK(warnings_of({Init::he()}, true, false) == none);
  CHECK(warnings_of({Init::he()}, false, true) == none);
}
