// gradient() of operators with any number of inputs and outputs: what is connected, what reaches
// the loss, types, all outputs of a node.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

std::vector<std::string> seen;  // what gradient() was passed

/// The sum of all parts, and of the bias if it is connected; its gradient is known for each part.
struct SumOfParts : Operator {
  static constexpr void describe(auto& op) {
    op.doc("bias + part0 + part1 ...");
    op.types({f32});
    op.input("bias", "[n]").optional();
    op.input("part", "[n]").variadic();
    op.output("sum", "[n]");
  }
  void infer(Infer& io) const { io.set_output(0, io.input(io.inputs() - 1).shape); }
  void forward(const Call& call) const {
    const auto sum = call.output<float>(0);
    std::fill(sum.begin(), sum.end(), 0.F);
    for (int i = call.has_input(0) ? 0 : 1; i < call.inputs(); ++i)
      for (std::int64_t k = 0; k < sum.size(); ++k) sum[k] += call.input<float>(i)[k];
  }
  void gradient(Gradient& g) const {
    seen.push_back(join("bias ", g.has_input("bias"), ", other ", g.has_input("other"), ", type ",
                        g.type(g.input("part")).dtype, " ", g.type(g.input("part")).shape));
    for (int i = g.has_input(0) ? 0 : 1; i < g.inputs(); ++i) g.set_input_grad(i, g.output_grad(0));
  }
};

/// x, 2 x, 3 x ..., one output each; its gradient is a sum of the values that reach the loss.
struct Multiples : Operator {
  std::int32_t parts = 3;
  static constexpr void describe(auto& op) {
    op.doc("x, 2 x, 3 x ...");
    op.types({f32});
    op.input("x", "[n]");
    op.output("part", "[n]").count(&Multiples::parts);
    op.param("parts", &Multiples::parts, "how many").at_least(1);
  }
  void forward(const Call& call) const {
    for (int i = 0; i < call.outputs(); ++i)
      for (std::int64_t k = 0; k < call.output<float>(i).size(); ++k)
        call.output<float>(i)[k] = static_cast<float>(i + 1) * call.input<float>(0)[k];
  }
  void gradient(Gradient& g) const {
    std::vector<Gradient::Value> terms{g.zeros_like(g.input(0))};  // the bias
    for (int i = 0; i < g.outputs(); ++i) {
      if (!g.has_output_grad(i)) continue;
      // Output i of the multiples of dy is (i + 1) dy.
      std::vector<Gradient::Value> multiples(static_cast<std::size_t>(i) + 1);
      const Gradient::Value dy = g.output_grad(i);
      g.add_outputs("multiples", &dy, 1, multiples.data(), multiples.size(), {{"parts", i + 1}});
      terms.push_back(multiples.back());
    }
    seen.push_back(join(terms.size() - 1, " of ", g.outputs()));
    g.set_input_grad(0, g.add("sum_of_parts", terms.data(), terms.size()));
  }
};

/// Requests an output that a node lacks.
struct Greedy : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x");
    op.types({f32});
    op.input("x", "[n]");
    op.output("y", "[n]");
  }
  void forward(const Call& call) const {
    std::copy_n(call.input<float>(0).data(), call.input<float>(0).size(),
                call.output<float>(0).data());
  }
  void gradient(Gradient& g) const {
    g.set_input_grad(0,
                     g.add_outputs<3>("multiples", {g.ones_like(g.input(0))}, {{"parts", 2}})[2]);
  }
};

struct GraphGradientHost : ApplicationHost {
  GraphGradientHost() {
    add<SumOfParts>("sum_of_parts");
    add<Multiples>("multiples");
    add<Greedy>("greedy");
    seen.clear();
  }
};

std::vector<float> run(Graph& graph, const char* output) {
  Session session(graph);
  const auto found = session.run({}).at(output);
  return {found.values<float>().begin(), found.values<float>().end()};
}

}  // namespace

TEST_CASE("a variadic operator's gradient names each input, and can tell which are connected") {
  for (const bool with_bias : {true, false}) {
    GraphGradientHost host;
    Graph graph(host);
    const auto x = graph.variable("x", vector_of({1, 2})),
               y = graph.variable("y", vector_of({3, 4}));
    const auto bias = with_bias ? graph.variable("bias", vector_of({5, 6})) : Value();
    const auto sum = graph.add("sum_of_parts", {bias, x, y, x});
    graph.output("dx", graph.gradient(sum, {x})[0]);
    CHECK(run(graph, "dx") == std::vector<float>{2, 2});
    CHECK(seen ==
          std::vector<std::string>{join("bias ", with_bias, ", other false, type float32 [2]")});
  }
}

TEST_CASE(
    "a gradient distinguishes outputs that reach the loss, and uses every output of an added "
    "node") {
  GraphGradientHost host;
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1, 2}));
  graph.add("multiples", {x}, {{"parts", 4}}, "m");
  const auto loss = graph.add("sum_of_parts", {Value(), graph.find("m:1"), graph.find("m:3")});
  graph.output("dx", graph.gradient(loss, {x})[0]);
  CHECK(run(graph, "dx") == std::vector<float>{6, 6});  // 2 x + 4 x
  REQUIRE(seen.size() == 2);
  CHECK(seen[1] == "2 of 4");
}

TEST_CASE("an output that an added node lacks is refused") {
  GraphGradientHost host;
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1, 2}));
  const auto y = graph.add("greedy", {x}, {}, "g");
  check_says(failure_of([&] { graph.gradient(y, {x}); }).message,
             {"[greedy] node 'g':", "'multiples' has 2 outputs", "3 are requested"});
}
