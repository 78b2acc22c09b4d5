// Inference with the elements of small inputs: constants in graphs, all inputs in eager calls.
#include <doctest/doctest.h>

#include <numeric>
#include <tenon/host/draw.hpp>
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

/// Counts whether its kernel ran in a run.
struct ShapeOf : Operator {
  static inline int calls = 0;
  static constexpr void describe(auto& op) {
    op.doc("the shape of x");
    op.types({f32});
    op.input("x", "any shape").shape_only();
    op.output("shape", "int64 [rank of x]");
    op.backward_reads();
  }
  void infer(Infer& io) const {
    const auto x = io.input(0).shape;
    io.set_output(0, {x.has_rank() ? x.rank() : unknown}, i64);
  }
  void forward(const Call& call) const {
    ++calls;
    for (int axis = 0; axis < call.input_type(0).shape.rank(); ++axis)
      call.output<std::int64_t>(0)[axis] = call.input_type(0).shape[axis];
  }
};

struct Reversed : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x from its end");
    op.types({i64});
    op.input("x", "[n]");
    op.output("y", "[n]");
    op.backward_reads();
  }
  void forward(const Call& call) const {
    const auto x = call.input<std::int64_t>(0);
    std::reverse_copy(x.begin(), x.end(), call.output<std::int64_t>(0).begin());
  }
};

/// Reads its elements as a wrong dtype.
struct WrongDtype : probes::ReshapeTo {
  void infer(Infer& io) const { io.values<std::int32_t>(1); }
};

struct SumOfTwo : Operator {
  static constexpr void describe(auto& op) {
    op.doc("left + right");
    op.types({f32});
    op.input("left", "any shape");
    op.input("right", "the same shape");
    op.output("sum", "the same shape");
  }
  void infer(Infer& io) const { io.require_same_shape("left", "right", "sum"); }
  void forward(const Call&) const {}
};

/// x with a weight of its shape.
struct WithWeight : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x");
    op.types({f32});
    op.input("x", "any shape");
    op.input("weight", "the shape of x").weight();
    op.output("y", "the shape of x");
    op.backward_reads();
  }
  void infer(Infer& io) const { io.require_same_shape("x", "weight", "y"); }
  void forward(const Call&) const {}
};

struct SumOfAll : Operator {
  static constexpr void describe(auto& op) {
    op.doc("the sum of x");
    op.types({f32});
    op.input("x", "[n]");
    op.output("y", "[1]");
    op.backward_reads();
  }
  void infer(Infer& io) const { io.set_output(0, {1}); }
  void forward(const Call& call) const {
    const auto x = call.input<float>(0);
    call.output<float>(0)[0] = std::accumulate(x.begin(), x.end(), 0.0F);
  }
};

/// The sum of x, several times: its own type does not depend on the elements of `times`.
struct SumOfRepeated : Operator {
  static constexpr void describe(auto& op) {
    op.doc("the sum of x, several times");
    op.types({f32});
    op.input("x", "[n]");
    op.input("times", "[1]").types({i64});
    op.output("y", "[1]");
  }
  void infer(Infer& io) const { io.set_output(0, {1}); }
  void forward(Compose& graph) const {
    const auto repeated = graph.add("repeated", {graph.input("x"), graph.input("times")});
    graph.set_output(0, graph.add("sum_of_all", {repeated}));
  }
};

struct ValueHost : ApplicationHost {
  ValueHost() {
    add<probes::ReshapeTo>("reshape_to");
    add<WrongDtype>("wrong_dtype");
    add<ShapeOf>("shape_of");
    add<Reversed>("reversed");
    add<SumOfTwo>("sum_of_two");
    add<probes::Repeated>("repeated");
    add<WithWeight>("with_weight");
    add<SumOfAll>("sum_of_all");
    add<SumOfRepeated>("sum_of_repeated");
  }
};

Tensor shape_tensor(const std::vector<std::int64_t>& dims) {
  return Tensor::from(dims, {static_cast<std::int64_t>(dims.size())});
}

}  // namespace

