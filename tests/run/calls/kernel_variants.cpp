// Several kernels of one operator for a device: types, sizes and priority choose, in eager calls,
// sessions and gradients, and plans list the choice.
#include <doctest/doctest.h>

#include <algorithm>
#include <tenon/host/session.hpp>
#include <tenon/visit.hpp>

#include "built.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

HostOptions test_options() {
  HostOptions options;
  options.trust_writable = true;
  return options;
}

struct VariantHost : Host {
  explicit VariantHost(bool more = true, HostOptions options = test_options()) : Host(options) {
    add_plugins(built("faults/which_kernel.so"));
    if (more) add_plugins(built("faults/which_kernel_more.so"));
  }
};

/// The number that all elements have.
double number_in(const Tensor& tensor) {
  double number = -1;
  visit<floating>(tensor.dtype(), [&]<class T>() {
    const auto values = tensor.values<T>();
    number = static_cast<double>(values[0]);
    for (const T value : values) CHECK(static_cast<double>(value) == number);
  });
  return number;
}

struct Row {
  DType dtype;
  std::int64_t size;
  int refused;
  double forward, backward;  // the kernels' numbers
};
constexpr Row rows[] = {
    {f32, 3, -1, 1,
     0},  // Single has no backward: differentiated nodes use the operator's own kernel
    {f32, 99, -1, 1, 0},    //
    {f32, 100, -1, 2, 2},   // Large precedes Single
    {f32, 100, 2, 1, 0},    //
    {f64, 100, -1, 2, 2},   //
    {f64, 99, -1, 0, 0},    // Last follows the operator's own kernel
    {f16, 100, -1, 3, 3},   // from the other plugin; its backward is the operator's
    {f16, 100, 3, 0, 0},    //
    {bf16, 100, -1, 0, 0},  //
};

Tensor tensor_of(const Row& row) {
  return Tensor::zeros(row.dtype, {row.size});
}

}  // namespace

TEST_CASE("kernels of one operator: types, sizes and priority choose in eager calls") {
  VariantHost host;
  for (const auto& row : rows) {
    CAPTURE(row.dtype);
    CAPTURE(row.size);
    CHECK(number_in(host.call("which_kernel", {tensor_of(row)}, {{"refused", row.refused}})) ==
          row.forward);
  }
}

TEST_CASE("kernels of one operator: each plan of a session has its own choice, and lists it") {
  VariantHost host;
  for (const auto dtype : {f32, f64, f16, bf16})
    for (const int refused : {-1, 2, 3}) {
      Graph graph(host);
      graph.output("y", graph.add("which_kernel", {graph.input("x", dtype, {-1})},
                                  {{"refused", refused}}, "node"));
      Session session(graph);
      for (const auto& row : rows) {
        if (row.dtype != dtype || row.refused != refused) continue;
        CAPTURE(row.size);
        CHECK(number_in(session.run({{"x", tensor_of(row)}}).at("y")) == row.forward);
        const char* names[] = {"", "Single", "Large", "Half"};
        CHECK(session.plan({{"x", {row.size}}}).steps[0].variant ==
              names[static_cast<int>(row.forward)]);
      }
    }
}

TEST_CASE(
    "kernels of one operator: a differentiated node has one with a gradient, whose backward it "
    "uses") {
  VariantHost host;
  for (const auto& row : rows) {
    CAPTURE(row.dtype);
    CAPTURE(row.size);
    Graph graph(host);
    const auto x = graph.variable("x", tensor_of(row));
    const auto y = graph.add("which_kernel", {x}, {{"refused", row.refused}});
    graph.output("dx", graph.gradient(y, {x})[0]);
    graph.output("y", y);
    const auto found = Session(graph).run({});
    CHECK(number_in(found.at("dx")) == (row.backward == 3 ? 0 : row.backward));
    CHECK(number_in(found.at("y")) == row.backward);
  }
}

TEST_CASE("kernels of one operator: a failing supports() is reported with the node") {
  VariantHost host;
  Graph graph(host);
  graph.output("y",
               graph.add("which_kernel", {graph.input("x", f32, {2})}, {{"refused", 4}}, "node"));
  Session session(graph);
  const auto failure = failure_of([&] { session.run({{"x", Tensor::zeros(f32, {2})}}); });
  CHECK(failure.message == "[which_kernel] node 'node': it does not know (x float32 [2])");
  CHECK(failure_of([&] {
          host.call("which_kernel", {Tensor::zeros(f32, {2})}, {{"refused", 4}});
        }).message == "[which_kernel] it does not know (x float32 [2])");
}

TEST_CASE("kernels of one operator: isolated ones are skipped, with a warning") {
  std::vector<std::string> warnings;
  auto options = test_options();
  options.isolate.plugins = {"which_kernel_more"};
  options.warn = [&](const std::string& warning) { warnings.push_back(warning); };
  VariantHost host(true, options);
  CHECK(number_in(host.call("which_kernel", {Tensor::zeros(f16, {100})})) == 0);
  CHECK(number_in(host.call("which_kernel", {Tensor::zeros(f32, {100})})) == 2);
  CHECK(std::count_if(warnings.begin(), warnings.end(), [](const std::string& warning) {
          return warning.find("variants cannot run in worker processes") != std::string::npos;
        }) == 2);
}

TEST_CASE("kernels of one operator: the catalog lists them, and later ones are used from then on") {
  VariantHost host(false);
  CHECK(host.catalog().find("which_kernel")->variants.size() == 4);
  CHECK(number_in(host.call("which_kernel", {Tensor::zeros(f16, {2})})) == 0);
  host.add_plugins(built("faults/which_kernel_more.so"));
  const auto catalog = host.catalog();
  const auto& variants = catalog.find("which_kernel")->variants;
  REQUIRE(variants.size() == 6);
  CHECK(variants[0].name == "Half");  // added last
  CHECK(variants[2].name == "Elsewhere");
  CHECK(number_in(host.call("which_kernel", {Tensor::zeros(f16, {2})})) == 3);
}
