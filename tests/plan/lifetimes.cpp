// Values that backward may read are kept until then; those declared not to be read are freed after
// their last reader.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "plan/memory/memory_use.hpp"
#include "plan_of.hpp"
#include "random_graph_host.hpp"
#include "run/impl_access.hpp"

namespace {

/// x -> n0 -> n1 ... -> loss, all with one operator, and the gradient of x.
tenon::Graph chain(tenon::Host& host, const std::string& op, int length) {
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::DType::f32, {16});
  auto value = x;
  for (int i = 0; i < length; ++i)
    value = graph.add(op, {value}, {{"size", 16}}, "n" + std::to_string(i));
  const auto loss = graph.add(op, {value}, {{"size", 1}}, "loss");
  graph.output("loss", loss);
  graph.output("dx", graph.gradient(loss, {x})[0]);
  return graph;
}

std::string life_of(const std::vector<tenon::MemoryUse>& uses, const std::string& name) {
  for (const auto& use : uses)
    if (use.name == name) return std::to_string(use.first) + ".." + std::to_string(use.last);
  return "not there";
}

}  // namespace

TEST_CASE("lifetimes: with and without backward_reads") {
  RandomGraphHost host;
  struct Case {
    const char *op, *n0, *n2;
    std::int64_t
        bound;  // in vectors of 64 bytes, one for the loss's gradient; loss and dx are outputs
  };
  // Steps 0 to 3 are the nodes, 4 is the loss, 5 its gradient, and 6 to 10 run backward from it:
  // n0's backward, the last one, reads n0.
  const Case cases[] = {
      {"mix", "0..1", "2..3", 2},
      {"blend", "0..10", "2..8", 6},
  };
  for (const auto& c : cases) {
    CAPTURE(c.op);
    const auto graph = chain(host, c.op, 4);
    const auto plan = plan_of(graph);
    const auto uses = tenon::memory_uses(model_of(graph), plan);
    CAPTURE(tenon::describe_memory(tenon::Session(graph).plan({})));
    CHECK(life_of(uses, "n0") == c.n0);
    CHECK(life_of(uses, "n2") == c.n2);
    CHECK(plan.lower_bound() == 64 * c.bound);
    CHECK(plan.bytes() == 64 * c.bound);
  }
}

TEST_CASE("lifetimes: in-place outputs, folded sums, workspaces") {
  RandomGraphHost host;
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::DType::f32, {100});
  const auto a = graph.add("mix", {x}, {{"size", 100}, {"scratch", 30}}, "a");
  const auto b = graph.add("quadratic", {a}, {{"b", 2}}, "b");
  const auto c = graph.add("quadratic", {b}, {{"b", 3}}, "c");
  const auto d = graph.add("test_add", {b, c}, {}, "d");
  graph.output("y", graph.add("mix", {d, c}, {{"size", 1}}, "y"));
  CHECK(tenon::describe_memory(tenon::Session(graph).plan({})) ==
        "value                           bytes       offset         steps  in place of\n"
        "a                                 400            0          0..1  -\n"
        "a (workspace)                     120          448          0..0  -\n"
        "b                                 400            0          1..3  a\n"
        "c                                 400          448          2..4  -\n"
        "d                                 400            0          3..4  b\n"
        "5 steps, 896 bytes of memory, lower bound 896 bytes, ratio 1.000, execution order\n");
}

TEST_CASE("lifetimes: a variable's new value is in its memory unless that is read again") {
  RandomGraphHost host;
  const auto in_place = [&](bool reads_new, bool reads_twice) {
    tenon::Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {4});
    const auto w = graph.variable("w", tenon::Tensor::from({1.f, 2.f, 3.f, 4.f}, {4}));
    const auto raised = graph.add("test_add", {w, reads_twice ? w : x}, {}, "raised");
    graph.update(w, raised);
    graph.output("y", graph.add("quadratic", {x}));
    if (reads_new) graph.output("new", raised);
    const auto plan = plan_of(graph, true);
    CHECK(plan.updated.size() + plan.copies.size() == 1);
    return plan.updated.size() == 1;
  };
  CHECK(in_place(false, false));
  CHECK_FALSE(in_place(true, false));
  CHECK_FALSE(in_place(false, true));
  CHECK_FALSE(in_place(true, true));
}

namespace {

// Does not infer the size of its second output.
struct Undecided : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("an operator whose second output has no inferred size");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.output("rest", "any shape");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call&) const {}
};

}  // namespace

TEST_CASE("lifetimes: refuses an output of unknown size, whether it is read or not") {
  RandomGraphHost host;
  host.add<Undecided>();
  for (const bool read : {false, true}) {
    CAPTURE(read);
    tenon::Graph graph(host);
    const auto node =
        graph.add("undecided", {graph.input("x", tenon::DType::f32, {2})}, {}, "node");
    graph.output("result", node.output(read ? 1 : 0));
    check_says(
        failure_of([&] { plan_of(graph); }).message,
        {"[undecided] node 'node':", "output node:1 is float32 [...]", "full shape must be known"});
  }
}

TEST_CASE("lifetimes: refuses more memory than can be addressed") {
  RandomGraphHost host;
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::DType::f32, {-1});
  auto value = x;
  for (int i = 0; i < 8; ++i) value = graph.add("quadratic", {value});
  graph.output("y", graph.add("test_add", {value, value}));
  check_says(failure_of([&] {
               plan_of(graph, false, {{"x", {std::int64_t{1} << 60}}});
             }).message,
             {"values and workspaces", "more than memory can hold"});
}
