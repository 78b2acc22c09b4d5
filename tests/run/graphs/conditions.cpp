// Conditional declarations of an operator: what backward reads, in-place memory, hidden outputs;
// and its rules and examples.
#include <doctest/doctest.h>

#include <algorithm>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// The largest element, whose backward finds its position again, or the mean, whose backward reads
/// nothing.
struct Pooled : Operator {
  enum class Kind { max, average } kind = Kind::max;
  bool show_place = false;
  Ints kernel = {3, 3}, stride = {};
  std::int32_t groups = 1, channels = 4;
  float low = 0, high = 1;

  static constexpr void describe(auto& op) {
    op.doc("the largest element, or the mean");
    op.space("acme");
    op.types({f32});
    op.input("data", "[n]");
    op.output("output", "[1]");
    op.output("place", "int64 [1]").hidden_when("show_place", false);
    op.param("kind", &Pooled::kind, "which")
        .one_of({{"max", Kind::max}, {"average", Kind::average}});
    op.param("show_place", &Pooled::show_place, "whether place is visible");
    op.param("kernel", &Pooled::kernel, "not used");
    op.param("stride", &Pooled::stride, "not used");
    op.param("groups", &Pooled::groups, "not used").at_least(0);
    op.param("channels", &Pooled::channels, "not used");
    op.param("low", &Pooled::low, "not used");
    op.param("high", &Pooled::high, "not used");
    op.backward_reads("data", "output").when("kind", "max");
    op.require("stride", same_length, "kernel");
    op.require("channels", multiple_of, "groups");
    op.require("low", less_than, "high");
    op.example({{"data", {4}}}, {{"kind", "average"},
                                 {"kernel", {2, 2}},
                                 {"low", -0.5},
                                 {"show_place", true},
                                 {"groups", 2}});
    op.example({{"data", {2}, f32, {0.5, -1}}});
  }
  void infer(Infer& io) const {
    io.set_output(0, {1});
    io.set_output(1, {1}, i64);
  }
  void forward(const Call& call) const {
    const auto x = call.input<float>(0);
    const auto largest = std::max_element(x.begin(), x.end());
    float sum = 0;
    for (const float value : x) sum += value;
    call.output<float>(0)[0] = kind == Kind::max ? *largest : sum / static_cast<float>(x.size());
    if (call.write(1) != Write::none) call.output<std::int64_t>(1)[0] = largest - x.begin();
  }
  void backward(const Call& call) const {
    const float dy = call.output_grad<float>(0)[0];
    const auto dx = call.input_grad<float>(0);
    if (kind == Kind::average) {
      std::fill(dx.begin(), dx.end(), dy / static_cast<float>(dx.size()));
    } else {
      const auto x = call.input<float>(0);
      const float largest = call.output_value<float>(0)[0];
      for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = x[i] == largest ? dy : 0;
    }
  }
};

/// x + 1, in place if possible.
struct Next : Operator {
  bool in_place = false;
  static constexpr void describe(auto& op) {
    op.doc("x + 1");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "the shape of x");
    op.param("in_place", &Next::in_place, "whether y may have the memory of x");
    op.inplace("x", "y").when("in_place", true);
  }
  void forward(const Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
  }
};

struct ConditionHost : ApplicationHost {
  ConditionHost() {
    add<Pooled>("pooled");
    add<Next>("next");
  }
};

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

std::string refused(const Attributes& attributes) {
  ConditionHost host;
  const Tensor x = vector_of({1, 2, 3});
  return failure_of([&] { host.call("pooled", {x}, attributes); }).message;
}

}  // namespace

