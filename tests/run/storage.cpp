// Storage inference: sparse kernels if available, else dense ones with a warning, in graphs,
// gradients and eager calls.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/sparse_operators.hpp"
#include "tensor/expanded.hpp"

using tenon::DType;
using tenon::Graph;
using tenon::Session;
using tenon::Storage;
using tenon::Tensor;

namespace {

using Numbers = std::vector<double>;

// A host that records its warnings.
struct SparseHost : ApplicationHost {
  explicit SparseHost(bool strict = false) : ApplicationHost(sparse_options(strict, warnings)) {
    add<TakeRows>();
    add<FaultyCopy>();
    add_plugins(TENON_TEST_EXAMPLES "/csr_times_dense.so");
  }
  static tenon::HostOptions sparse_options(bool strict, std::vector<std::string>& warnings) {
    auto chosen = options(2);
    chosen.strict_storage = strict;
    chosen.warn = [&warnings](const std::string& text) { warnings.push_back(text); };
    return chosen;
  }
  std::vector<std::string> warnings;
};

Tensor dense(std::initializer_list<float> values, const tenon::Shape& shape) {
  return Tensor::from(values, shape);
}

Tensor csr(std::initializer_list<float> values, const tenon::Shape& shape) {
  return cast_storage(dense(values, shape), Storage::csr);
}

// data -> op -> y, and the output for one input.
Tensor run(SparseHost& host, const char* op, const tenon::Attributes& attributes,
           const Tensor& input) {
  Graph graph(host);
  graph.output("y",
               graph.add(op, {graph.input("x", input.dtype(), input.shape())}, attributes, "node"));
  return Session(graph).run({{"x", input}}).at("y");
}

// A faulty output is not returned but read by another kernel.
void run_inside(SparseHost& host, const char* fault, const Tensor& input) {
  Graph graph(host);
  const auto copy = graph.add("faulty_copy", {graph.input("x", input.dtype(), input.shape())},
                              {{"fault", fault}});
  graph.output("y", graph.add("quadratic", {copy}, {{"c", 1.0}}));
  Session(graph).run({{"x", input}});
}

const Tensor matrix = dense({0, 2, 0, 0, 3, 0, 4, 0, 0}, {3, 3});

}  // namespace

TEST_CASE(
    "storage: an elementwise operator keeps it if its function of 0 is 0, for the given "
    "parameters") {
  struct Case {
    double a, b, c;
    Storage storage;
  };
  for (const auto given : {Storage::csr, Storage::row_sparse}) {
    for (const auto& test :
         {Case{1, 2, 0, given}, Case{0, 0, 0, given}, Case{1, 2, 3, Storage::dense}}) {
      const auto a = test.a, b = test.b, c = test.c;  // clang 14 cannot capture structured bindings
      CAPTURE(a);
      CAPTURE(c);
      SparseHost host;
      const auto input = cast_storage(matrix, given);
      const tenon::Attributes attributes{{"a", a}, {"b", b}, {"c", c}};
      Numbers expected;
      for (const double x : numbers(matrix)) expected.push_back(a * x * x + b * x + c);
      for (const auto& y : {run(host, "quadratic", attributes, input),
                            host.call("quadratic", {input}, attributes)}) {
        CHECK(y.storage() == test.storage);
        CHECK(expanded(y) == expected);
      }
      CHECK(host.warnings.size() == (test.storage == Storage::dense
                                         ? 1
                                         : 0));  // one, although a graph and a call made it dense
    }
  }
}

