// Outputs that kernels allocate, and graphs whose shapes depend on elements: they are planned stage
// by stage.
#include <doctest/doctest.h>

#include <functional>
#include <tenon/host/batched_run.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// The elements above 0.
struct Positives : Operator {
  std::int32_t fault = 0;  // the fault of forward; 0: none
  static constexpr void describe(auto& op) {
    op.doc("the elements above 0");
    op.types({f32});
    op.input("x", "any shape");
    op.output("values", "[count]").allocated();
    op.output("indices", "[count]").allocated();
    op.param("fault", &Positives::fault, "0: none");
    op.backward_reads("indices");
  }
  void infer(Infer& io) const {
    io.set_output("values", {unknown});
    io.set_output("indices", {unknown}, i64);
  }
  void forward(const Call& call) const {
    const auto x = call.input<float>(0);
    const auto count = std::count_if(x.begin(), x.end(), [](float value) { return value > 0; });
    if (fault == 1) return;
    if (fault == 2) call.allocate<float>(0, {count, 1});
    if (fault == 3) call.allocate<float>(0, {INT64_MAX / 2});
    if (fault == 4) call.allocate<double>(0, {count});
    if (fault == 5) call.output<float>(0);
    const auto values = call.allocate<float>(0, {count});
    if (fault == 6) call.allocate<float>(0, {count});
    const auto indices = call.allocate<std::int64_t>(1, {count});
    for (std::int64_t i = 0, next = 0; i < x.size(); ++i)
      if (x[i] > 0) values[next] = x[i], indices[next++] = i;
  }
  void backward(const Call& call) const {
    const auto dx = call.input_grad<float>(0);
    std::fill(dx.begin(), dx.end(), 0.0f);
    if (!call.has_output_grad(0)) return;
    const auto dy = call.output_grad<float>(0);
    const auto indices = call.output_value<std::int64_t>(1);
    for (std::int64_t i = 0; i < dy.size(); ++i) dx[indices[i]] = dy[i];
  }
};

struct Sizes : Operator {
  static constexpr void describe(auto& op) {
    op.doc("the shape of x, reversed");
    op.types({f32});
    op.input("x", "any shape");
    op.output("shape", "[rank]");
  }
  void infer(Infer& io) const {
    const auto x = io.input(0).shape;
    io.set_output(0, x.has_rank() ? Shape{x.rank()} : Shape{unknown}, i64);
  }
  void forward(const Call& call) const {
    const auto x = call.input<float>(0).shape();
    std::reverse_copy(x.begin(), x.end(), call.output<std::int64_t>(0).begin());
  }
  void gradient(Gradient&) const {}
};

/// x, of exactly 3 elements.
struct Three : probes::Copy {
  void infer(Infer& io) const {
    io.set_input(0, {3});
    io.set_output(0, {3});
  }
};

struct AllocatingHost : Host {
  AllocatingHost() : Host(ApplicationHost::options(2)) {
    add_plugins(TENON_TEST_PLUGINS);
    add<Positives>("positives");
    add<probes::ReshapeTo>("shaped");
    add<Sizes>("sizes");
    add<Three>("three");
  }
};

using FloatList = std::vector<float>;

}  // namespace

TEST_CASE("allocated: eager calls return the kernel's outputs, of another size each time") {
  AllocatingHost host;
  for (const auto& x : {vector_of({1, -2, 3}), vector_of({-1, -2, -3}), vector_of({4, 5, 6})}) {
    FloatList values;
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < 3; ++i)
      if (const float value = x.values<float>()[static_cast<std::size_t>(i)]; value > 0)
        values.push_back(value), indices.push_back(i);
    const auto made = host.call_all("positives", {x});
    CHECK(floats_of(made[0]) == values);
    CHECK(std::ranges::equal(made[1].values<std::int64_t>(), indices));
  }
}

