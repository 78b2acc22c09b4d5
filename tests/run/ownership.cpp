#include "ownership.hpp"

#include <tenon/host/cast_storage.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/graph_impl.hpp"
#include "run/session/session_impl.hpp"

using tenon::Graph;
using tenon::Session;
using tenon::Tensor;

namespace {

Tensor one() {
  return Tensor::from({1.f}, {1});
}

}  // namespace

TEST_CASE("ownership on the CPU") {
  OwnershipCases{[] { return std::make_unique<ApplicationHost>(1); }, "cpu", "counter", "test_add"}
      .all();
}

TEST_CASE("ownership: sessions share one graph and constant data until the graph is edited") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1});
  const auto w = graph.variable("w", one());
  graph.output("y", graph.add("test_add", {x, w}));
  const Session a(graph), b(graph);
  const auto shared = [](const Session& session) {
    return impl_of(impl_of(session).graph).current;
  };
  CHECK(shared(a) == shared(b));
  CHECK(a.tensor(w).data() == graph.tensor(w).data());
  graph.output("z", graph.add("test_add", {x, x}));
  const Session c(graph);
  CHECK(shared(c) != shared(a));
  CHECK(shared(a)->model.outputs.size() == 1);
  CHECK(c.tensor(w).data() == a.tensor(w).data());
}

TEST_CASE("ownership: sessions share indices that were widened") {
  ApplicationHost host;
  Graph graph(host);
  const auto narrow =
      cast_storage(Tensor::from({1.f, 0.f, 0.f, 2.f}, {2, 2}), tenon::Storage::csr, tenon::i32);
  const auto w = graph.variable("w", narrow);
  graph.output("y", graph.add("cast_storage", {w}, {{"storage", "dense"}}));
  const Session a(graph), b(graph);
  CHECK(a.tensor(w).columns().dtype() == tenon::i64);
  CHECK(a.tensor(w).columns().data() == b.tensor(w).columns().data());
  CHECK(a.tensor(w).stored_values().data() == b.tensor(w).stored_values().data());
  CHECK(graph.tensor(w).columns().dtype() == tenon::i32);
  graph.output("z", w);
  CHECK(same_bits(Session(graph).run({}).at("y"), Tensor::from({1.f, 0.f, 0.f, 2.f}, {2, 2})));
}

TEST_CASE("ownership: a session infers missing values and shapes without changing the graph") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("fully_connected", {graph.input("x", tenon::f32, {-1, -1})},
                              {{"num_hidden", 3}}, "fc"));
  const auto before = graph.to_json();
  Session session(graph, {.seed = 7});
  CHECK_FALSE(session.tensor("fc_weight"));
  session.run({{"x", Tensor::zeros(tenon::f32, {2, 4})}});
  CHECK(graph.to_json() == before);
  CHECK_FALSE(graph.tensor(graph.find("fc_weight")));
  CHECK(session.tensor("fc_weight").shape() == tenon::Shape{3, 4});
  auto made = session.graph();
  CHECK(made.shape(made.find("fc_weight")) == tenon::Shape{3, 4});
  CHECK(same_bits(made.tensor(made.find("fc_weight")), session.tensor("fc_weight")));
  CHECK(session.run({{"x", Tensor::zeros(tenon::f32, {5, 4})}}).at("y").shape() ==
        tenon::Shape{5, 3});
  const auto failure = failure_of([&] { session.run({{"x", Tensor::zeros(tenon::f32, {5, 6})}}); });
  CHECK(failure.message.find("[5, 6]") != std::string::npos);
}

TEST_CASE("ownership: a second thread in a session is refused") {
  ApplicationHost host;
  host.add<probes::Copy>("waits");
  Graph graph(host);
  graph.output("y", graph.add("waits", {graph.input("x", tenon::f32, {1})}));
  Session session(graph);
  const std::function<void()> uses[] = {
      [&] {
                                          session.run({{"x", one()}}); }, [&] {
                                          session.first_non_finite({{"x", one()}}); },
      [&] { session.plan_bytes({}); },      [&] { (void)session.graph(); },
      [&] { (void)session.tensor("x"); },   [&] { (void)session.step(); },
      [&] { session.set_step(3); }};
  const auto use_all = [&] {
    for (const auto& use : uses) {
      const auto failure = failure_of(use);
      CHECK(failure.kind == 2);
      CHECK(failure.message.find("the session is in use by another thread") != std::string::npos);
    }
  };
  probes::Copy::hold([&] { session.run({{"x", one()}}); }, use_all);
  CHECK(session.run({{"x", one()}}).size() == 1);
}

TEST_CASE("ownership: values belong to their graph, and to clones made after them") {
  ApplicationHost host;
  Graph graph(host), other(host);
  const auto x = graph.input("x", tenon::f32, {5});
  const auto z = other.input("z", tenon::f32, {5});
  auto clone = graph.clone();
  const auto later = graph.add("cosine", {x});
  const std::function<void()> refused[] = {
      [&] { graph.add("cosine", {z}); },
      [&] { graph.output("y", z); },
      [&] { graph.gradient(later, {z}); },
      [&] { clone.add("cosine", {later}); },
      [&] { graph.update(z, x); },
      [&] { graph.tensor(z); },
      [&] { graph.shape(z); },
      [&] { graph.dtype(z.output(1)); },
      [&] { graph.add("cosine", {clone.input("new", tenon::f32, {5})}); },
      [&] { (void)Session(graph).tensor(z); },
  };
  for (const auto& use : refused) {
    const auto failure = failure_of(use);
    CHECK(failure.kind == 2);
    CHECK(failure.message.find("the value belongs to another graph") != std::string::npos);
  }
  clone.output("y", clone.add("cosine", {x}));
  CHECK(clone.clone().shape(x) == tenon::Shape{5});
  CHECK(graph.clone().shape(clone.clone().find("x")) == tenon::Shape{5});
}

TEST_CASE(
    "ownership: a session returns variables, states and constants, and refuses other values") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1});
  const auto y = graph.add("test_add", {x, graph.constant("c", one())}, {}, "sum");
  graph.output("y", y);
  const Session session(graph);
  CHECK(same_bits(session.tensor("c"), one()));
  struct Row {
    std::function<void()> use;
    const char* words;
  };
  const Row rows[] = {
      {[&] { (void)session.tensor(x); }, "'x' is an input"},
      {[&] { (void)session.tensor(y); }, "'sum' is computed by a node"},
      {[&] { (void)session.tensor("none"); }, "none"},
      {[&] { (void)session.tensor(tenon::Value()); }, "an empty value has no elements"}};
  for (const auto& row : rows) {
    const auto failure = failure_of(row.use);
    CHECK(failure.kind == 2);
    CHECK(failure.message.find(row.words) != std::string::npos);
  }
}
