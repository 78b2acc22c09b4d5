// Run-time sizes: shape arithmetic on them, branches of which one is checked, outputs of unknown
// rank.
#include <doctest/doctest.h>

#include <tenon/host/batched_run.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// x without its axes of size 1; only the kernel knows its rank.
struct SqueezeAll : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x without axes of size 1");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "x's elements").allocated();
    op.backward_reads();
  }
  void infer(Infer& io) const { io.set_output(0, Shape(), f32); }
  void forward(const Call& call) const {
    const auto x = call.input<float>(0);
    std::vector<std::int64_t> sizes;
    for (int axis = 0; axis < x.shape().rank(); ++axis)
      if (x.shape()[axis] != 1) sizes.push_back(x.shape()[axis]);
    std::ranges::copy(
        x, call.allocate<float>(0, Shape(sizes.data(), static_cast<int>(sizes.size()))).begin());
  }
};

struct LateHost : Host {
  LateHost() : Host(ApplicationHost::options(2)) {
    add_plugins(TENON_TEST_PLUGINS);
    add<SqueezeAll>("squeeze_all");
  }
};

using FloatVector = std::vector<float>;

/// x with 7 instead of its elements below 0.
Value masked(Graph& graph, Value x) {
  const auto zero = graph.constant("zero", Tensor::from({0.0F}, Shape::scalar()));
  const auto seven = graph.constant("seven", Tensor::from({7.0F}, Shape::scalar()));
  const auto found = graph.add("nonzero", {graph.add("less", {x, zero})});
  const auto count =
      graph.add("slice", {graph.add("shape", {found})}, {{"begin", {0}}, {"end", {1}}});
  return graph.add("scatter_nd", {x, found, graph.add("broadcast_to", {seven, count})});
}

/// y = op(x, weight) of a matrix x.
std::string with_weight(Host& host, const Tensor& weight, const char* op) {
  Graph graph(host);
  graph.output("y", graph.add(op, {graph.input("x", f32, {-1, -1}), graph.constant("w", weight)}));
  return graph.to_json();
}

std::string reduced(Host& host, bool whole) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, -1});
  graph.output("y", whole ? graph.add("neg", {x}) : graph.add("sum", {x}, {{"axis", {1}}}));
  return graph.to_json();
}

TEST_CASE("late sizes: masked assignment in runs and in batches") {
  LateHost host;
  Graph graph(host);
  graph.output("y", masked(graph, graph.input("x", f32, {-1})));
  for (const auto optimize : {Optimize::full, Optimize::none}) {
    Session session(graph, {.optimize = optimize});
    for (int run = 0; run < 2; ++run) {
      CHECK(floats_of(session.run({{"x", vector_of({1, -2, 3, -4})}}).at("y")) ==
            FloatVector{1, 7, 3, 7});
      CHECK(floats_of(session.run({{"x", vector_of({-1})}}).at("y")) == FloatVector{7});
      CHECK(floats_of(session.run({{"x", vector_of({1, 2})}}).at("y")) == FloatVector{1, 2});
      CHECK(floats_of(session.run({{"x", Tensor::zeros(f32, {0})}}).at("y")).empty());
    }
    const NamedTensors rows{{"x", vector_of({1, -2, 3, -4, -5})}};
    CHECK(floats_of(run_in_batches(session, rows, 2).at("y")) == FloatVector{1, 7, 3, 7, 7});
  }
}

TEST_CASE("late sizes: a kernel determines the rank of its output") {
  LateHost host;
  Graph graph(host);
  const auto y = graph.add("squeeze_all", {graph.input("x", f32, {-1, -1, -1})});
  graph.output("y", y);
  graph.output("negative", graph.add("neg", {y}));
  graph.output("sum", graph.add("sum", {y}));
  for (const bool debug : {false, true}) {
    Session session(graph, {.debug = debug});
    for (const auto& [shape, want] :
         std::initializer_list<std::pair<Shape, Shape>>{{{1, 2, 3}, {2, 3}},
                                                        {{1, 1, 1}, Shape::scalar()},
                                                        {{2, 3, 1}, {2, 3}},
                                                        {{2, 3, 4}, {2, 3, 4}},
                                                        {{1, 5, 1}, {5}}}) {
      const auto made = session.run({{"x", full(f32, shape, 2)}});
      CHECK(made.at("y").shape() == want);
      CHECK(made.at("negative").shape() == want);
      CHECK(floats_of(made.at("sum"))[0] == 2.0F * static_cast<float>(want.size()));
      CHECK(host.call("squeeze_all", {full(f32, shape, 2)}).shape() == want);
    }
  }
}

