#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "graph/model.hpp"
#include "run/impl_access.hpp"
#include "temporary_folder.hpp"

using tenon::DType;
using tenon::Graph;
using tenon::Session;
using tenon::Tensor;
using tenon::Value;

namespace {

/// Its derivative comes from dual numbers.
struct Times : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left * right");
    op.input("left", "any shape");
    op.input("right", "broadcasts with left");
    op.output("product", "the broadcast shape");
  }
  template <class T>
  T operator()(T left, T right) const {
    return left * right;
  }
};

/// x * x * x; its gradient is a graph of other operators, so that it can be differentiated again.
struct Cube : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x * x * x");
    op.types({tenon::f64});
    op.input("x", "any shape");
    op.output("cube", "same shape as x");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<double>(0);
    const auto y = call.output<double>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i] * x[i];
  }
  void gradient(tenon::Gradient& g) const {
    const auto square = g.add("quadratic", {g.input(0)}, {{"a", 3.0}});
    g.set_input_grad(0, g.add("times", {square, g.output_grad(0)}));
  }
};

/// Has no gradient of any kind.
struct Staircase : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the largest integer that is not above x");
    op.types({tenon::f64});
    op.input("x", "any shape");
    op.output("floor", "same shape as x");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<double>(0);
    const auto y = call.output<double>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = std::floor(x[i]);
  }
};

/// Its backward reads an input that it did not declare.
struct Nosy : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x * x");
    op.types({tenon::f64});
    op.input("x", "any shape");
    op.output("square", "same shape as x");
    op.backward_reads();
  }
  void forward(const tenon::Call& call) const {
    for (std::int64_t i = 0; i < call.input<double>(0).size(); ++i)
      call.output<double>(0)[i] = call.input<double>(0)[i] * call.input<double>(0)[i];
  }
  void backward(const tenon::Call& call) const {
    for (std::int64_t i = 0; i < call.input<double>("x").size(); ++i)
      call.input_grad<double>(0)[i] = 2 * call.input<double>("x")[i];
  }
};

struct GradientHost : ApplicationHost {
  GradientHost() {
    add<Times>();
    add<Cube>();
    add<Staircase>();
    add<Nosy>();
  }
};

Tensor f64_tensor(std::initializer_list<double> values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

std::vector<double> values_of(const Tensor& tensor) {
  const auto values = tensor.values<double>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("gradient: derived, kernel and graph gradients mix in one chain") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {-1});
  const auto y = graph.add("cube", {graph.add("quadratic", {x}, {{"a", 1}, {"b", 2}}, "inner")}, {},
                           "outer");  // (x^2 + 2x)^3
  graph.output("dx", graph.gradient(y, {x})[0]);
  const auto dx = values_of(Session(graph).run({{"x", f64_tensor({-3, 0.5, 1})}}).at("dx"));
  for (std::size_t i = 0; i < 3; ++i) {
    const double at = std::vector<double>{-3, 0.5, 1}[i], inner = at * at + 2 * at;
    CHECK(dx[i] == doctest::Approx(3 * inner * inner * (2 * at + 2)));
  }
}

TEST_CASE("gradient: a second derivative through a gradient that is a graph") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  const auto first = graph.gradient(graph.add("cube", {x}), {x})[0];
  graph.output("second", graph.gradient(first, {x})[0]);
  CHECK(values_of(Session(graph).run({{"x", f64_tensor({2, -5})}}).at("second")) ==
        std::vector<double>{12, -30});
  const auto failure =
      failure_of([&] { graph.gradient(graph.find("second" + std::string()), {x}); });
  CHECK(failure.kind == 2);  // an output's name is not a value
}

