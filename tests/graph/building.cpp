#include <doctest/doctest.h>

#include <tenon/host/draw.hpp>
#include <tenon/host/graph.hpp>

#include "application_host.hpp"
#include "application_operators.hpp"
#include "failure_of.hpp"
#include "graph/model.hpp"
#include "run/inner.hpp"

using tenon::DType;
using tenon::Graph;
using tenon::Shape;
using tenon::Tensor;

namespace {

/// Says a little more each time that it is asked, and refuses in the end.
struct Wavering : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("learns the rank, then a dimension, then the other");
    op.types({tenon::f32});
    op.input("data", "[4, 4]");
    op.output("same", "[4, 4]");
  }
  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    io.require(!data.known(), "enough is known");
    io.set_input(0, !data.has_rank() ? Shape{-1, -1} : data[0] < 0 ? Shape{4, -1} : Shape{4, 4});
  }
  void forward(const tenon::Call&) const {}
};

struct Together : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the first of them");
    op.types({tenon::f32});
    op.input("parts", "any shape").variadic();
    op.output("first", "same shape as the first");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call&) const {}
};

}  // namespace

TEST_CASE("building: inference works backwards through a chain of unknown shapes") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, Shape());
  auto last = x;
  for (int i = 0; i < 50; ++i) last = graph.add("counter", {last});
  CHECK_FALSE(graph.shape(last).has_rank());
  // as a weight, the end of the chain must be [3, 7], and so must every value before it
  graph.add("fully_connected", {graph.input("data", DType::f32, {-1, 7}), last}, {{"num_hidden", 3}, {"no_bias", true}});
  CHECK(graph.shape(last) == Shape{3, 7});
  CHECK(graph.shape(graph.find("counter_20")) == Shape{3, 7});
  CHECK(graph.shape(x) == Shape{3, 7});
}

TEST_CASE("building: an optional input becomes a variable only where its operator wants it") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {-1, 5});
  graph.add("fully_connected", {x}, {{"num_hidden", 3}}, "with");
  graph.add("fully_connected", {x}, {{"num_hidden", 3}, {"no_bias", true}}, "without");
  CHECK(graph.shape(graph.find("with_bias")) == Shape{3});
  CHECK(failure_of([&] { graph.find("without_bias"); }).message == "the graph has no value 'without_bias'");
}

TEST_CASE("building: outputs by number and by name, names made up") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {6});
  const auto parts = graph.add("halves", {x}, {{"parts", 3}});
  CHECK(graph.shape(parts.output(2)) == Shape{2});
  CHECK(graph.shape(graph.find("halves:2")) == Shape{2});
  graph.add("dropout", {x}, {}, "d");
  CHECK(graph.shape(graph.find("d:mask")) == Shape{6});
  graph.add("halves", {x}, {{"parts", 2}});
  CHECK(graph.shape(graph.find("halves_1:1")) == Shape{3});
  CHECK(failure_of([&] { graph.find("halves:3"); }).message == "'halves:3': node 'halves' has 3 outputs");
  CHECK(failure_of([&] { graph.output("o", parts.output(3)); }).message == "'halves' has no output 3: it has 3");
}

TEST_CASE("building: every mistake is refused where it is made, and the graph stays as it was") {
  ApplicationHost host;
  host.add<Together>();
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {2, 3}), y = graph.input("y", DType::f32, {3, 2}), i = graph.input("i", DType::i32, {2});
  graph.add("quadratic", {x}, {}, "q");
  const auto nodes = model_of(graph).nodes.size(), values = model_of(graph).values.size();
  struct Case {
    const char* what;
    std::function<void()> act;
    int kind;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"a name twice", [&] { graph.add("quadratic", {x}, {}, "q"); }, 2, "the name 'q' is taken"},
      {"an input's name twice", [&] { graph.input("x", DType::f32, {1}); }, 2, "the name 'x' is taken"},
      {"a colon", [&] { graph.input("a:b", DType::f32, {1}); }, 2, "the name 'a:b' contains a colon or a control character"},
      {"a newline", [&] { graph.input("a\nb", DType::f32, {1}); }, 2, "the name 'a\\x0ab' contains a colon or a control character"},
      {"a delete", [&] { graph.input("a\x7f", DType::f32, {1}); }, 2, "the name 'a\\x7f' contains a colon or a control character"},
      {"an unknown parameter",
       [&] {
         graph.add("cosine", {x}, {{"scael", 1}}, "c");
       },
       2, "[cosine] node 'c': unknown parameter 'scael'"},
      {"too many inputs",
       [&] {
         graph.add("cosine", {x, y}, {}, "c");
       },
       2, "[cosine] node 'c': the operator takes 1 input but is given 2"},
      {"an empty value among many",
       [&] {
         graph.add("together", {x, x, tenon::Value(), x}, {}, "t");
       },
       2, "[together] node 't': variadic input 'parts' contains an empty value"},
      {"an unknown input",
       [&] {
         graph.add("cosine", {{"z", x}}, {}, "c");
       },
       2, "[cosine] node 'c': unknown input 'z'"},
      {"shapes",
       [&] {
         graph.add("test_add", {x, y}, {}, "t");
       },
       1, "[test_add] node 't': left is [2, 3] but right is [3, 2] (left float32 [2, 3], right float32 [3, 2])"},
      {"dtypes", [&] { graph.add("cosine", {i}, {}, "c"); }, 1,
       "[cosine] node 'c': x is int32 but must be one of float16, bfloat16, float32, float64 (x int32 [2])"},
      {"an unknown operator", [&] { graph.add("cosin", {x}, {}, "c"); }, 3, ""},
      {"an output twice", [&] { graph.output("o", x), graph.output("o", x); }, 2, "the output name 'o' is taken"},
      {"an empty output", [&] { graph.output("p", tenon::Value()); }, 2, "the value of output 'p' is empty"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const auto failure = failure_of(c.act);
    CHECK(failure.kind == c.kind);
    if (!c.message.empty()) CHECK(failure.message == c.message);
    CHECK(model_of(graph).nodes.size() == nodes);
    CHECK(model_of(graph).values.size() == values);
  }
  graph.add("cosine", {x}, {{"scale", 2}}, "c");  // the name is still free
}

TEST_CASE("building: a refused node leaves nothing of what it had said of its input in several steps") {
  ApplicationHost host;
  host.add<Wavering>();
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, Shape());
  CHECK(failure_of([&] { graph.add("wavering", {x}, {}, "w"); }).message == "[wavering] node 'w': enough is known (data float32 [4, 4])");
  CHECK_FALSE(graph.shape(x).has_rank());
}

TEST_CASE("building: operators of the application, with the parameters their object has") {
  tenon::Host host(ApplicationHost::options(1));
  Graph graph(host);
  Quadratic square;
  square.a = 1;
  const auto y = graph.udf(square, {graph.input("x", DType::f32, {2})}, "sq");
  graph.output("y", y);
  CHECK(tenon::draw_graph(graph).find("a = 1") != std::string::npos);
  CHECK(graph.shape(y) == Shape{2});
}
