// Rewrite rules of an application's own operators: where they apply, where they do not, and shapes
// known only at run time.
#include <doctest/doctest.h>

#include <algorithm>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/session/session_impl.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// scale * x + y without broadcasting, the replacement.
struct ScaledSum : Operator {
  double scale = 1, offset = 0;
  static constexpr void describe(auto& op) {
    op.doc("scale * x + y + offset");
    op.types({f32});
    op.input("x", "any shape");
    op.input("y", "same shape as x");
    op.output("sum", "same shape as x");
    op.param("scale", &ScaledSum::scale, "of x");
    op.param("offset", &ScaledSum::offset, "added to all");
    op.rule("sum", "spread_sum(quadratic(x; b=$s, c=0), y)", "scaled_sum(x, y; scale=$s)");
    op.rule("offset", "quadratic(scaled_sum(x, y; offset=0, ...); b=1, c=$o)",
            "scaled_sum(x, y; offset=$o, ...)");
    op.exact_rule("twice", "halved_twice(x)", "x");
  }
  void infer(Infer& io) const {
    const auto x = io.input(0).shape, y = io.input(1).shape;
    io.require(!x.known() || !y.known() || x == y, "x is ", x, " but y is ", y);
    io.set_output(0, x);
  }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] =
          static_cast<float>(scale * static_cast<double>(call.input<float>(0)[i]) +
                             static_cast<double>(call.input<float>(1)[i]) + offset);
  }
};

struct SumHost : ApplicationHost {
  std::vector<std::string> warnings;
  SumHost() : ApplicationHost(options(2, warnings)) {
    add<probes::Plus>("spread_sum");
    add<ScaledSum>("scaled_sum");
  }
};

std::vector<std::string> names_in(const Session& session) {
  std::vector<std::string> names;
  for (const auto& node : session.optimized().nodes()) names.push_back(node.name);
  return names;
}