TEST_CASE("branches: a graph that does not fit matters only if it runs") {
  LateHost host;
  for (const char* op : {"if", "branch"}) {
    CAPTURE(op);
    Graph graph(host);
    const auto c = graph.input("c", boolean, Shape::scalar()), x = graph.input("x", f32, {-1, -1});
    const auto two = full(f32, {3, 2}, 1), other = full(f32, {4, 2}, 1);
    graph.output("y", graph.add(op, {c, x},
                                {{"then", with_weight(host, two, "matmul")},
                                 {"else", with_weight(host, other, "matmul")}}));
    Session session(graph);
    for (int run = 0; run < 3; ++run) {
      CHECK(
          floats_of(session.run({{"c", boolean_of(true)}, {"x", full(f32, {1, 3}, 1)}}).at("y")) ==
          FloatVector{3, 3});
      CHECK(
          floats_of(session.run({{"c", boolean_of(false)}, {"x", full(f32, {1, 4}, 1)}}).at("y")) ==
          FloatVector{4, 4});
      const auto wrong = failure_of([&] {
                           session.run({{"c", boolean_of(true)}, {"x", full(f32, {1, 4}, 1)}});
                         }).message;
      CHECK(wrong.find("in the graph 'then': ") != std::string::npos);
      const auto neither = failure_of([&] {
                             session.run({{"c", boolean_of(true)}, {"x", full(f32, {1, 5}, 1)}});
                           }).message;
      CHECK(neither.find("in the graph 'then': ") != std::string::npos);
    }
    CHECK(floats_of(host.call(op, {boolean_of(false), full(f32, {1, 4}, 1)},
                              {{"then", with_weight(host, two, "matmul")},
                               {"else", with_weight(host, other, "matmul")}})) ==
          FloatVector{4, 4});
  }
}

TEST_CASE("branches: they accept and return values of every dtype") {
  LateHost host;
  for (const auto dtype : {u16, i16, u32, u64, i8, f16, f64, c64, boolean}) {
    CAPTURE(name_of(dtype));
    Graph part(host);
    const auto data = part.input("x", dtype, {-1});
    part.output("y", part.add("slice", {data}, {{"begin", {1}}, {"end", {3}}}));
    Graph graph(host);
    const auto c = graph.input("c", boolean, Shape::scalar()), x = graph.input("x", dtype, {-1});
    for (const char* op : {"if", "branch"})
      graph.output(op, graph.add(op, {c, x}, {{"then", part.to_json()}, {"else", part.to_json()}}));
    for (const auto& [name, made] :
         Session(graph).run({{"c", boolean_of(true)}, {"x", Tensor::zeros(dtype, {4})}})) {
      CHECK(made.dtype() == dtype);
      CHECK(made.shape() == Shape{2});
    }
  }
}

TEST_CASE("branches: their graphs return values of different ranks") {
  LateHost host;
  Graph graph(host);
  const auto c = graph.input("c", boolean, Shape::scalar()), x = graph.input("x", f32, {-1, -1});
  const auto y =
      graph.add("branch", {c, x}, {{"then", reduced(host, true)}, {"else", reduced(host, false)}});
  graph.output("y", graph.add("square", {y}));
  graph.output("sizes", graph.add("shape", {y}));
  Session session(graph);
  for (int run = 0; run < 3; ++run) {
    const auto whole = session.run({{"c", boolean_of(true)}, {"x", full(f32, {2, 3}, 2)}});
    CHECK(whole.at("y").shape() == Shape{2, 3});
    CHECK(whole.at("sizes").shape() == Shape{2});
    CHECK(floats_of(session.run({{"c", boolean_of(false)}, {"x", full(f32, {2, 3}, 2)}}).at("y")) ==
          FloatVector{36, 36});
  }
  // A condition that depends on sizes is known at planning time.
  Graph sized(host);
  const auto data = sized.input("x", f32, {-1, -1});
  const auto columns =
      sized.add("slice", {sized.add("shape", {data})}, {{"begin", {1}}, {"end", {2}}});
  const auto one = sized.constant("one", Tensor::from({std::int64_t{1}}, {1}));
  const auto is_one = sized.add("equal", {columns, one});
  sized.output("y", sized.add("branch", {is_one, data},
                              {{"then", reduced(host, false)}, {"else", reduced(host, true)}}));
  Session planned(sized);
  for (int run = 0; run < 2; ++run) {
    CHECK(planned.run({{"x", full(f32, {2, 1}, 2)}}).at("y").shape() == Shape{2});
    CHECK(planned.run({{"x", full(f32, {2, 3}, 2)}}).at("y").shape() == Shape{2, 3});
  }
}

}  // namespace