TEST_CASE("gradient: values used many times, broadcast, twice by one node; none for constants") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {3});
  const auto scale = graph.input("scale", DType::f64, {1});
  const auto other = graph.input("other", DType::f64, {3});
  Value sum = graph.add("times", {x, x}, {}, "square");
  for (int i = 0; i < 6; ++i)
    sum = graph.add("times", {sum, scale}, {}, "step" + std::to_string(i));  // x^2 s^6
  const auto grads = graph.gradient(sum, {x, scale, other});
  CHECK(grads[2].empty());
  graph.output("dx", grads[0]);
  graph.output("dscale", grads[1]);
  const auto out = Session(graph).run(
      {{"x", f64_tensor({1, 2, 3})}, {"scale", f64_tensor({2})}, {"other", f64_tensor({0, 0, 0})}});
  CHECK(values_of(out.at("dx")) == std::vector<double>{128, 256, 384});
  CHECK(values_of(out.at("dscale")) == std::vector<double>{14 * 6 * 32});
}

TEST_CASE("gradient: sums are accumulated by kernels that can, without steps of their own") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {3});
  std::vector<Value> parts;
  Value loss = graph.add("quadratic", {x}, {{"b", 1}}, "part0");
  for (int i = 1; i < 5; ++i) {
    const auto part = graph.add("quadratic", {x}, {{"b", i + 1}}, "part" + std::to_string(i));
    loss = graph.add("times", {loss, part}, {}, "product" + std::to_string(i));  // 120 x^5
  }
  graph.output("dx", graph.gradient(loss, {x})[0]);
  Session session(graph);
  CHECK(values_of(session.run({{"x", f64_tensor({1, 2, -1})}}).at("dx")) ==
        std::vector<double>{600, 9600, 600});
  CHECK(session.describe_plan({}).find("sum_gradients") == std::string::npos);
}

TEST_CASE(
    "gradient: stop_gradient, integers and other outputs stop it; zero gradients leave no nodes") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  const auto y = graph.add(
      "times", {x, graph.stop_gradient(graph.add("quadratic", {x}, {{"a", 1}}))});  // x * [x^2]
  graph.output("dx", graph.gradient(y, {x})[0]);
  CHECK(values_of(Session(graph).run({{"x", f64_tensor({2, 3})}}).at("dx")) ==
        std::vector<double>{4, 9});
  const auto nodes = model_of(graph).nodes.size();
  CHECK(graph.gradient(graph.stop_gradient(x, "stopped"), {x})[0].empty());
  CHECK(model_of(graph).nodes.size() <= nodes + 2);
}

TEST_CASE(
    "gradient: an operator without one is named with the path to the loss, and the graph is "
    "unchanged") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  const auto floor =
      graph.add("staircase", {graph.add("quadratic", {x}, {{"a", 1}}, "before")}, {}, "step");
  const auto loss = graph.add("quadratic", {floor}, {{"b", 2}}, "after");
  const auto before = graph.to_json();
  const auto failure = failure_of([&] { graph.gradient(loss, {x}); });
  CHECK(failure.kind == 1);
  check_says(failure.message, {"[staircase] node 'step': has no gradient",
                               "'before' reaches the loss through it", "step -> after"});
  CHECK(graph.to_json() == before);
  CHECK(failure_of([&] { graph.gradient(Value(), {x}); }).kind == 2);
  check_says(failure_of([&] { graph.gradient(loss, {Value()}); }).message, {"wrt", "empty"});
  tenon::GradientOptions recompute_input, negative_budget;
  recompute_input.recompute = {x};
  negative_budget.memory_budget = -1;
  check_says(failure_of([&] { graph.gradient(loss, {x}, recompute_input); }).message,
             {"only a node's output can be recomputed"});
  check_says(failure_of([&] { graph.gradient(loss, {x}, negative_budget); }).message,
             {"memory_budget is -1"});
  const auto index = graph.input("index", DType::i64, {2});
  check_says(failure_of([&] { graph.gradient(loss, {index}); }).message,
             {"'index' is int64 [2]", "no gradient", "only floating and complex dtypes"});
}