TEST_CASE(
    "storage: without a kernel for them, tensors are made dense with one warning, or refused") {
  const auto x = csr({1, 0, 0, 2}, {2, 2});
  const auto y = dense({10, 20, 30, 40}, {2, 2});
  SparseHost host, strict(true);
  for (int i = 0; i < 3; ++i)
    CHECK(expanded(host.call("test_add", {x, y})) == Numbers{11, 20, 30, 42});
  REQUIRE(host.warnings.size() == 1);
  check_says(host.warnings[0], {"[test_add]:", "left is converted from csr to dense, 16 bytes",
                                "test_add has no kernel"});
  host.call("test_add", {y, cast_storage(x, Storage::row_sparse)});
  CHECK(host.warnings.size() == 2);

  const auto network = [&](tenon::Host& with) {
    Graph graph(with);
    const auto left = graph.input("left", DType::f32, {-1, 2}),
               right = graph.input("right", DType::f32, {-1, 2});
    graph.output(
        "y", graph.add("test_add", {graph.add("quadratic", {left}, {{"a", 1.0}}, "square"), right},
                       {}, "sum"));
    return graph;
  };
  host.warnings.clear();
  Session session(network(host));
  CHECK(expanded(session.run({{"left", x}, {"right", y}}).at("y")) == Numbers{11, 20, 30, 44});
  CHECK(host.warnings.empty());  // already warned about this operator and storage
  SparseHost other;
  Session(network(other)).run({{"left", x}, {"right", y}});
  REQUIRE(other.warnings.size() == 1);
  check_says(other.warnings[0],
             {"[test_add] node 'sum':", "'square' is converted from csr to dense, 16 bytes",
              "test_add has no kernel"});
  CHECK(failure_of([&] {
          strict.call("test_add", {x, y});
        }).message.find("has no kernel for these storages") != std::string::npos);
  CHECK(failure_of([&] {
          Session(network(strict)).run({{"left", x}, {"right", y}});
        }).message.find("node 'sum'") != std::string::npos);
  CHECK(strict.warnings.empty());
  // dense inputs, the same session: another plan, and back again
  CHECK(expanded(session.run({{"left", dense({1, 0, 0, 2}, {2, 2})}, {"right", y}}).at("y")) ==
        Numbers{11, 20, 30, 44});
  CHECK(expanded(session.run({{"left", x}, {"right", y}}).at("y")) == Numbers{11, 20, 30, 44});
}

TEST_CASE(
    "storage: the warning about a gradient made dense names the operator without a sparse backward "
    "kernel") {
  SparseHost host;
  host.add<probes::Copy>("fixed");  // not an elementwise class, whose gradients may stay sparse
  Graph graph(host);
  const auto table = graph.variable("table", dense({1, 2, 3, 4}, {2, 2}));
  const auto numbers = graph.input("numbers", DType::i64, {1});
  const auto rows =
      graph.add("take_rows", {graph.add("fixed", {table}, {}, "fixed"), numbers}, {}, "rows");
  graph.output("gradient", graph.gradient(rows, {table})[0]);
  Session(graph).run({{"numbers", Tensor::from({std::int64_t{1}}, {1})}});
  REQUIRE(host.warnings.size() == 1);
  check_says(host.warnings[0], {"[fixed backward] node 'fixed_backward':",
                                "'rows_backward' is converted from row_sparse to dense, 16 bytes",
                                "fixed backward has no kernel"});
}

TEST_CASE(
    "storage: an operator's sparse kernel is used for the storages it declares, with indices of "
    "either width") {
  SparseHost host(true);
  const auto right = dense({1, 2, 3, 4, 5, 6}, {3, 2});
  for (const auto index : {DType::i32, DType::i64}) {
    const auto left = cast_storage(matrix, Storage::csr, index);
    CHECK(expanded(host.call("csr_times_dense", {left, right})) == Numbers{6, 8, 9, 12, 4, 8});
    Graph graph(host);
    const auto weight = graph.constant("left", left);
    graph.output("y",
                 graph.add("csr_times_dense", {weight, graph.input("right", DType::f32, {3, 2})}));
    CHECK(expanded(Session(graph).run({{"right", right}}).at("y")) == Numbers{6, 8, 9, 12, 4, 8});
  }
}

TEST_CASE("storage: cast_storage is an operator") {
  SparseHost host(true);
  for (const auto* const from : {"dense", "row_sparse", "csr"}) {
    for (const auto* const to : {"dense", "row_sparse", "csr"}) {
      CAPTURE(from);
      CAPTURE(to);
      const auto input = host.call("cast_storage", {matrix}, {{"storage", from}});
      CHECK(name_of(input.storage()) == std::string(from));
      for (const auto& y : {run(host, "cast_storage", {{"storage", to}}, input),
                            host.call("cast_storage", {input}, {{"storage", to}})}) {
        CHECK(name_of(y.storage()) == std::string(to));
        CHECK(expanded(y) == numbers(matrix));
      }
    }
  }
  CHECK(failure_of([&] {
          host.call("cast_storage", {dense({1, 2}, {2})}, {{"storage", "csr"}});
        }).message.find("csr needs two dimensions") != std::string::npos);
}

