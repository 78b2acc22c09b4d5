// Channels-last layouts inside plans: chosen for the whole graph, plain at its ends, with the same
// results.
#include <doctest/doctest.h>

#include <string>
#include <tenon/elementwise.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>
#include <tenon/visit.hpp>
#include <vector>

#include "application_host.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

constexpr Types some_types{f32, f64, u8, f16};

enum class Wish { plain, takes, prefers };

int calls_last = 0, prepared_last = 0, workspaces_last = 0;

/// y = 2 x + number of the channel, element by element through the strides.
template <Wish wish>
struct ByChannel : Operator {
  std::int64_t fault = 0;

  static constexpr void describe(auto& op) {
    op.doc("twice the data plus the channel's number");
    op.types(some_types);
    op.input("data", "[N, C, ...]");
    op.input("offset", "[1]").optional();
    op.output("output", "the same shape as data");
    op.param("fault", &ByChannel::fault,
             "1: leaves out the element that comes second in memory; 2: makes it infinite");
    op.inplace("data", "output");
    op.takes_strides();
    if constexpr (wish == Wish::takes) op.takes_channels_last("data", "output");
    if constexpr (wish == Wish::prefers) op.prefers_channels_last("data", "output");
  }
  std::size_t workspace(const Infer& io) const {
    workspaces_last +=
        io.channels_last("data") && io.output_channels_last(0) && !io.channels_last("offset");
    return 8;
  }
  void prepare(Prepare& io) const {
    prepared_last += io.channels_last("data") && io.output_channels_last(0);
  }
  void forward(const Call& call) const {
    calls_last += call.channels_last(0);
    if (call.channels_last(0) != call.output_channels_last(0)) throw Error("the layouts differ");
    visit<some_types>(call.input_type(0).dtype, [&]<class T>() { run<T>(call); });
  }
  template <class T>
  void run(const Call& call) const {
    const auto x = call.input<T>(0);
    const auto y = call.output<T>(0);
    std::int64_t places = 1;
    for (int axis = 2; axis < x.rank(); ++axis) places *= x.dim(axis);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (&y[i] == y.data() + 1 && fault == 1) continue;
      y[i] = static_cast<T>(2 * static_cast<double>(x[i]) +
                            static_cast<double>(i / places % x.dim(1)));
      if (&y[i] == y.data() + 1 && fault == 2) y[i] = static_cast<T>(1e300);
    }
  }
  void backward(const Call& call) const {
    for (std::int64_t i = 0; i < call.input_grad<float>(0).size(); ++i)
      call.input_grad<float>(0)[i] = 2 * call.output_grad<float>(0)[i];
  }
};

using Convolution = ByChannel<Wish::prefers>;
using Pooling = ByChannel<Wish::takes>;
using Plain = ByChannel<Wish::plain>;

struct Plus : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left + right");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("sum", "broadcast");
    op.inplace("left", "sum");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left + right;
  }
};

/// Would be faster with channels-last, but has no kernel for it.
struct PickyConvolution : Convolution {
  bool supports(const Infer& io) const { return !io.channels_last("data"); }
};

/// Reads channels-last tensors and writes plain ones.
struct Unlast : Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice the data");
    op.types({f32});
    op.input("data", "[N, C, ...]");
    op.output("output", "the same shape as data");
    op.inplace("data", "output");
    op.takes_channels_last("data");
  }
  void forward(const Call& call) const {
    calls_last += call.channels_last(0) && !call.output_channels_last(0);
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
  }
};

struct LayoutHost : ApplicationHost {
  LayoutHost() : ApplicationHost(3) {
    add<Convolution>("convolves");
    add<Pooling>("pools");
    add<Plain>("plain");
    add<Plus>("plus");
    add<PickyConvolution>("picky");
    add<Unlast>("unlast");
    calls_last = prepared_last = workspaces_last = 0;
  }
};