TEST_CASE("allocated: a prepared call returns the gradient of kernel-allocated outputs") {
  AllocatingHost host;
  auto call = host.prepare("positives", {Argument::like(vector_of({0, 0, 0}))});
  CHECK(call.outputs()[0].storage == Storage::dense);
  for (const float first : {-1.0f, 7.0f}) {
    const Tensor inputs[] = {vector_of({first, -2, 3})};
    std::vector<Tensor> made(2);
    call.forward(inputs, made);
    const Tensor grads[] = {first > 0 ? vector_of({10, 20}) : vector_of({20}), Tensor()};
    const auto dx = call.backward(grads, inputs, made);
    CHECK(floats_of(dx[0]) == FloatList{first > 0 ? 10.0f : 0.0f, 0, 20});
  }
}

TEST_CASE("allocated: a graph continues with the actual shapes") {
  AllocatingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto positives = graph.add("positives", {x}, {}, "positives"),
             indices = graph.find("positives:indices");
  const auto doubled = graph.add("add", {positives, positives}, {}, "doubled");
  graph.output("early", graph.add("add", {x, x}, {}, "early"));
  graph.output("values", positives);
  graph.output("again", positives);
  graph.output("doubled", doubled);
  graph.output("indices", indices);
  graph.output("x", x);
  const auto loaded = Graph::from_bytes(host, graph.to_bytes());
  for (const auto& each : {graph, loaded}) {
    Session session(each);
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto made = session.run({{"x", vector_of({1, -2, 3})}});
      CHECK(floats_of(made.at("early")) == FloatList{2, -4, 6});
      CHECK(floats_of(made.at("values")) == FloatList{1, 3});
      CHECK(floats_of(made.at("again")) == FloatList{1, 3});
      CHECK(floats_of(made.at("doubled")) == FloatList{2, 6});
      CHECK(floats_of(made.at("x")) == FloatList{1, -2, 3});
      CHECK(made.size() == 6);
      made = session.run({{"x", vector_of({-1, -2})}});
      CHECK(made.at("doubled").shape() == Shape{0});
      CHECK(made.at("indices").shape() == Shape{0});
    }
    CHECK(floats_of(session.run({{"x", vector_of({5, -2, 3})}}, {.outputs = {"doubled"}})
                        .at("doubled")) == FloatList{10, 6});
    CHECK(session.run({{"x", vector_of({5, -2, 3})}}, {.outputs = {"early"}}).size() == 1);
  }
}

TEST_CASE("allocated: stages follow each other as needed, and read values of any earlier stage") {
  AllocatingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto twice = graph.add("add", {x, x}, {}, "twice");
  const auto once = graph.add("positives", {x}, {}, "once");
  const auto less = graph.add("sub", {once, graph.constant("two", vector_of({2}))}, {}, "less");
  const auto again = graph.add("positives", {less}, {}, "again");
  graph.output("sum", graph.add("add", {graph.add("sum", {again}), graph.add("sum", {twice})}, {},
                                "sum_of_sums"));
  Session session(graph);
  CHECK(first_of(session.run({{"x", vector_of({1, -2, 3, 10})}}).at("sum")) == (1 + 8) + 2 * 12);
  CHECK(first_of(session.run({{"x", vector_of({1, 1})}}).at("sum")) == 4);
  const auto plan = session.plan({{"x", {4}}});
  CHECK(plan.later == std::vector<std::string>{"less", "again", "sum", "sum_of_sums"});
  CHECK(
      describe(plan).find("then 4 nodes that are planned when the shapes are known: less, again") !=
      std::string::npos);
}

TEST_CASE("allocated: gradients pass through kernel-allocated outputs") {
  AllocatingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto positives = graph.add("positives", {x}, {}, "positives");
  const auto loss = graph.add("sum", {graph.add("square", {positives})}, {}, "loss");
  graph.output("dx", graph.gradient(loss, {x})[0]);
  graph.output("direct", graph.gradient(graph.add("sum", {positives}, {}, "plain"), {x})[0]);
  Session session(graph, {.training = true});
  for (const auto& given : {FloatList{1, -2, 3}, FloatList{-4, 5, 6, 7}}) {
    FloatList expected, ones;
    for (const float value : given)
      expected.push_back(value > 0 ? 2 * value : 0), ones.push_back(value > 0 ? 1 : 0);
    const auto made = session.run({{"x", Tensor::from(given, {std::ssize(given)})}});
    CHECK(floats_of(made.at("dx")) == expected);
    CHECK(floats_of(made.at("direct")) == ones);
  }
}

