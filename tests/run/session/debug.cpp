// Sessions that find elements that no kernel writes.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>
#include <tenon/visit.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

/// Copies its input except `count` elements from `from` on; its gradient, except one.
struct Holey : Operator {
  std::int64_t from = 3, count = 1;
  bool reads_workspace = false;

  static constexpr void describe(auto& op) {
    op.doc("x, with holes");
    op.types(any_type);
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.param("from", &Holey::from, "first unwritten element");
    op.param("count", &Holey::count, "number of unwritten elements");
    op.param("reads_workspace", &Holey::reads_workspace,
             "whether it returns the workspace's contents");
  }
  std::size_t workspace(const Infer&) const { return sizeof(float); }
  void forward(const Call& call) const {
    visit(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      auto y = call.output<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        if (i < from || i >= from + count) y[i] = x[i];
    });
    if (reads_workspace) call.output<float>(0)[0] = call.workspace<float>(1)[0];
  }
  void backward(const Call& call) const {
    for (std::int64_t i = 0; i < call.input<float>(0).size() - 1; ++i)
      call.input_grad<float>(0)[i] = call.output_grad<float>(0)[i];
  }
};

Graph holey_graph(Host& host, DType dtype, const Attributes& attributes) {
  Graph graph(host);
  graph.output("y", graph.add("holey", {graph.input("x", dtype, {20})}, attributes, "h"));
  return graph;
}

}  // namespace

TEST_CASE(
    "debugging sessions name the node and the first element that its kernel leaves unwritten") {
  ApplicationHost host;
  host.add<Holey>();
  for (const auto dtype : {boolean, u8, i8, i32, i64, f16, bf16, f32, f64}) {
    CAPTURE(name_of(dtype));
    const bool one_byte = size_of(dtype) == 1;
    const NamedTensors inputs{{"x", full(dtype, {20}, 1)}};
    const auto graph = holey_graph(host, dtype, {{"count", one_byte ? 9 : 1}});
    CHECK(failure_of([&] { Session(graph).run(inputs); }).kind == 0);
    const auto failure = failure_of([&] { Session(graph, {.debug = true}).run(inputs); });
    CHECK(failure.kind == 1);
    check_says(failure.message, {"[holey] node 'h':", "does not write element 3 of 'h'",
                                 "x " + std::string(name_of(dtype)) + " [20]"});
    Session whole(holey_graph(host, dtype, {{"count", 0}}), {.debug = true});
    CHECK(same_bits(whole.run(inputs).at("y"), inputs.at("x")));
    CHECK(same_bits(whole.run(inputs).at("y"), inputs.at("x")));
  }
}

TEST_CASE("debugging sessions check gradients, and fill workspaces with NaN") {
  ApplicationHost host;
  host.add<Holey>();
  Graph graph(host);
  const auto x = graph.input("x", f32, {4});
  const auto y = graph.add("holey", {x}, {{"count", 0}}, "h");
  graph.output("dx", graph.gradient(y, {x})[0]);
  const NamedTensors inputs{{"x", full(f32, {4}, 1)}};
  const auto failure = failure_of([&] { Session(graph, {.debug = true}).run(inputs); });
  CHECK(failure.kind == 1);
  CHECK(failure.message.find("its kernel does not write element 3 of '") != std::string::npos);

  const auto reading = holey_graph(host, f32, {{"count", 0}, {"reads_workspace", true}});
  const float read =
      Session(reading, {.debug = true}).run({{"x", full(f32, {20}, 1)}}).at("y").values<float>()[0];
  CHECK(read != read);
  CHECK(failure_of([&] { Session(reading, {.trace = "t.json", .debug = true}); }).kind == 2);
}