TEST_CASE("gradient: backward cannot read what it did not declare") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  graph.output("dx", graph.gradient(graph.add("nosy", {x}, {}, "n"), {x})[0]);
  const auto failure = failure_of([&] { Session(graph).run({{"x", f64_tensor({2, 3})}}); });
  check_says(failure.message,
             {"[nosy backward] node 'n_backward':", "input 'x' is not saved for backward",
              "op.backward_reads", "x float64 [2]"});
}

TEST_CASE("gradient: recomputed values have the same bits and need less memory") {
  GradientHost host;
  const auto build = [&](bool again, std::int64_t budget = 0) {
    Graph graph(host);
    const auto x = graph.input("x", DType::f64, {1000});
    Value y = x;
    std::vector<Value> recompute;
    for (int i = 0; i < 36; ++i) {
      y = graph.add("quadratic", {y}, {{"a", 0.25}, {"b", 0.5}}, "q" + std::to_string(i));
      if (i % 6 != 5) recompute.push_back(y);
    }
    tenon::GradientOptions options;
    if (again) options.recompute = recompute;
    options.memory_budget = budget;
    graph.output("dx", graph.gradient(y, {x}, options)[0]);
    return Session(graph);
  };
  std::vector<double> numbers(1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) / 1000;
  const auto x = Tensor::from(numbers, {1000});
  auto kept = build(false), again = build(true);
  CHECK(same_bits(kept.run({{"x", x}}).at("dx"), again.run({{"x", x}}).at("dx")));
  const auto most = kept.plan_bytes({}), least = again.plan_bytes({});
  CHECK(most > 2 * least);
  for (const auto budget : {most, most / 2, least * 11 / 10}) {
    auto within = build(false, budget);
    CHECK(within.plan_bytes({}) <= budget);
    CHECK(same_bits(within.run({{"x", x}}).at("dx"), kept.run({{"x", x}}).at("dx")));
  }
  const auto failure = failure_of([&] { build(false, 8000); });
  CHECK(failure.message.find("but the budget is 8000") != std::string::npos);
}

TEST_CASE("gradient: a node that another one reads twice is recomputed once") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  const auto inner = graph.add("quadratic", {x}, {{"a", 1}}, "inner");
  const auto square = graph.add("times", {inner, inner}, {}, "square");
  tenon::GradientOptions options;
  options.recompute = {inner, square};
  graph.output("dx", graph.gradient(graph.add("quadratic", {square}, {{"a", 1}}), {x},
                                    options)[0]);  // of x^8
  const auto& nodes = model_of(graph).nodes;
  CHECK(std::count_if(nodes.begin(), nodes.end(),
                      [](const auto& node) { return node.pass == tenon::Pass::recompute; }) == 2);
  CHECK(values_of(Session(graph).run({{"x", f64_tensor({1, 2})}}).at("dx")) ==
        std::vector<double>{8, 1024});
}