TEST_CASE(
    "conditions: what backward reads depends on parameters: gradients are right, and unread values "
    "are not stored") {
  for (const bool max : {true, false}) {
    ConditionHost host;
    Graph graph(host);
    const auto x = graph.variable("x", vector_of({3, 9, -1, 5}));
    const auto pooled = graph.add("pooled", {x}, {{"kind", max ? "max" : "average"}}, "pooled");
    graph.output("y", pooled);
    graph.output("dx", graph.gradient(pooled, {x})[0]);
    Session session(graph);
    const auto dx = elements<float>(session.run({}).at("dx"));
    CHECK(dx == (max ? std::vector<float>{0, 1, 0, 0} : std::vector<float>(4, 0.25F)));
    // The backward step's inputs: the outputs' gradients, then what it reads of data, output and
    // place.
    const auto nodes = graph.nodes();
    const auto found = std::find_if(nodes.begin(), nodes.end(), [](const NodeInfo& node) {
      return node.kind == NodeKind::backward && node.of == "pooled";
    });
    REQUIRE(found != nodes.end());
    const auto connected = std::count_if(found->inputs.begin(), found->inputs.end(),
                                         [](const auto& input) { return !input.empty(); });
    CHECK(connected == (max ? 3 : 1));
  }
}

TEST_CASE("conditions: an output is in place only under its condition") {
  for (const bool in_place : {true, false}) {
    ConditionHost host;
    Graph graph(host);
    auto value = graph.input("x", f32, {1024});
    for (int i = 0; i < 4; ++i) value = graph.add("next", {value}, {{"in_place", in_place}});
    graph.output("y", value);
    Session session(graph);
    const auto plan = session.plan({});
    const auto shared =
        std::count_if(plan.memory.begin(), plan.memory.end(),
                      [](const MemoryUse& use) { return !use.in_place_of.empty(); });
    CHECK((shared > 0) == in_place);
    CHECK(elements<float>(session.run({{"x", Tensor::zeros(f32, {1024})}}).at("y")) ==
          std::vector<float>(1024, 4));
  }
}

TEST_CASE("conditions: an output is hidden only under its condition") {
  ConditionHost host;
  const Tensor x = vector_of({1, 7, 3});
  CHECK(host.call_all("pooled", {x}).size() == 1);
  const auto both = host.call_all("pooled", {x}, {{"show_place", true}});
  REQUIRE(both.size() == 2);
  CHECK(elements<std::int64_t>(both[1]) == std::vector<std::int64_t>{1});
}

TEST_CASE("conditions: violated rules between parameters are refused with both values") {
  CHECK(refused({}).empty());
  check_says(refused({{"stride", {1}}}),
             {"parameter 'stride' is [1]", "as many values as 'kernel'", "[3, 3]"});
  CHECK(refused({{"stride", {1, 2}}}).empty());
  check_says(refused({{"groups", 3}}),
             {"parameter 'channels' is 4", "a multiple of 'groups', which is 3"});
  CHECK(refused({{"groups", 2}}).empty());
  CHECK(refused({{"groups", 0}}).find("must be a multiple of 'groups', which is 0") !=
        std::string::npos);
  CHECK(refused({{"groups", 0}, {"channels", 0}}).empty());
  CHECK(
      refused({{"low", 1}}).find("parameter 'low' is 1 but must be less than 'high', which is 1") !=
      std::string::npos);
}

TEST_CASE("conditions: the catalog lists conditions, rules and examples") {
  ConditionHost host;
  const auto& info = host.catalog().find("pooled")->info;
  CHECK(info.space == "acme");
  REQUIRE(info.conditions.size() == 3);
  CHECK(info.conditions[0].of == "hidden");
  CHECK(info.conditions[1].names == std::vector<std::string>{"data"});
  CHECK(info.conditions[1].values == std::vector<AttributeValue>{"max"});
  REQUIRE(info.rules.size() == 3);
  CHECK(info.rules[1].relation == "multiple_of");
  REQUIRE(info.examples.size() == 2);
  CHECK(info.examples[0].inputs[0].shape == std::vector<std::int64_t>{4});
  CHECK(info.examples[0].params[1].value == AttributeValue(std::vector<std::int64_t>{2, 2}));
  CHECK(info.examples[0].params[2].value == AttributeValue(-0.5));
  CHECK(info.examples[1].inputs[0].dtype == "float32");
  CHECK(info.examples[1].inputs[0].values == std::vector<double>{0.5, -1});
}
