#include <doctest/doctest.h>

#include <tenon/host/draw.hpp>
#include <tenon/host/graph.hpp>

#include "application_host.hpp"
#include "application_operators.hpp"
#include "failure_of.hpp"
#include "graph/model.hpp"
#include "probe_operators.hpp"
#include "run/impl_access.hpp"

using tenon::DType;
using tenon::Graph;
using tenon::Shape;
using tenon::Tensor;

namespace {

/// Its infer() sets a little more each time it is called, and finally refuses.
struct Wavering : probes::Copy {
  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    io.require(!x.known(), "enough is known");
    io.set_input(0, !x.has_rank() ? Shape{-1, -1} : x[0] < 0 ? Shape{4, -1} : Shape{4, 4});
  }
};

struct Together : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the first input");
    op.types({tenon::f32});
    op.input("parts", "any shape").variadic();
    op.output("first", "same shape as the first");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call&) const {}
};

}  // namespace

TEST_CASE("building: inference propagates backward through a sequence of unknown shapes") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, Shape());
  auto last = x;
  for (int i = 0; i < 50; ++i) last = graph.add("counter", {last});
  CHECK_FALSE(graph.shape(last).has_rank());
  // The last value, used as a weight, must be [3, 7], and so must every value before it.
  graph.add("fully_connected", {graph.input("data", DType::f32, {-1, 7}), last},
            {{"num_hidden", 3}, {"no_bias", true}});
  CHECK(graph.shape(last) == Shape{3, 7});
  CHECK(graph.shape(graph.find("counter_20")) == Shape{3, 7});
  CHECK(graph.shape(x) == Shape{3, 7});
}

TEST_CASE("building: an optional input becomes a variable only if its operator infers it") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {-1, 5});
  graph.add("fully_connected", {x}, {{"num_hidden", 3}}, "with");
  graph.add("fully_connected", {x}, {{"num_hidden", 3}, {"no_bias", true}}, "without");
  CHECK(graph.shape(graph.find("with_bias")) == Shape{3});
  CHECK(failure_of([&] { graph.find("without_bias"); }).message ==
        "the graph has no value 'without_bias'");
}

TEST_CASE("building: outputs by number and by name, generated names") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {6});
  const auto parts = graph.add("halves", {x}, {{"parts", 3}});
  CHECK(graph.shape(parts.output(2)) == Shape{2});
  CHECK(graph.shape(graph.find("halves:2")) == Shape{2});
  const auto name_of = [&](tenon::Value value) { return graph.info(value).name; };
  // output(i) counts from the node's first output, whichever output it is called on
  const auto last = graph.find("halves:2");
  CHECK(name_of(last) == "halves:2");
  CHECK(name_of(last.output(0)) == name_of(parts));
  CHECK(name_of(last.output(1)) == "halves:1");
  CHECK(name_of(graph.clone().find("halves:1").output(2)) == "halves:2");
  CHECK(failure_of([&] { graph.shape(last.output(0xffffffff)); }).message ==
        "'halves' has no output 4294967295: it has 3");
  graph.add("dropout", {x}, {}, "d");
  CHECK(graph.shape(graph.find("d:mask")) == Shape{6});
  graph.add("halves", {x}, {{"parts", 2}});
  CHECK(graph.shape(graph.find("halves_1:1")) == Shape{3});
  CHECK(failure_of([&] { graph.find("halves:3"); }).message ==
        "'halves:3': node 'halves' has 3 outputs");
  CHECK(failure_of([&] { graph.output("o", parts.output(3)); }).message ==
        "'halves' has no output 3: it has 3");
}