TEST_CASE("gradient: graphs with backward nodes and updates round-trip as files and as text") {
  const TemporaryFolder folder;
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  const auto weight = graph.variable("weight", f64_tensor({3, 5}));
  const auto inner = graph.add("times", {x, weight}, {}, "inner");
  const auto outer = graph.add("quadratic", {inner}, {{"a", 1}}, "outer");
  tenon::GradientOptions options;
  options.recompute = {inner};
  const auto dweight = graph.gradient(outer, {weight}, options)[0];  // 2 x^2 w
  graph.output("dweight", dweight);
  graph.update(weight, graph.add("quadratic", {dweight}, {{"b", 0.5}}, "next"));
  graph.save(folder / "graph.tenon");
  tenon::SessionOptions training;
  training.training = true;
  const auto text = graph.to_json();
  auto old = text;  // as written by 0.1
  old.replace(old.find("\"recompute\""), std::strlen("\"recompute\""), "\"again\"");
  for (auto& loaded : {graph, Graph::load(host, folder / "graph.tenon"),
                       Graph::from_json(host, text), Graph::from_json(host, old)}) {
    CHECK(loaded.to_json() == text);
    Session session(loaded.clone(), training);
    CHECK(values_of(session.run({{"x", f64_tensor({1, 2})}}).at("dweight")) ==
          std::vector<double>{6, 40});
    CHECK(values_of(session.run({{"x", f64_tensor({1, 2})}}).at("dweight")) ==
          std::vector<double>{6, 160});
  }
  const auto broken = [&](const std::string& from, const std::string& to) {
    auto other = text;
    other.replace(other.find(from), from.size(), to);
    return failure_of([&] { Graph::from_json(host, other); }).message;
  };
  check_says(broken("\"backward\": \"outer\"", "\"backward\": \"inner\""),
             {"graph.json:14:117:", "origin of node 'outer_backward'",
              "'inner' is not a node with operator app.quadratic"});
  check_says(
      broken("\"recompute\": \"inner\"", "\"recompute\": \"inner\", \"backward\": \"inner\""),
      {"graph.json:13:5:", "node 'inner_recomputed'", "both 'backward' and 'recompute'"});
  check_says(broken("\"recompute\": \"inner\"", "\"recompute\": \"inner\", \"again\": \"inner\""),
             {"graph.json:13:5:", "node 'inner_recomputed'", "both 'recompute' and 'again'"});
  CHECK(broken("\"weight\": \"next\"", "\"x\": \"next\"") ==
        "graph.json:22:5: 'x' cannot be updated: it is not a variable");
}

TEST_CASE("update: a variable is updated after the run, in training only") {
  GradientHost host;
  for (const bool in_place : {true, false}) {
    CAPTURE(in_place);
    Graph graph(host);
    const auto first = f64_tensor({1, 2});
    const auto weight = graph.variable("weight", first);
    const auto twice = graph.add("quadratic", {weight}, {{"b", 2}}, "twice");
    graph.update(weight, twice);
    graph.output(in_place ? "w" : "w2",
                 in_place ? weight : twice);  // an output of the updated value is copied, too
    Session rest(graph.clone());
    rest.run({});
    CHECK(values_of(rest.run({}).begin()->second) ==
          (in_place ? std::vector<double>{1, 2} : std::vector<double>{2, 4}));
    tenon::SessionOptions training;
    training.training = true;
    Session session(graph, training);
    session.run({});
    CHECK(values_of(session.run({}).begin()->second) ==
          (in_place ? std::vector<double>{2, 4} : std::vector<double>{4, 8}));
    CHECK(values_of(session.graph().tensor(weight)) == std::vector<double>{4, 8});
    CHECK(values_of(first) == std::vector<double>{1, 2});
    CHECK(failure_of([&] { graph.update(Value(), twice); }).message ==
          "update() needs a variable and a value");
    CHECK(failure_of([&] { graph.update(weight, Value()); }).message ==
          "update() needs a variable and a value");
    CHECK(failure_of([&] { graph.update(weight, twice); }).message ==
          "'weight' is already updated by 'twice'");
    CHECK(failure_of([&] { graph.update(twice, weight); }).message ==
          "'twice' cannot be updated: it is not a variable");
  }
}

TEST_CASE("update: a sparse variable is refused") {
  GradientHost host;
  Graph graph(host);
  const auto rows = graph.variable(
      "rows",
      tenon::cast_storage(Tensor::from<double>({0, 0, 1, 2}, {2, 2}), tenon::Storage::row_sparse));
  graph.update(rows, graph.add("quadratic", {rows}, {{"b", 2}}, "twice"));
  tenon::SessionOptions training;
  training.training = true;
  check_says(failure_of([&] { Session(graph, training).run({}); }).message,
             {"variable 'rows' is row_sparse", "must be dense"});
}