TEST_CASE("allocated: variables are updated after every stage has read the old values") {
  AllocatingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto weight = graph.variable("w", vector_of({2}));
  const auto raised =
      graph.add("add", {weight, graph.constant("one", vector_of({1}))}, {}, "raised");
  graph.update(weight, raised);
  const auto positives = graph.add("positives", {x}, {}, "positives");
  graph.output("y", graph.add("mul", {positives, weight}, {}, "y"));
  Session session(graph, {.training = true});
  CHECK(floats_of(session.run({{"x", vector_of({1, -1, 3})}}).at("y")) == FloatList{2, 6});
  CHECK(floats_of(session.run({{"x", vector_of({1, -1, 3})}}).at("y")) == FloatList{3, 9});
  CHECK(first_of(session.tensor("w")) == 4);
}

TEST_CASE("allocated: shapes depend on elements of inputs, variables and computed values") {
  AllocatingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, -1});
  graph.output("given", graph.add("shaped", {x, graph.input("to", i64, {-1})}, {}, "given"));
  const auto turned = graph.add("shaped", {x, graph.add("sizes", {x}, {}, "sizes")}, {}, "turned");
  graph.output("turned", turned);
  graph.output("dx", graph.gradient(graph.add("sum", {graph.add("square", {turned})}), {x})[0]);
  Session session(graph);
  const auto data = Tensor::from(FloatList{1, 2, 3, 4, 5, 6}, {2, 3});
  for (const auto& dims : {std::vector<std::int64_t>{6}, {1, 6}, {3, 2}, {6}}) {
    const auto made = session.run({{"x", data}, {"to", Tensor::from(dims, {std::ssize(dims)})}});
    CHECK(made.at("given").shape() == Shape(dims.data(), static_cast<int>(dims.size())));
    CHECK(made.at("turned").shape() == Shape{3, 2});
    CHECK(floats_of(made.at("dx")) == FloatList{2, 4, 6, 8, 10, 12});
  }
  Graph other(host);
  const auto size = other.variable("size", Tensor::from(std::vector<std::int64_t>{3, 2}, {2}));
  other.output("y", other.add("shaped", {other.constant("data", data), size}, {}, "y"));
  CHECK(Session(other).run({}).at("y").shape() == Shape{3, 2});
}

TEST_CASE("allocated: large tensors cannot determine shapes") {
  AllocatingHost host;
  Graph graph(host);
  graph.output("y", graph.add("shaped", {graph.input("x", f32, {6}), graph.input("to", i64, {-1})},
                              {}, "y"));
  Session session(graph);
  const auto failure = failure_of([&] {
    session.run({{"x", vector_of({1, 2, 3, 4, 5, 6})}, {"to", Tensor::zeros(i64, {9000})}});
  });
  check_says(failure.message,
             {"elements of 'to', which is int64 [9000]", "dense tensors of at most 65536 bytes"});
}

TEST_CASE("allocated: kernels that violate the allocation rules are named") {
  AllocatingHost host;
  const std::pair<std::int32_t, const char*> faults[] = {
      {1, "its kernel did not allocate output 0"},
      {2, "output 0: its kernel allocates [2, 1], but infer() gave [?]"},
      {3, "output 0: it needs more memory than can be counted"},
      {4, "output 'values' holds float32, but the kernel writes float64"},
      {5, "output 'values' has no memory yet"},
      {6, "output 0 has its memory already"},
  };
  for (const auto& each : faults) {
    const auto& fault = each.first;
    const auto& message = each.second;
    CAPTURE(fault);
    const Attributes attributes{{"fault", fault}};
    Graph graph(host);
    graph.output("y", graph.add("positives", {graph.input("x", f32, {3})}, attributes, "k"));
    Session session(graph);
    const auto x = vector_of({1, -2, 3});
    const auto in_graph = failure_of([&] { session.run({{"x", x}}); }).message;
    CHECK(in_graph.find("[positives] node 'k': ") == 0);
    CHECK(in_graph.find(message) != std::string::npos);
    const auto eager = failure_of([&] { host.call("positives", {x}, attributes); }).message;
    CHECK(eager.find(message) != std::string::npos);
  }
}