TEST_CASE("storage: sparse outputs belong to the caller, whatever later runs need") {
  SparseHost host(true);
  Graph graph(host);
  const auto x = graph.input("x", DType::f32, {-1, 3});
  const auto once = graph.add("quadratic", {x}, {{"b", 1.0}}, "once");
  graph.output("once", once);
  graph.output("again", once);
  graph.output("twice", graph.add("quadratic", {once}, {{"b", 2.0}}));
  Session session(graph);
  std::vector<std::pair<tenon::NamedTensors, Numbers>> results;
  for (const auto& input :
       {csr({0, 0, 0, 0, 0, 0, 0, 0, 1}, {3, 3}), csr({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}),
        csr({0, 0, 0}, {1, 3}), csr({0, 0, 0, 0, 5, 0, 0, 0, 0}, {3, 3})})
    results.emplace_back(session.run({{"x", input}}), expanded(input));
  for (const auto& [outputs, expected] : results) {
    CHECK(outputs.at("once").storage() == Storage::csr);
    CHECK(expanded(outputs.at("once")) == expected);
    CHECK(expanded(outputs.at("again")) == expected);
    auto doubled = expected;
    for (auto& value : doubled) value *= 2;
    CHECK(expanded(outputs.at("twice")) == doubled);
  }
  const tenon::Destinations destinations{{"once", {dense({0, 0, 0}, {1, 3}), tenon::Write::add}}};
  CHECK(failure_of([&] {
          session.run({{"x", csr({1, 0, 0}, {1, 3})}}, destinations);
        }).message.find("the output is csr") != std::string::npos);
}

TEST_CASE(
    "storage: gradients have their own, and their sums stay row_sparse if both operands are") {
  SparseHost host(true);
  Graph graph(host);
  const auto table = graph.variable("table", dense({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}));
  const auto first = graph.input("first", DType::i64, {-1}),
             second = graph.input("second", DType::i64, {-1});
  const auto square =
      graph.add("quadratic", {graph.add("take_rows", {table, first})}, {{"a", 1.0}});
  const auto plain = graph.add("take_rows", {table, second});
  const auto loss = graph.add("test_add", {square, plain}, {}, "loss");
  const auto gradient = graph.gradient(loss, {table}).at(0);
  graph.output("gradient", gradient);
  Session session(graph);
  const auto row_indices = [](std::initializer_list<std::int64_t> values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
  };
  // d/dtable of sum((table[f])^2 + table[s]) = 2 table[f] at rows f, 1 at rows s
  const auto one =
      session.run({{"first", row_indices({2, 2})}, {"second", row_indices({0, 2})}}).at("gradient");
  CHECK(one.storage() == Storage::row_sparse);
  CHECK(numbers(one.row_ids()) == Numbers{0, 2});
  CHECK(expanded(one) == Numbers{1, 1, 0, 0, 21, 25, 0, 0});
  const auto two =
      session.run({{"first", row_indices({3, 1})}, {"second", row_indices({1, 1})}}).at("gradient");
  CHECK(expanded(two) == Numbers{0, 0, 8, 10, 0, 0, 14, 16});
  CHECK(expanded(one) == Numbers{1, 1, 0, 0, 21, 25, 0, 0});
}

TEST_CASE("storage: a sparse and a dense gradient of one value are added densely") {
  SparseHost host;
  Graph graph(host);
  const auto table = graph.variable("table", dense({1, 2, 3, 4}, {2, 2}));
  const auto rows = graph.add(
      "take_rows",
      {table, graph.constant("rows", Tensor::from({std::int64_t{1}, std::int64_t{1}}, {2}))});
  graph.output("gradient", graph.gradient(graph.add("test_add", {rows, table}), {table}).at(0));
  CHECK(expanded(Session(graph).run({}).at("gradient")) == Numbers{1, 1, 3, 3});
  CHECK(host.warnings.size() == 1);
}

TEST_CASE(
    "storage: kernels that violate a rule of sparse tensors are named before their indices are "
    "used") {
  SparseHost host;
  for (const auto& test : {std::pair{"unallocated", "it was not allocated"},
                           std::pair{"descending", "column"}, std::pair{"outside", "column"},
                           std::pair{"starts", "row starts"}, std::pair{"too_many", "at most 9"}}) {
    const char *fault = test.first, *reason = test.second;
    CAPTURE(fault);
    const auto input = csr({1, 2, 0, 0, 3, 0, 4, 0, 0}, {3, 3});
    CHECK(failure_of([&] {
            run(host, "faulty_copy", {{"fault", fault}}, input);
          }).message.find(reason) != std::string::npos);
    const auto inside = failure_of([&] { run_inside(host, fault, input); }).message;
    CHECK(inside.find(reason) != std::string::npos);
    CHECK(inside.find("[faulty_copy] node") == 0);
    CHECK(failure_of([&] {
            host.call("faulty_copy", {input}, {{"fault", fault}});
          }).message.find(reason) != std::string::npos);
  }
  const auto input = csr({1, 2, 0, 0, 3, 0, 4, 0, 0}, {3, 3});
  CHECK(expanded(run(host, "faulty_copy", {}, input)) == expanded(input));
}