TEST_CASE("known values: a graph's shapes depend on the elements of constants") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {6});
  const auto y = graph.add("reshape_to", {x, graph.constant("to", shape_tensor({2, 3}))}, {}, "r");
  CHECK(graph.shape(y) == Shape{2, 3});
  graph.output("y", y);
  CHECK(Session(graph).run({{"x", vector_of({1, 2, 3, 4, 5, 6})}}).at("y").shape() == Shape{2, 3});
  auto loaded = Graph::from_bytes(host, graph.to_bytes());
  CHECK(Session(loaded).run({{"x", vector_of({1, 2, 3, 4, 5, 6})}}).at("y").shape() == Shape{2, 3});
}

TEST_CASE("known values: elements passed to a run are known when it begins") {
  ValueHost host;
  Graph graph(host);
  const auto y =
      graph.add("reshape_to", {graph.input("x", f32, {6}), graph.input("to", i64, {2})}, {}, "r");
  CHECK_FALSE(graph.shape(y).has_rank());
  graph.output("y", y);
  Session session(graph);
  CHECK(session.run({{"x", vector_of({1, 2, 3, 4, 5, 6})}, {"to", shape_tensor({2, 3})}})
            .at("y")
            .shape() == Shape{2, 3});
}

TEST_CASE(
    "known values: results that depend on shapes are computed at planning time, for each "
    "combination of shapes") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, -1});
  const auto turned = graph.add("reversed", {graph.add("shape_of", {x})});
  const auto y = graph.add("reshape_to", {x, turned}, {}, "r");
  graph.output("y", graph.add("sum_of_two", {y, y}));
  Session session(graph);
  ShapeOf::calls = 0;
  CHECK(session.run({{"x", Tensor::zeros(f32, {2, 3})}}).at("y").shape() == Shape{3, 2});
  CHECK(session.run({{"x", Tensor::zeros(f32, {4, 3})}}).at("y").shape() == Shape{3, 4});
  CHECK(session.run({{"x", Tensor::zeros(f32, {2, 3})}}).at("y").shape() == Shape{3, 2});
  CHECK(ShapeOf::calls == 2);
  CHECK(session.plan({{"x", {2, 3}}}).steps.size() == 2);
}

TEST_CASE("known values: later runs follow what the application writes to a constant") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto to = graph.add("reversed", {graph.constant("to", shape_tensor({2, 3}))});
  graph.output("reshaped", graph.add("reshape_to", {x, to}));
  graph.output("repeated", graph.add("repeated", {x, graph.constant("times", shape_tensor({1}))}));
  std::vector<std::int64_t> memory{1};
  graph.output("again",
               graph.add("repeated",
                         {x, graph.constant("borrowed", Tensor::borrow(memory.data(), i64, {1}))}));
  Session session(graph);
  const auto check = [&](const Shape& reshaped, std::int64_t repeated, std::int64_t again) {
    for (int round = 0; round < 3; ++round) {
      const auto made = session.run({{"x", vector_of({1, 2, 3, 4, 5, 6})}});
      CHECK(made.at("reshaped").shape() == reshaped);
      CHECK(made.at("repeated").shape() == Shape{repeated});
      CHECK(made.at("again").shape() == Shape{again});
    }
  };
  check({3, 2}, 6, 6);
  const auto made = impl_of(session).plans.made();
  auto handle = session.tensor("to");
  check({3, 2}, 6, 6);
  CHECK(impl_of(session).plans.made() == made);
  handle.data<std::int64_t>()[0] = 1, handle.data<std::int64_t>()[1] = 6;
  check({6, 1}, 6, 6);
  graph.tensor("times").data<std::int64_t>()[0] = 2;
  check({6, 1}, 12, 6);
  memory[0] = 3;
  check({6, 1}, 12, 18);
  handle.data<std::int64_t>()[0] = 6, handle.data<std::int64_t>()[1] = 1;
  check({1, 6}, 12, 18);
}