std::vector<std::string> steps_of(const PlanInfo& plan) {
  std::vector<std::string> steps;
  for (const auto& step : plan.steps)
    steps.push_back(step.node + (step.outputs[0].channels_last ? " last" : ""));
  return steps;
}

using Steps = std::vector<std::string>;

Tensor image(const Shape& shape, DType dtype = f32) {
  return random_tensor(dtype, shape, {.seed = 3, .low = 0.0, .high = 8.0});
}

/// Compares the bits with those of the original graph.
void check_same(const Graph& graph, const NamedTensors& inputs) {
  const auto found = Session(graph).run(inputs),
             expected = Session(graph, {.optimize = Optimize::none}).run(inputs);
  for (const auto& each : expected) {
    const auto& name = each.first;
    const auto& tensor = each.second;
    CAPTURE(name);
    CHECK(same_bits(found.at(name), tensor));
    CHECK(found.at(name).contiguous());
  }
}

}  // namespace

TEST_CASE("layouts: a node that prefers channels-last gets it, and the graph is unaffected") {
  LayoutHost host;
  for (const auto& shape : {Shape{2, 3, 5, 7}, Shape{1, 64, 9, 9}, Shape{3, 17, 4},
                            Shape{2, 5, 2, 3, 33}, Shape{1, 1, 6, 6}, Shape{2, 8, 1, 1}})
    for (const auto dtype : {f32, f64, u8, f16}) {
      CAPTURE(to_string(shape));
      CAPTURE(name_of(dtype));
      Graph graph(host);
      graph.output("y", graph.add("convolves", {graph.input("x", dtype, shape)}, {}, "c"));
      Session session(graph);
      const auto plan = session.plan({});
      CHECK(steps_of(plan) == Steps{"x.channels_last last", "c last", "c.plain"});
      CHECK(plan.reordered_bytes() == 2 * shape.size() * static_cast<std::int64_t>(size_of(dtype)));
      calls_last = 0;
      const auto x = image(shape, dtype), y = session.run({{"x", x}}).at("y");
      CHECK(calls_last == 1);
      std::int64_t places = 1;
      for (int axis = 2; axis < shape.rank(); ++axis) places *= shape[axis];
      visit<some_types>(dtype, [&]<class T>() {
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < x.size(); ++i)
          wrong += y.values<T>()[i] != static_cast<T>(2 * static_cast<double>(x.values<T>()[i]) +
                                                      static_cast<double>(i / places % shape[1]));
        CHECK(wrong == 0);
      });
    }
  CHECK(workspaces_last > 0);
  CHECK(prepared_last == 0);  // it has no constant
}

TEST_CASE("layouts: takers and elementwise nodes follow, so that only the ends are reordered") {
  LayoutHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2, 8, 6, 6});
  const auto bias =
      graph.variable("bias", Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f}, {8, 1, 1}));
  const auto a = graph.add("convolves", {x}, {}, "a");
  const auto b = graph.add("plus", {a, bias}, {}, "b");
  const auto c = graph.add("cosine", {b}, {}, "c");
  const auto d = graph.add("pools", {c}, {}, "d");
  const auto e = graph.add("convolves", {d}, {}, "e");
  graph.output("y", graph.add("plus", {e, b}, {}, "f"));
  CHECK(steps_of(Session(graph).plan({})) == Steps{"x.channels_last last", "a last", "b last",
                                                   "c last", "d last", "e last", "f last",
                                                   "f.plain"});
  check_same(graph, {{"x", image({2, 8, 6, 6})}});
  CHECK(steps_of(Session(graph, {.optimize = Optimize::exact}).plan({})) ==
        Steps{"a", "b", "c", "d", "e", "f"});
  CHECK(steps_of(Session(graph, {.training = true}).plan({})) ==
        Steps{"a", "b", "c", "d", "e", "f"});
}