TEST_CASE("storage: plans list sparse kernels and conversions to dense") {
  SparseHost host;
  Graph graph(host);
  const auto x = graph.constant("x", csr({1, 0, 0, 2}, {2, 2}));
  graph.output(
      "y", graph.add("cosine", {graph.add("quadratic", {x}, {{"a", 1.0}}, "square")}, {}, "cos"));
  const auto plan = Session(graph).describe_plan({});
  CAPTURE(plan);
  CHECK(plan.find("quadratic            cpu sparse  csr float32 [2, 2] allocated by the kernel") !=
        std::string::npos);
  CHECK(
      plan.find("square.dense             cast_storage         cpu sparse  float32 [2, 2] at 0") !=
      std::string::npos);
  CHECK(plan.find("3 steps") != std::string::npos);
}

TEST_CASE("storage: strict storage refuses every time, and only what runs") {
  SparseHost strict(true);
  Graph graph(strict);
  const auto x = graph.input("x", DType::f32, {-1, 2});
  graph.output("kept", graph.add("quadratic", {x}, {{"b", 1.0}}));
  Graph both = graph.clone();
  both.output("dense", both.add("quadratic", {both.find("x")}, {{"c", 1.0}}, "one"));
  const auto input = csr({1, 0, 0, 2}, {2, 2});
  Session refused(both);
  for (int i = 0; i < 2; ++i)
    CHECK(failure_of([&] {
            refused.run({{"x", input}});
          }).message.find("node 'one'") != std::string::npos);
  graph.add("quadratic", {x}, {{"c", 1.0}}, "never runs");
  CHECK(expanded(Session(graph).run({{"x", input}}).at("kept")) == Numbers{1, 0, 0, 2});
}

TEST_CASE("storage: a variable is updated densely from a sparse value, in training only") {
  for (const bool training : {true, false}) {
    SparseHost host;
    Graph graph(host);
    const auto x = graph.input("x", DType::f32, {2, 2});
    const auto variable = graph.variable("v", dense({0, 0, 0, 0}, {2, 2}));
    graph.update(variable, x);
    graph.output("v", graph.add("quadratic", {variable}, {{"b", 1.0}}));
    tenon::SessionOptions options;
    options.training = training;
    Session session(graph, options);
    const auto input = csr({1, 0, 0, 2}, {2, 2});
    session.run({{"x", input}});
    CHECK(expanded(session.run({{"x", input}}).at("v")) ==
          (training ? Numbers{1, 0, 0, 2} : Numbers{0, 0, 0, 0}));
    CHECK(host.warnings.size() == (training ? 1 : 0));
  }
  SparseHost host;
  Graph graph(host);
  const auto variable = graph.variable("v", csr({1, 0, 0, 2}, {2, 2}));
  graph.update(variable, graph.input("x", DType::f32, {2, 2}));
  graph.output("v", graph.add("quadratic", {variable}, {{"b", 1.0}}));
  CHECK(expanded(Session(graph).run({{"x", dense({5, 5, 5, 5}, {2, 2})}}).at("v")) ==
        Numbers{1, 0, 0, 2});
}

TEST_CASE("cast_storage refuses what the storage cannot hold when the node is added") {
  ApplicationHost host;
  Graph graph(host);
  const auto cube = graph.input("cube", DType::f32, {2, 3, 4}),
             number = graph.input("number", DType::f32, tenon::Shape::scalar());
  CHECK(failure_of([&] {
          graph.add("cast_storage", {cube}, {{"storage", "csr"}});
        }).message.find("csr needs two dimensions") != std::string::npos);
  CHECK(failure_of([&] {
          graph.add("cast_storage", {number}, {{"storage", "row_sparse"}});
        }).message.find("row_sparse needs at least one dimension") != std::string::npos);
  CHECK_NOTHROW(graph.add("cast_storage", {cube}, {{"storage", "row_sparse"}}));
}