TEST_CASE("known values: shapes inferred from a constant follow writes to it, or sessions refuse") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {6});
  const auto to = graph.constant("to", shape_tensor({2, 3}));
  const auto reshaped = graph.add("reshape_to", {x, to});
  std::vector<std::int64_t> memory{1};
  const auto times = graph.constant("times", Tensor::borrow(memory.data(), i64, {1}));
  const auto repeated = graph.add("repeated", {x, times});
  graph.output("reshaped", reshaped);
  graph.output("repeated", repeated);
  const NamedTensors inputs{{"x", vector_of({1, 2, 3, 4, 5, 6})}};
  auto clone = graph.clone();
  Session before(graph), trusting(graph, {.constant_weights = true});
  const auto check = [&](Session& session, const Shape& expected, std::int64_t size) {
    const auto outputs = session.run(inputs);
    CHECK(outputs.at("reshaped").shape() == expected);
    CHECK(outputs.at("repeated").shape() == Shape{size});
  };
  check(before, {2, 3}, 6);
  const auto refuse = [&](Session& session, const std::string& name) {
    const auto failure = failure_of([&] { session.run(inputs); });
    CHECK(failure.kind == static_cast<int>(FailureKind::usage));
    check_says(failure.message, {"constant '" + name +
                                 "' determined shapes of the session, but has been "
                                 "written to since the session was created"});
  };

  memory[0] = 2;
  refuse(before, "times");
  refuse(before, "times");
  CHECK(graph.shape(repeated) == Shape{12});
  CHECK(graph.info(repeated).shape == Shape{12});
  CHECK(graph.outputs().at(1).shape == Shape{12});
  CHECK(clone.shape(repeated) == Shape{12});
  Session after(graph), again(graph);
  check(after, {2, 3}, 12);
  memory[0] = 1;
  check(before, {2, 3}, 6);
  memory[0] = 2;

  auto handle = graph.tensor(to);
  handle.data<std::int64_t>()[0] = 3, handle.data<std::int64_t>()[1] = 2;
  refuse(after, "to");
  refuse(again, "to");  // even before its first run
  CHECK(graph.shape(reshaped) == Shape{3, 2});
  Session newest(graph);
  check(newest, {3, 2}, 12);
  newest.tensor("to").data<std::int64_t>()[1] = -5;
  refuse(newest, "to");
  CHECK_THROWS_AS(graph.shape(reshaped), Failure);  // [3, -5]
  CHECK_THROWS_AS(Session{graph}, Failure);
  CHECK_THROWS_AS(graph.add("sum_of_two", {reshaped, reshaped}), Failure);
  CHECK_THROWS_AS(graph.add("sum_of_two", {reshaped, reshaped}), Failure);
  handle.data<std::int64_t>()[0] = 6, handle.data<std::int64_t>()[1] = 1;
  CHECK(graph.shape(graph.add("sum_of_two", {reshaped, reshaped}, {}, "sum")) == Shape{6, 1});
  auto loaded = Graph::from_bytes(host, graph.to_bytes());
  CHECK(loaded.shape(loaded.find("sum")) == Shape{6, 1});
  Session of_loaded(loaded);
  check(of_loaded, {6, 1}, 12);
  handle.data<std::int64_t>()[0] = 1, handle.data<std::int64_t>()[1] = 6;
  Session of_file(loaded = Graph::from_bytes(host, graph.to_bytes()));
  check(of_file, {1, 6}, 12);
  check(of_loaded, {6, 1}, 12);
}