TEST_CASE(
    "update: nodes of the same run read the old value, whether added before or after the new one") {
  GradientHost host;
  tenon::SessionOptions training;
  training.training = true;
  for (const bool before : {true, false}) {
    CAPTURE(before);
    Graph graph(host);
    const auto weight = graph.variable("weight", f64_tensor({1, 2}));
    const auto read = [&] {
      graph.output("tenfold", graph.add("quadratic", {weight}, {{"b", 10}}));
    };
    if (before) read();
    graph.update(weight, graph.add("quadratic", {weight}, {{"b", 2}}, "twice"));
    if (!before) read();
    Session session(graph, training);
    for (const double factor : {1, 2, 4})
      CHECK(values_of(session.run({}).at("tenfold")) ==
            std::vector<double>{10 * factor, 20 * factor});
  }
}

TEST_CASE("session: outputs are written or accumulated to the caller's destinations") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  const auto y = graph.add("quadratic", {x}, {{"b", 2}}, "y");
  graph.output("y", y);
  graph.output("cube", graph.add("cube", {x}));                     // its kernel cannot accumulate
  graph.output("z", graph.add("quadratic", {y}, {{"b", 1}}, "z"));  // y is also read inside
  Session session(graph);
  const auto sum_y = f64_tensor({100, 200}), sum_cube = f64_tensor({10, 20}),
             z = f64_tensor({0, 0});
  for (int run = 0; run < 2; ++run) {
    const auto out =
        session.run({{"x", f64_tensor({1, 3})}}, {{"y", {sum_y, tenon::Write::add}},
                                                  {"cube", {sum_cube, tenon::Write::add}},
                                                  {"z", {z, tenon::Write::to}}});
    CHECK(out.at("y").data() == sum_y.data());
    CHECK(values_of(z) == std::vector<double>{2, 6});
  }
  CHECK(values_of(sum_y) == std::vector<double>{104, 212});
  CHECK(values_of(sum_cube) == std::vector<double>{12, 74});
  CHECK(values_of(session.run({{"x", f64_tensor({1, 3})}}).at("z")) == std::vector<double>{2, 6});
  CHECK(values_of(sum_y) == std::vector<double>{104, 212});
  const auto refused = [&](const char* name, const tenon::Destination& to) {
    return failure_of([&] { session.run({{"x", f64_tensor({1, 3})}}, {{name, to}}); }).message;
  };
  check_says(refused("no", {z}), {"output 'no' is not used", "no such output"});
  check_says(refused("y", {f64_tensor({1})}),
             {"output 'y' is float64 [1]", "output is float64 [2]"});
  check_says(refused("y", {z, tenon::Write::none}),
             {"output 'y'", "only the write modes `to` and `add`"});
}

TEST_CASE("session: an output is reported as soon as its destination is complete") {
  GradientHost host;
  Graph graph(host);
  const auto x = graph.input("x", DType::f64, {2});
  const auto early = graph.add("quadratic", {x}, {{"b", 3}}, "early"),
             first = graph.add("quadratic", {x}, {{"b", 2}}, "first");
  const auto late = graph.add("cube", {early}, {}, "late");
  graph.output("early", early);
  graph.output("both", graph.add("tenon.sum_gradients",
                                 {first, graph.add("quadratic", {late}, {{"b", 1}}, "second")}));
  graph.output("late", late);
  Session session(graph);
  const auto to_early = f64_tensor({0, 0}), to_both = f64_tensor({0, 0});
  std::vector<std::string> ready;
  std::vector<double> then;
  tenon::RunOptions request{.destinations = {{"early", {to_early}}, {"both", {to_both}}}};
  request.on_output_ready = [&](const std::string& output) {
    ready.push_back(output);
    for (const double value : (output == "early" ? to_early : to_both).values<double>())
      then.push_back(value);
  };
  session.run({{"x", f64_tensor({1, 2})}}, request);
  CHECK(ready == std::vector<std::string>{"early", "both"});
  CHECK(then == std::vector<double>{3, 6, 29, 220});

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  std::swap(request.on_output_ready, request.finished);  // the old name
#pragma GCC diagnostic pop
  ready.clear();
  session.run({{"x", f64_tensor({1, 2})}}, request);
  CHECK(ready == std::vector<std::string>{"early", "both"});
}