TEST_CASE(
    "layouts: elementwise nodes with a scalar, or a bias per channel, follow; others do not") {
  LayoutHost host;
  for (const auto& [shape, follows] : {std::pair{Shape::scalar(), true},
                                       {Shape{1}, true},
                                       {Shape{8, 1, 1}, true},
                                       {Shape{1, 8, 1, 1}, true},
                                       {Shape{6}, false},
                                       {Shape{6, 1}, false},
                                       {Shape{8, 1, 6}, false},
                                       {Shape{2, 1, 1, 1}, false}}) {
    CAPTURE(to_string(shape));
    Graph graph(host);
    const auto operand = graph.variable("operand", image(shape));
    const auto a = graph.add("convolves", {graph.input("x", f32, {2, 8, 6, 6})}, {}, "a");
    const auto b = graph.add("plus", {a, operand}, {}, "b");
    graph.output("y", graph.add("convolves", {b}, {}, "c"));
    const auto steps = steps_of(Session(graph).plan({}));
    CHECK((std::find(steps.begin(), steps.end(), "b last") != steps.end()) == follows);
    check_same(graph, {{"x", image({2, 8, 6, 6})}});
  }
}

TEST_CASE(
    "layouts: a node that accepts only plain tensors gets them, and one reordering serves all "
    "readers") {
  LayoutHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2, 8, 6, 6});
  const auto a = graph.add("convolves", {x}, {}, "a");
  const auto b = graph.add("plain", {a}, {}, "b"), c = graph.add("plain", {a}, {}, "c");
  const auto d = graph.add("convolves", {graph.add("plus", {b, c}, {}, "s")}, {}, "d");
  graph.output("y", d);
  graph.output("a", a);
  CHECK(steps_of(Session(graph).plan({})) == Steps{"x.channels_last last", "a last", "a.plain", "b",
                                                   "c", "s", "s.channels_last last", "d last",
                                                   "d.plain"});
  check_same(graph, {{"x", image({2, 8, 6, 6})}});
}

TEST_CASE("layouts: a taker stays plain if following would cost more") {
  LayoutHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2, 8, 6, 6});
  const auto a = graph.add("pools", {x}, {}, "a");
  graph.output("p", graph.add("pools", {a}, {}, "p"));
  const auto b = graph.add("convolves", {a}, {}, "b");
  graph.output("y", graph.add("plain", {graph.add("plus", {b, x}, {}, "s")}, {}, "t"));
  const auto plan = Session(graph).plan({});
  CHECK(plan.reordered_bytes() == 2 * 4 * 576);
}

TEST_CASE("layouts: takers change their first choice if that leaves less to reorder") {
  LayoutHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2, 8, 6, 6});
  const auto first = graph.add("cosine", {x}, {}, "first");
  const auto a = graph.add("convolves", {x}, {}, "a");
  const auto sum = graph.add("plus", {first, a}, {}, "sum");
  graph.output("y", graph.add("convolves", {sum}, {}, "b"));
  CHECK(steps_of(Session(graph, {.optimize = Optimize::full}).plan({})) ==
        Steps{"x.channels_last last", "first last", "a last", "sum last", "b last", "b.plain"});
  check_same(graph, {{"x", image({2, 8, 6, 6})}});
}

TEST_CASE("layouts: an output does not reuse the memory of an input in another layout") {
  LayoutHost host;
  Graph graph(host);
  const auto a = graph.add("convolves", {graph.input("x", f32, {2, 8, 6, 6})}, {}, "a");
  graph.output("y", graph.add("plain", {graph.add("unlast", {a}, {}, "u")}, {}, "p"));
  check_same(graph, {{"x", image({2, 8, 6, 6})}});
  CHECK(calls_last == 2);
}