TEST_CASE("building: errors are reported immediately and leave the graph unchanged") {
  ApplicationHost host;
  host.add<Together>();
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {2, 3}), y = graph.input("y", DType::f32, {3, 2}),
             i = graph.input("i", DType::i32, {2});
  graph.add("quadratic", {x}, {}, "q");
  const auto nodes = model_of(graph).nodes.size(), values = model_of(graph).values.size();
  struct Case {
    const char* what;
    std::function<void()> act;
    int kind;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"duplicate node name", [&] { graph.add("quadratic", {x}, {}, "q"); }, 2,
       "the name 'q' is taken"},
      {"duplicate input name", [&] { graph.input("x", DType::f32, {1}); }, 2,
       "the name 'x' is taken"},
      {"a colon", [&] { graph.input("a:b", DType::f32, {1}); }, 2,
       "the name 'a:b' contains a colon or a control character"},
      {"a newline", [&] { graph.input("a\nb", DType::f32, {1}); }, 2,
       "the name 'a\\x0ab' contains a colon or a control character"},
      {"a delete", [&] { graph.input("a\x7f", DType::f32, {1}); }, 2,
       "the name 'a\\x7f' contains a colon or a control character"},
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
       1,
       "[test_add] node 't': left is [2, 3] but right is [3, 2] (left float32 [2, 3], right "
       "float32 [3, 2])"},
      {"dtypes", [&] { graph.add("cosine", {i}, {}, "c"); }, 1,
       "[cosine] node 'c': x is int32 but must be one of float16, bfloat16, float32, float64 (x "
       "int32 [2])"},
      {"an unknown operator", [&] { graph.add("cosin", {x}, {}, "c"); }, 3, ""},
      {"an input without a dtype", [&] { graph.input("a", tenon::unknown_dtype, {1}); }, 2,
       "input 'a' has no dtype"},
      {"an input that is not UTF-8", [&] { graph.input("a\xff", DType::f32, {1}); }, 2,
       "the name 'a\\xff' is not UTF-8"},
      {"a variable that is not UTF-8", [&] { graph.variable("a\xff", DType::f32, {1}); }, 2,
       "the name 'a\\xff' is not UTF-8"},
      {"a constant that is not UTF-8", [&] { graph.constant("a\xff", Tensor::from({1.f}, {1})); },
       2, "the name 'a\\xff' is not UTF-8"},
      {"a node that is not UTF-8", [&] { graph.add("cosine", {x}, {}, "a\xff"); }, 2,
       "the name 'a\\xff' is not UTF-8"},
      {"an output that is not UTF-8", [&] { graph.output("a\xff", x); }, 2,
       "the name 'a\\xff' is not UTF-8"},
      {"a control character beyond ASCII", [&] { graph.input("a\u009b2J", DType::f32, {1}); }, 2,
       "the name 'a\\xc2\\x9b2J' contains a colon or a control character"},
      {"an output with a bidirectional control", [&] { graph.output("a\u202eb", x); }, 2,
       "the name 'a\\xe2\\x80\\xaeb' contains a colon or a control character"},
      {"an empty output's name", [&] { graph.output("", x); }, 2, "the name of an output is empty"},
      {"an input's dtype that does not exist",
       [&] { graph.input("n", static_cast<DType>(77), {1}); }, 2,
       "'n' has dtype number 77, which does not exist"},
      {"a variable's dtype that does not exist",
       [&] { graph.variable("n", static_cast<DType>(99), {1}); }, 2,
       "'n' has dtype number 99, which does not exist"},
      {"an output with a colon", [&] { graph.output("a:b", x); }, 2,
       "the name 'a:b' contains a colon or a control character"},
      {"an initial value that does not fit",
       [&] { graph.variable("a", DType::f16, {1}, tenon::Init::value(1e6)); }, 2,
       "the initial value of 'a' is 1000000, which does not fit float16"},
      {"descending uniform range",
       [&] { graph.variable("a", DType::f32, {1}, tenon::Init::uniform(2, 1)); }, 2,
       "the init of 'a' is uniform from 2 to 1 but needs two finite numbers, the first not above "
       "the second"},
      {"negative deviation",
       [&] { graph.variable("a", DType::f32, {1}, tenon::Init::normal(0, -1)); }, 2,
       "the init of 'a' is normal with mean 0 and standard deviation -1, but both must be finite "
       "and the deviation 0 or more"},
      {"an output that an input does not have", [&] { graph.output("p", x.output(1)); }, 2,
       "'x' has no output 1: it has 1"},
      {"an output far too high", [&] { graph.output("p", graph.find("q").output(0xffffffff)); }, 2,
       "'q' has no output 4294967295: it has 1"},
      {"an empty factory", [&] { host.add<Together>("nothing", std::function<Together()>()); }, 2,
       "operator 'nothing' is added with an empty function, but needs one that returns its "
       "objects"},
      {"duplicate output", [&] { graph.output("o", x), graph.output("o", x); }, 2,
       "the output name 'o' is taken"},
      {"an empty output", [&] { graph.output("p", tenon::Value()); }, 2,
       "the value of output 'p' is empty"},
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

TEST_CASE("building: a refused node undoes what several inference steps learned about its input") {
  ApplicationHost host;
  host.add<Wavering>();
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, Shape());
  CHECK(failure_of([&] { graph.add("wavering", {x}, {}, "w"); }).message ==
        "[wavering] node 'w': enough is known (x float32 [4, 4])");
  CHECK_FALSE(graph.shape(x).has_rank());
}

TEST_CASE("building: operators of the application take parameters from their object") {
  tenon::Host host(ApplicationHost::options(1));
  Graph graph(host);
  Quadratic square;
  square.a = 1;
  const auto y = graph.udf(square, {graph.input("x", DType::f32, {2})}, "sq");
  graph.output("y", y);
  CHECK(tenon::draw_graph(graph).find("a = 1") != std::string::npos);
  CHECK(graph.shape(y) == Shape{2});
}
