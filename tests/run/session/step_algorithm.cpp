// The algorithms of steps' kernels, as plans list them.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

/// Reports the algorithm in its parameter, and in backward its layout, out of two choices.
struct Chosen : probes::Copy {
  Text choice;
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("choice", &Chosen::choice, "name and reason; `throws`: an error");
  }
  std::string algorithm(const Infer& io) const {
    const std::string text(static_cast<std::string_view>(choice));
    if (text == "throws") throw Error("cannot tell");
    if (!text.empty()) return text;
    return io.input("x").shape.size() <= 4 ? "short loop: at most 4 elements"
                                           : "long loop: more than 4 elements";
  }
  const char* backward_algorithm(const Infer& io) const {
    return io.output("y").shape.size() <= 4 ? "copy: at most 4 elements" : "";
  }
};

/// A parameter may have the member's name.
struct Parameter : probes::Copy {
  std::int64_t algorithm = 0;
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("algorithm", &Parameter::algorithm, "any number");
  }
};

struct PlannedGraph {
  ApplicationHost host;
  Graph graph{host};
  explicit PlannedGraph(const std::string& choice) {
    host.add<Chosen>();
    host.add<Parameter>();
    const auto x = graph.input("x", f32, {-1});
    graph.output("y", graph.add("chosen", {graph.add("parameter", {x}, {}, "first")},
                                {{"choice", choice}}, "second"));
  }
  PlanInfo plan(std::int64_t elements) { return Session(graph).plan({{"x", {elements}}}); }
};

}  // namespace

TEST_CASE("plans list the algorithm that each kernel chooses for the planned shapes") {
  PlannedGraph planned("");
  for (const std::int64_t elements : {3, 4, 5}) {
    CAPTURE(elements);
    const std::string expected =
        elements <= 4 ? "short loop: at most 4 elements" : "long loop: more than 4 elements";
    const auto plan = planned.plan(elements);
    REQUIRE(plan.steps.size() == 2);
    CHECK(plan.steps[0].algorithm.empty());
    CHECK(plan.steps[1].algorithm == expected);
    const auto text = describe(plan);
    CHECK(text.find("  algorithm " + expected + '\n') != std::string::npos);
    CHECK(text.find("algorithm") == text.rfind("algorithm"));  // the other kernel has none
  }
}

TEST_CASE("an algorithm is one printable line, however long a kernel makes it") {
  CHECK(PlannedGraph("a\nb\x1b[2J").plan(1).steps[1].algorithm == "a\\x0ab\\x1b[2J");
  CHECK(PlannedGraph(std::string(1000, 'a')).plan(1).steps[1].algorithm == std::string(255, 'a'));
}

TEST_CASE(
    "a kernel that fails to report its algorithm fails the plan, naming its node, but no run") {
  PlannedGraph planned("throws");
  const auto failure = failure_of([&] { planned.plan(2); });
  CHECK(failure.message.find("second") != std::string::npos);
  CHECK(failure.message.find("cannot tell") != std::string::npos);
  CHECK(Session(planned.graph).run({{"x", Tensor::zeros(f32, {2})}}).at("y").size() == 2);
}

TEST_CASE("plans of gradients list the algorithm of backward, if the kernel reports one") {
  ApplicationHost host;
  host.add<Chosen>();
  for (const std::int64_t elements : {4, 5}) {
    CAPTURE(elements);
    Graph graph(host);
    const auto x = graph.input("x", f32, {elements});
    const auto loss = graph.add("chosen", {x}, {}, "second");
    graph.output("dx", graph.gradient(loss, {x})[0]);
    const auto plan = Session(graph, {.optimize = Optimize::none}).plan({});
    const auto backward =
        std::find_if(plan.steps.begin(), plan.steps.end(),
                     [](const PlannedStep& step) { return step.op == "chosen backward"; });
    REQUIRE(backward != plan.steps.end());
    CHECK(backward->algorithm == (elements == 4 ? "copy: at most 4 elements" : ""));
  }
}