TEST_CASE("known values: a loaded graph follows writes to its constants, bound or not") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {6});
  graph.output("y", graph.add("reshape_to", {x, graph.constant("to", shape_tensor({2, 3}))}));
  const auto bytes = graph.to_bytes();
  const auto write = [](Tensor sizes) {
    sizes.data<std::int64_t>()[0] = 3, sizes.data<std::int64_t>()[1] = 2;
  };
  const auto check = [&](Graph changed) {
    for (auto each : {changed.clone(), std::move(changed)}) {
      CHECK(each.outputs().at(0).shape == Shape{3, 2});
      CHECK(draw_graph(each).find("[3, 2]") != std::string::npos);
      CHECK(Session(each).run({{"x", vector_of({1, 2, 3, 4, 5, 6})}}).at("y").shape() ==
            Shape{3, 2});
      auto again = Graph::from_bytes(host, each.to_bytes());
      again.bind();
      CHECK(again.outputs().at(0).shape == Shape{3, 2});
    }
  };
  for (const std::string how : {"unbound", "bound", "session's handle", "edited"}) {
    CAPTURE(how);
    auto loaded = Graph::from_bytes(host, bytes);
    if (how == "bound") loaded.bind();
    if (how == "session's handle")
      write(Session(loaded).tensor("to"));
    else
      write(loaded.tensor(loaded.find("to")));
    if (how == "edited") loaded.add("shape_of", {loaded.find("reshape_to")});
    check(std::move(loaded));
  }
}

TEST_CASE("known values: what inputs, variables and states learned follows writes to constants") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {6});
  const auto other = graph.input("other", f32, {-1, -1});
  const auto declared = graph.input("declared", f32, {2, 3});
  auto sizes = shape_tensor({2, 3});
  const auto reshaped = graph.add("reshape_to", {x, graph.constant("to", sizes)});
  graph.output("y", graph.add("sum_of_two", {reshaped, other}));
  graph.output("w", graph.add("with_weight", {reshaped}, {}, "w"));
  CHECK(graph.shape(other) == Shape{2, 3});
  CHECK(graph.shape(graph.find("w_weight")) == Shape{2, 3});
  sizes.data<std::int64_t>()[0] = 3, sizes.data<std::int64_t>()[1] = 2;
  CHECK(graph.shape(other) == Shape{3, 2});
  CHECK(graph.inputs().at(1).shape == Shape{3, 2});
  CHECK(graph.shape(graph.find("w_weight")) == Shape{3, 2});
  graph.bind();
  CHECK(graph.shape(other) == Shape{3, 2});
  sizes.data<std::int64_t>()[0] = 2, sizes.data<std::int64_t>()[1] = 3;
  graph.output("z", graph.add("sum_of_two", {reshaped, declared}));
  sizes.data<std::int64_t>()[0] = 3, sizes.data<std::int64_t>()[1] = 2;
  CHECK_THROWS_AS(Session{graph}, Failure);  // the application declared [2, 3]
}

TEST_CASE("known values: constants that share memory are distinguished") {
  ValueHost host;
  std::vector<std::int64_t> memory{1, 6};
  Graph graph(host);
  const auto x = graph.input("x", f32, {6});
  const auto constant = [&](const char* name, std::int64_t size) {
    return graph.constant(name, Tensor::borrow(memory.data(), i64, {size}));
  };
  graph.output("repeated", graph.add("repeated", {x, constant("times", 1)}));
  const auto reshaped = graph.add("reshape_to", {x, constant("to", 2)});
  graph.output("reshaped", reshaped);
  Session session(graph);
  memory[1] = 3;
  CHECK(graph.shape(reshaped) == Shape{1, 3});
  CHECK(failure_of([&] {
          session.run({{"x", vector_of({1, 2, 3, 4, 5, 6})}});
        }).message.starts_with("constant 'to'"));
}

TEST_CASE("known values: sessions notice what nodes inside a composed operator have read") {
  ValueHost host;
  Graph graph(host);
  auto times = shape_tensor({1});
  const auto sum =
      graph.add("sum_of_repeated", {graph.input("x", f32, {3}), graph.constant("times", times)});
  graph.output("y", sum);
  const NamedTensors inputs{{"x", vector_of({1, 2, 3})}};
  const auto y = [&](Session& session) { return session.run(inputs).at("y").values<float>()[0]; };
  Session session(graph);
  auto optimized = session.optimized();
  CHECK(y(session) == 6);
  times.data<std::int64_t>()[0] = 2;
  check_says(failure_of([&] { session.run(inputs); }).message, {"constant 'times'", "session"});
  CHECK_THROWS_AS(session.optimized(), Failure);
  Session of_graph(graph), of_optimized(optimized);
  CHECK(y(of_graph) == 12);
  CHECK(y(of_optimized) == 12);
}

