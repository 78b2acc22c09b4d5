// Profiles of executed nodes.
#include <doctest/doctest.h>

#include <limits>
#include <tenon/host/profile.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

/// Declares the flops that its parameter sets.
struct Counted : probes::Copy {
  double said = 0;
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("said", &Counted::said, "flops for each element");
  }
  double flops(const Infer& io) const {
    return said * static_cast<double>(io.output(0).shape.size());
  }
};

struct Profiled {
  ApplicationHost host;
  Graph graph{host};
  explicit Profiled(double said) {
    host.add<Counted>();
    const auto x = graph.input("x", f32, {-1});
    graph.output("y", graph.add("counted", {graph.add("quadratic", {x}, {}, "first")},
                                {{"said", said}}, "second"));
  }
};

NamedTensors of(std::int64_t elements) {
  return {{"x", Tensor::zeros(f32, {elements})}};
}

}  // namespace

TEST_CASE("profile: bytes and operations of all calls, in execution order") {
  Profiled profiled(3);
  Session session(profiled.graph, {.profile = true});
  session.run(of(100));
  session.clear_times();
  CHECK(session.times().empty());
  session.run(of(10));
  session.run(of(20));
  auto times = session.times();
  REQUIRE(times.size() == 2);
  if (times[0].node != "first") std::swap(times[0], times[1]);
  for (const auto& time : times) {
    CAPTURE(time.node);
    CHECK(time.calls == 2);
    CHECK(time.bytes == (10 + 20) * 2 * sizeof(float));
    CHECK(time.flops == (time.node == "second" ? 3 * (10 + 20) : 0));
    CHECK(time.least > 0);
    CHECK(time.least + time.last <=
          time.seconds * (1 + 1e-9) + (time.last == time.least ? time.least : 0));
  }
  CHECK(times[0].begin >= 0);
  CHECK(times[0].begin + times[0].last <= times[1].begin);
}

TEST_CASE("profile: nodes of a later stage begin after those of the stage before it") {
  ApplicationHost host;
  host.add<Counted>();
  host.add<probes::AboveZero>("positive");
  Graph graph(host);
  const auto positive = graph.add("positive", {graph.input("x", f32, {-1})}, {}, "first");
  graph.output("y", graph.add("counted", {positive}, {}, "second"));
  Session session(graph, {.profile = true});
  for (int run = 0; run < 3; ++run) {
    session.run({{"x", Tensor::from({1.0F, -1.0F, 2.0F}, {3})}});
    auto times = session.times();
    REQUIRE(times.size() == 2);
    if (times[0].node != "first") std::swap(times[0], times[1]);
    CHECK(times[0].begin + times[0].last <= times[1].begin);
  }
}

TEST_CASE("profile: operators that declare invalid flops are refused with their node") {
  for (const double said :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Profiled profiled(said);
    Session session(profiled.graph, {.profile = true});
    CHECK(failure_of([&] { session.run(of(1)); }).message.find("its flops() returned") !=
          std::string::npos);
    Session(profiled.graph).run(of(1));  // flops are not queried
  }
}

TEST_CASE("profile: times of one operator are summed, and the page escapes names") {
  NodeTime one{"a<b", "op & co", "cpu", 2, 3e-3}, other{"c", "op & co", "cpu", 1, 1e-3},
      longest{"d", "e", "cpu", 1, 1};
  one.least = 1e-3, one.bytes = 4e6, one.flops = 8, other.least = 1e-4, one.last = 1e-3,
  other.begin = 1e-3, other.last = 1e-3;
  const NodeTime times[] = {one, other, longest};
  const auto operators = by_operator(times);
  REQUIRE(operators.size() == 2);
  CHECK(operators[0].op == "e");
  CHECK(operators[1].nodes == 2);
  CHECK(operators[1].calls == 3);
  CHECK(operators[1].seconds == doctest::Approx(4e-3));
  CHECK(operators[1].least == 1e-4);
  CHECK(operators[1].bytes == 4e6);
  const auto page = draw_profile(times, {1, 1e10, 0});
  CHECK(page.find("a&lt;b") != std::string::npos);
  CHECK(page.find("op &amp; co") != std::string::npos);
  CHECK(page.find("a<b") == std::string::npos);
  CHECK(page.find("1.00</td>") != std::string::npos);  // 4 MB in 4 ms are 1 GB/s
}

TEST_CASE(
    "profile: the machine's speed is measured, matrix products only with an operator for them") {
  ApplicationHost host;
  const auto speed = measure_machine(host);
  CHECK(speed.threads == 2);
  CHECK(speed.copy > 1e6);
  CHECK(speed.product == 0);
}

TEST_CASE("sessions and plans: options and facts without effect are accepted until 0.4") {
  Profiled profiled(3);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  Session session(profiled.graph, {.profile = true, .parallel = false, .capture = false});
  const auto plan = session.plan({{"x", Shape{3}}});
  CHECK(plan.alone == 0);
  CHECK(plan.in_lanes == 0);
  for (const auto& step : plan.steps) CHECK(step.lane == -1);
#pragma GCC diagnostic pop
  CHECK(session.run(of(3)).at("y").size() == 3);
}