/// quadratic, spread_sum and quadratic of x and y.
Graph sum_of(Host& host, const Shape& x, const Shape& y, double c = 0) {
  Graph graph(host);
  const auto left =
      graph.add("quadratic", {graph.input("x", f32, x)}, {{"b", 3}, {"c", c}}, "scaled");
  const auto sum = graph.add("spread_sum", {left, graph.input("y", f32, y)}, {}, "sum");
  graph.output("z", graph.add("quadratic", {sum}, {{"b", 1}, {"c", 0.5}}, "moved"));
  return graph;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("rewriting: rules apply in sequence; parameters are matched, captured and passed on") {
  SumHost host;
  const auto graph = sum_of(host, {2}, {2});
  Session session(graph);
  CHECK(names_in(session) == Names{"scaled+sum+moved"});
  const NamedTensors inputs{{"x", vector_of({1, -2})}, {"y", vector_of({10, 20})}};
  CHECK(same_bits(session.run(inputs).at("z"), vector_of({13.5F, 14.5F})));
  CHECK(names_in(Session(graph, {.optimize = Optimize::exact})) == Names{"scaled", "sum", "moved"});
  CHECK(names_in(Session(graph, {.training = true})) == Names{"scaled", "sum", "moved"});
  CHECK(names_in(Session(sum_of(host, {2}, {2}, 1))) == Names{"scaled", "sum", "moved"});  // c is 1
}

TEST_CASE("rewriting: shapes can prevent a rule, or make a run fall back to the original graph") {
  SumHost host;
  CHECK(names_in(Session(sum_of(host, {2}, {1}))) == Names{"scaled", "sum", "moved"});
  Session session(sum_of(host, {-1}, {-1}));
  CHECK(names_in(session) == Names{"scaled+sum+moved"});
  const auto x = vector_of({1, -2});
  CHECK(same_bits(session.run({{"x", x}, {"y", vector_of({10, 20})}}).at("z"),
                  vector_of({13.5F, 14.5F})));
  // inputs that no graph accepts are refused with the original graph's message, at no cost
  const auto wrong = failure_of([&] { session.run({{"x", x}, {"y", vector_of({1, 2, 3})}}); });
  CHECK(wrong.message.find("node 'sum'") != std::string::npos);
  CHECK(names_in(session) == Names{"scaled+sum+moved"});
  const auto& plans = impl_of(session).plans;
  for (int round = 0; round < 3; ++round) {  // alternates between plans of both graphs
    CHECK(same_bits(session.run({{"x", x}, {"y", vector_of({10})}}).at("z"),
                    vector_of({13.5F, 4.5F})));
    CHECK(same_bits(session.run({{"x", x}, {"y", vector_of({10, 20})}}).at("z"),
                    vector_of({13.5F, 14.5F})));
  }
  CHECK(names_in(session) == Names{"scaled+sum+moved"});
  CHECK(plans.made() == 2);
  Session one(sum_of(host, {-1}, {-1}), {.plans = 1});
  for (int round = 0; round < 2; ++round)
    CHECK(same_bits(one.run({{"x", x}, {"y", vector_of({10})}}).at("z"), vector_of({13.5F, 4.5F})));
  CHECK(impl_of(one).plans.all().size() == 1);
  CHECK(impl_of(one).plans.made() == 1);
}

TEST_CASE("rewriting: inputs that both graphs refuse change neither the graph nor the fast path") {
  SumHost host;
  Session session(sum_of(host, {-1}, {-1}));
  const auto& impl = impl_of(session);
  const auto run = [&](std::vector<float> y) {
    const auto size = static_cast<std::int64_t>(y.size());
    return session.run({{"x", vector_of({1, -2})}, {"y", Tensor::from(std::move(y), {size})}})
        .at("z");
  };
  CHECK(same_bits(run({10, 20}), vector_of({13.5F, 14.5F})));
  const auto* const optimized = &impl.graphs.last();
  CHECK(impl.graphs.is_optimized(*optimized));
  CHECK(failure_of([&] { run({1, 2, 3}); }).kind != 0);
  CHECK(&impl.graphs.last() == optimized);
  REQUIRE(impl.planner.quick != nullptr);
  CHECK(impl.planner.quick->planned().graph == optimized);

  CHECK(same_bits(run({10}), vector_of({13.5F, 4.5F})));  // by the original graph
  const auto* const original = &impl.graphs.last();
  CHECK(original != optimized);
  CHECK(failure_of([&] { run({1, 2, 3}); }).kind != 0);
  CHECK(&impl.graphs.last() == original);
  REQUIRE(impl.planner.quick != nullptr);
  CHECK(impl.planner.quick->planned().graph == original);
  CHECK(impl.planner.quick->is_of(*optimized));  // with which runs begin
  const auto used = impl.plans.last()->used;
  CHECK(same_bits(run({10}), vector_of({13.5F, 4.5F})));
  CHECK(impl.plans.last()->used == used);  // no plan was looked up
  CHECK(same_bits(run({10, 20}), vector_of({13.5F, 14.5F})));
  CHECK(&impl.graphs.last() == optimized);
}

namespace {

/// Counts its calls.
struct CountedAboveZero : probes::AboveZero {
  static inline int calls = 0;
  static constexpr void describe(auto& op) {
    AboveZero::describe(op);
    op.state("runs", "[1]");
  }
  void infer(Infer& io) const {
    AboveZero::infer(io);
    io.set_state("runs", {1});
  }
  void forward(const Call& call) const {
    ++calls;
    call.state<float>("runs")[0] += 1;
    AboveZero::forward(call);
  }
};

}  // namespace

TEST_CASE(
    "rewriting: a later stage that a rule makes impossible continues with the original graph, and "
    "no node runs twice") {
  SumHost host;
  host.add<CountedAboveZero>("counted_above_zero");
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto some = graph.add("counted_above_zero",
                              {graph.add("quadratic", {x}, {{"b", 1}}, "before")}, {}, "some");
  const auto scaled = graph.add("quadratic", {some}, {{"b", 3}}, "scaled");
  const auto sum = graph.add("spread_sum", {scaled, graph.input("y", f32, {-1})}, {}, "sum");
  const auto z = graph.add("quadratic", {sum}, {{"b", 1}, {"c", 0.5}}, "moved");
  graph.output("z", z);
  graph.output("again", graph.add("counted_above_zero", {z}, {}, "again"));
  graph.output("some", some);
  Session session(graph);
  CountedAboveZero::calls = 0;
  std::uint64_t made_by_first = 0;
  for (int run = 1; run <= 3; ++run) {
    // the fused sum accepts two numbers and two, but not one and two
    for (const auto& values : {std::pair{vector_of({1, -2}), vector_of({3.5F + 10, 3.5F + 20})},
                               std::pair{vector_of({1, 2}), vector_of({13.5F, 26.5F})}}) {
      const auto made = session.run({{"x", values.first}, {"y", vector_of({10, 20})}});
      CHECK(same_bits(made.at("z"), values.second));
      CHECK(same_bits(made.at("again"), values.second));
      CHECK(made.at("some").shape()[0] == (values.first.values<float>()[1] > 0 ? 2 : 1));
    }
    CHECK(CountedAboveZero::calls == 4 * run);
    if (run == 1) made_by_first = impl_of(session).plans.made();
    CHECK(impl_of(session).plans.made() == made_by_first);
    CHECK(session.tensor("some_runs").values<float>()[0] == static_cast<float>(2 * run));
    CHECK(session.tensor("again_runs").values<float>()[0] == static_cast<float>(2 * run));
  }
  CHECK(names_in(session).size() == 4);
  CHECK(failure_of([&] {
          session.run({{"x", vector_of({1, 2, 3})}, {"y", vector_of({1, 2})}});
        }).message.find("node 'sum'") != std::string::npos);
  CHECK(session.tensor("some_runs").values<float>()[0] == 6);
  session.run({{"x", vector_of({1, 2})}, {"y", vector_of({10, 20})}});
  CHECK(session.tensor("some_runs").values<float>()[0] == 7);
}

TEST_CASE("rewriting: an invalid rule is reported once, by name, and changes nothing") {
  SumHost host;
  const auto graph = sum_of(host, {2}, {2});
  Session one(graph), other(graph);
  REQUIRE(host.warnings.size() == 1);
  check_says(host.warnings[0], {"rule 'twice' of operator 'app.scaled_sum'", "is not used",
                                "no operator 'halved_twice'"});
}