TEST_CASE("layouts: broadcast shapes, ranks without channels, and unsupported types stay plain") {
  LayoutHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2, 8, 6, 6});
  const auto a = graph.add("convolves", {x}, {}, "a");
  const auto rows = graph.add("plus", {a, graph.input("row", f32, {6, 6})}, {}, "rows");
  graph.output("rows", rows);
  graph.output("picky", graph.add("picky", {a}, {}, "k"));
  graph.output("flat", graph.add("convolves", {graph.input("flat", f32, {4, 4})}, {}, "flat_c"));
  graph.output("empty",
               graph.add("convolves", {graph.input("none", f32, {0, 8, 6, 6})}, {}, "empty_c"));
  const auto plan = Session(graph).plan({});
  for (const auto& step : plan.steps)
    CHECK(step.outputs[0].channels_last == (step.node == "a" || step.node == "x.channels_last"));
  check_same(graph, {{"x", image({2, 8, 6, 6})},
                     {"row", image({6, 6})},
                     {"flat", image({4, 4})},
                     {"none", Tensor::zeros(f32, {0, 8, 6, 6})}});
}

TEST_CASE("layouts: graphs with gradients stay plain") {
  LayoutHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2, 8, 6, 6});
  const auto a = graph.add("convolves", {x}, {}, "a");
  graph.output("dx", graph.gradient(a, {x})[0]);
  CHECK(Session(graph).plan({}).reordered_bytes() == 0);
  check_same(graph, {{"x", image({2, 8, 6, 6})}});
}

TEST_CASE("layouts: destinations, positional runs, and subgraphs") {
  LayoutHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2, 8, 6, 6});
  const auto a = graph.add("convolves", {x}, {}, "a");
  graph.output("a", a);
  graph.output("y", graph.add("cosine", {a}, {}, "c"));
  const NamedTensors inputs{{"x", image({2, 8, 6, 6})}};
  const auto expected = Session(graph, {.optimize = Optimize::none}).run(inputs);
  Session session(graph);
  auto to = full(f32, {2, 8, 6, 6}, 1), add = full(f32, {2, 8, 6, 6}, 1);
  session.run(inputs, Destinations{{"a", {to}}, {"y", {add, Write::add}}});
  CHECK(same_bits(to, expected.at("a")));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < add.size(); ++i)
    wrong += add.values<float>()[i] != 1 + expected.at("y").values<float>()[i];
  CHECK(wrong == 0);
  const Tensor given[] = {inputs.at("x")};
  for (int run = 0; run < 2; ++run) {
    Tensor made[2];
    session.run_in_order(given, made);
    CHECK(same_bits(made[0], expected.at("a")));
    CHECK(same_bits(made[1], expected.at("y")));
  }
  CHECK(same_bits(session.run(inputs, {.outputs = {"y"}}).at("y"), expected.at("y")));
}

TEST_CASE("layouts: debugging and the search for NaN count elements in row-major order") {
  LayoutHost host;
  // the second element in memory is [0, 1, 0, 0], the 37th in row-major order
  const auto graph_with = [&](std::int64_t fault) {
    Graph graph(host);
    const auto x = graph.input("x", f32, {2, 8, 6, 6});
    graph.output("y", graph.add("convolves", {graph.add("convolves", {x}, {{"fault", fault}}, "a")},
                                {}, "b"));
    graph.output("z", graph.add("convolves", {x}, {}, "c"));  // prevents in-place outputs
    return graph;
  };
  const NamedTensors inputs{{"x", image({2, 8, 6, 6})}};
  const auto failure = failure_of([&] { Session(graph_with(1), {.debug = true}).run(inputs); });
  CHECK(failure.message.find("does not write element 36 of 'a'") != std::string::npos);
  CHECK(failure_of([&] { Session(graph_with(0), {.debug = true}).run(inputs); }).kind == 0);
  Session session(graph_with(2));
  session.run(inputs);
  CHECK(session.first_non_finite(inputs) == "[convolves] node 'a': element 36 is inf");
}

TEST_CASE("layouts: the plan lists them") {
  LayoutHost host;
  Graph graph(host);
  graph.output("y", graph.add("convolves", {graph.input("x", f32, {1, 2, 3, 4})}, {}, "c"));
  const auto text = Session(graph).describe_plan({});
  CHECK(text.find("float32 [1, 2, 3, 4] channels-last") != std::string::npos);
  CHECK(text.find("; 192 bytes reordered") != std::string::npos);
}