TEST_CASE("known values: such a value can be requested like any other output") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, -1});
  const auto shape = graph.add("shape_of", {x}), turned = graph.add("reversed", {shape});
  graph.output("y", graph.add("reshape_to", {x, turned}));
  graph.output("turned", turned);
  graph.output("shape", shape);
  const auto made = Session(graph).run({{"x", Tensor::zeros(f32, {2, 3})}});
  CHECK(made.at("y").shape() == Shape{3, 2});
  CHECK(made.at("turned").values<std::int64_t>()[0] == 3);
  CHECK(made.at("shape").values<std::int64_t>()[0] == 2);
}

TEST_CASE("known values: long shape arithmetic is computed in the run, with the same results") {
  ValueHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, -1});
  auto shape = graph.add("shape_of", {x});
  for (int i = 0; i < 301; ++i) shape = graph.add("reversed", {shape});
  graph.output("y", graph.add("reshape_to", {x, shape}));
  CHECK(Session(graph).run({{"x", Tensor::zeros(f32, {2, 3})}}).at("y").shape() == Shape{3, 2});
}

TEST_CASE(
    "known values: eager calls of one signature have the shapes that each call's elements "
    "determine") {
  ValueHost host;
  const auto x = vector_of({1, 2, 3, 4, 5, 6});
  for (const auto& dims : {std::vector<std::int64_t>{2, 3}, {3, 2}, {6, 1}})
    CHECK(host.call("reshape_to", {x, shape_tensor(dims)}).shape() == Shape(dims.data(), 2));
  CHECK(failure_of([&] {
          host.prepare("reshape_to", {Argument::like(x), Argument::like(shape_tensor({2, 3}))});
        }).hint.find("depends on elements of an input") != std::string::npos);
}

TEST_CASE("known values: elements can only be read as their dtype") {
  ValueHost host;
  check_says(failure_of([&] {
               host.call("wrong_dtype", {vector_of({1}), shape_tensor({1})});
             }).message,
             {"input 'shape' is int64", "infer() reads its elements as int32"});
}

TEST_CASE(
    "require_same_shape shares known dimensions among all names, and refuses contradictions") {
  ValueHost host;
  Graph graph(host);
  const auto left = graph.input("left", f32, Shape()), right = graph.input("right", f32, {-1, 4});
  const auto sum = graph.add("sum_of_two", {left, right});
  CHECK(graph.shape(left) == Shape{-1, 4});
  CHECK(graph.shape(sum) == Shape{-1, 4});
  CHECK(failure_of([&] {
          graph.add("sum_of_two", {left, graph.input("other", f32, {3, 5})});
        }).message.find("but needs") != std::string::npos);
}

namespace {

/// Declares the dtype of its output on one path only.
struct LateDtype : probes::Copy {
  void infer(Infer& io) const {
    if (io.input(0).shape.has_rank()) io.set_output(0, io.input(0).shape, i32);
  }
};

}  // namespace

TEST_CASE("an output whose dtype is declared on one path only is refused with a fix") {
  ValueHost host;
  host.add<LateDtype>("late_dtype");
  Graph graph(host);
  const auto x = graph.input("x", f32, Shape());
  graph.add("late_dtype", {x}, {}, "late");
  const auto failure = failure_of([&] {
    graph.add("sum_of_two", {x, graph.input("y", f32, {2})});
  });
  CHECK(failure.message.find("late") != std::string::npos);
  CHECK(failure.message.find("must name the output's dtype on every path") != std::string::npos);
}