TEST_CASE("allocated: another size than a later node needs is reported with that node") {
  AllocatingHost host;
  Graph graph(host);
  const auto positives = graph.add("positives", {graph.input("x", f32, {-1})}, {}, "k");
  graph.output("y", graph.add("three", {graph.add("neg", {positives}, {}, "n")}, {}, "t"));
  Session session(graph);
  CHECK(floats_of(session.run({{"x", vector_of({1, 2, -3, 4})}}).at("y")) == FloatList{-1, -2, -4});
  const auto failure = failure_of([&] { session.run({{"x", vector_of({1, 2, -3})}}); });
  check_says(failure.message, {"output 0:", "kernel allocates [2]", "infer() gave [3]",
                               "[three] node 't' needs [3]"});
}

TEST_CASE("allocated: the known dimensions of such outputs restrict their uses") {
  AllocatingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  graph.output("positives", graph.add("positives", {x}, {}, "k"));
  graph.output("early", graph.add("add", {x, x}, {}, "e"));
  Session session(graph);
  const NamedTensors inputs{{"x", vector_of({1, -2, 3})}};
  CHECK(failure_of([&] {
          session.run(
              inputs,
              RunOptions{.destinations = {{"positives", {Tensor::zeros(f32, {2}), Write::to}}}});
        }).message.find("the kernel allocates the output") != std::string::npos);
  CHECK(failure_of([&] {
          session.run(
              inputs,
              RunOptions{.destinations = {{"nothing", {Tensor::zeros(f32, {2}), Write::to}}}});
        }).message.find("the graph has no such output") != std::string::npos);
  const auto place = Tensor::zeros(f32, {3});
  session.run(inputs, RunOptions{.destinations = {{"early", {place, Write::add}}}});
  CHECK(floats_of(place) == FloatList{2, -4, 6});
  CHECK(failure_of([&] {
          run_in_batches(session, {{"x", Tensor::zeros(f32, {8})}}, 4);
        }).message.find("output 'positives' cannot be joined") != std::string::npos);
}

TEST_CASE("allocated: a NaN is found in any stage") {
  AllocatingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto positives = graph.add("positives", {x}, {}, "positives");
  graph.output(
      "y",
      graph.add("log",
                {graph.add("sub", {positives, graph.constant("c", vector_of({5}))}, {}, "less")},
                {}, "log"));
  Session session(graph);
  CHECK(session.first_non_finite({{"x", vector_of({-1, 8})}}).empty());
  CHECK(session.first_non_finite({{"x", vector_of({-1, 2})}})
            .find("[log] node 'log': element 0 is nan") != std::string::npos);
}

TEST_CASE("nonzero finds the indices of all elements that are not 0") {
  AllocatingHost host;
  for (const Shape& shape :
       {Shape::scalar(), Shape{7}, Shape{0, 3}, Shape{2, 3, 4}, Shape{1, 5, 1, 2}}) {
    std::vector<std::int32_t> data(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = i % 3 == 1 ? 0 : static_cast<std::int32_t>(i) - 2;
    std::vector<std::int64_t> expected;
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data[i] == 0) continue;
      auto left = static_cast<std::int64_t>(i), inside = shape.size();
      for (int axis = 0; axis < shape.rank(); ++axis) {
        inside /= shape[axis];
        expected.push_back(left / inside);
        left %= inside;
      }
    }
    const auto found = host.call("nonzero", {Tensor::from(data, shape)});
    CHECK(found.shape()[1] == shape.rank());
    CHECK(std::ranges::equal(found.values<std::int64_t>(), expected));
  }
  CHECK(host.call("nonzero", {vector_of({0, NAN, -0.0f, 1e-40f})}).shape() == Shape{2, 1});
}
