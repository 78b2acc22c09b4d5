// Graphs made for one version of an operator, loaded with another: what each declaration permits,
// and the errors without it.
#include <doctest/doctest.h>

#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

namespace {

/// y = a x + d, as version 1 of the operator `line`.
struct Line1 : Operator {
  double a = 2, d = 0;
  static constexpr void describe(auto& op) {
    op.doc("a x + d");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("a", &Line1::a, "factor");
    op.param("d", &Line1::d, "offset");
    op.backward_reads("x");
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const Call& call) const {
    const auto x = call.input<float>("x");
    const auto y = call.output<float>("y");
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = static_cast<float>(a * x[i] + d);
  }
  void backward(const Call& call) const {
    const auto dy = call.output_grad<float>("y");
    const auto dx = call.input_grad<float>("x");
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = static_cast<float>(a) * dy[i];
  }
};

/// Version 2 adds an optional input, a hidden output that backward reads, another output and a
/// state.
template <bool says>
struct Line2 : Operator {
  double a = 2, d = 0;
  static constexpr void describe(auto& op) {
    op.doc("a x + d + gain + count");
    op.version(2);
    op.types({f32});
    op.input("x", "any shape");
    op.input("gain", "same shape").optional();
    op.output("y", "same shape as x");
    op.output("slope", "the slope of y").hidden();
    op.output("sum", "scalar, the sum of y");
    op.state("count", "a scalar").initial(100);
    op.param("a", &Line2::a, "factor");
    op.param("d", &Line2::d, "offset");
    op.backward_reads("slope");
    if (says)
      op.added_input(2, "gain"), op.added_output(2, "slope"), op.added_output(2, "sum"),
          op.added_state(2, "count");
  }
  void infer(Infer& io) const {
    io.set_output("y", io.input(0).shape);
    io.set_output("slope", io.input(0).shape);
    io.set_output("sum", Shape::scalar());
    io.set_state("count", Shape::scalar());
  }
  void forward(const Call& call) const {
    const auto x = call.input<float>("x");
    const auto y = call.output<float>("y"), slope = call.output<float>("slope");
    auto& count = call.state<float>("count")[0];
    double sum = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      slope[i] = static_cast<float>(a);
      y[i] = static_cast<float>(a * x[i] + d) +
             (call.has_input("gain") ? call.input<float>("gain")[i] : 0) + count;
      sum += y[i];
    }
    if (call.write("sum") != Write::none) call.output<float>("sum")[0] = static_cast<float>(sum);
    count += 1;
  }
  void backward(const Call& call) const {
    const auto dy = call.output_grad<float>("y"), slope = call.output_value<float>("slope");
    if (call.write("x") != Write::none)
      for (std::int64_t i = 0; i < dy.size(); ++i)
        call.input_grad<float>("x")[i] = slope[i] * dy[i];
    if (call.write("gain") != Write::none)
      for (std::int64_t i = 0; i < dy.size(); ++i) call.input_grad<float>("gain")[i] = dy[i];
  }
};

/// Version 3 removes d, renames a to b and adds c.
template <int kind>
struct Line3 : Operator {
  double b = 2, c = 1;
  static constexpr void describe(auto& op) {
    op.doc("(b x + 7) c");
    op.version(3);
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("b", &Line3::b, "factor");
    op.param("c", &Line3::c, "factor of all");
    if (kind > 0) op.renamed(2, "a", "b");
    if (kind == 1) op.removed(3, "d");
    if (kind == 2) op.removed(3, "d").was(7);
    if (kind > 0) op.added(3, "c").was(10.0);
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = static_cast<float>((b * call.input<float>(0)[i] + 7) * c);
  }
  void backward(const Call& call) const {
    for (std::int64_t i = 0; i < call.input_grad<float>(0).size(); ++i)
      call.input_grad<float>(0)[i] = static_cast<float>(b * c) * call.output_grad<float>(0)[i];
  }
};

/// Version 4 accepts less than the graph has.
template <bool narrow_dtype>
struct Line4 : Operator {
  double a = 2, d = 0;
  static constexpr void describe(auto& op) {
    op.doc("a x + d");
    op.version(4);
    op.types({narrow_dtype ? f64 : f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("a", &Line4::a, "factor").at_most(2);
    op.param("d", &Line4::d, "offset");
    op.backward_reads("x");
  }
  void forward(const Call&) const {}
  void backward(const Call&) const {}
};

/// Returns the file of a graph of version 1: two consecutive nodes, and a gradient.
std::vector<std::byte> old_file(double d = 0) {
  ApplicationHost host;
  host.add<Line1>("line");
  Graph graph(host);
  const auto x = graph.input("x", f32, {2});
  const auto first = graph.add("line", {x}, {{"a", 3.0}, {"d", d}}, "first");
  const auto second = graph.add("line", {first}, {{"d", d}}, "second");
  graph.output("y", second);
  graph.output("between", first);
  graph.output("dx", graph.gradient(second, {x})[0]);
  return graph.to_bytes();
}

const Tensor x = Tensor::from({1.f, -2.f}, {2});

template <class Line>
FailureText refusal(double d = 0) {
  const auto file = old_file(d);
  ApplicationHost host;
  host.add<Line>("line");
  return failure_of([&] { Session(Graph::from_bytes(host, file)); });
}

}  // namespace

TEST_CASE(
    "versions: for an older file, new inputs are absent, new outputs are added, new states are "
    "initialized") {
  const auto file = old_file(1);
  ApplicationHost host;
  host.add<Line2<true>>("line");
  auto graph = Graph::from_bytes(host, file);
  const auto between = graph.find("first");  // found before binding, used afterwards
  graph.output("again", between);
  Session session(graph);
  for (int run = 0; run < 3; ++run) {
    const auto made = session.run({{"x", x}});
    const float count = 100 + static_cast<float>(run);
    const std::vector<float> first{3 + 1 + count, -6 + 1 + count};
    CHECK(floats_of(made.at("between")) == first);
    CHECK(floats_of(made.at("again")) == first);
    CHECK(floats_of(made.at("y")) ==
          std::vector<float>{2 * first[0] + 1 + count, 2 * first[1] + 1 + count});
    CHECK(floats_of(made.at("dx")) == std::vector<float>{6, 6});
  }
  // The saved file has version 2.
  const auto saved = graph.to_bytes();
  auto again = Graph::from_bytes(host, saved);
  CHECK(again.operators()[0].version == 2);
  CHECK(floats_of(Session(again).run({{"x", x}}).at("between")) == std::vector<float>{104, 95});
}

TEST_CASE("versions: a graph in an ONNX file is upgraded like one in a .tenon file") {
  const TemporaryFolder folder;
  const auto path = folder / "line.onnx";
  {
    ApplicationHost host;
    host.add<Line1>("line");
    Graph graph(host);
    graph.output("y", graph.add("line", {graph.input("x", f32, {2})}, {{"a", 3.0}}));
    onnx::save(graph, path);
  }
  ApplicationHost host;
  host.add<Line2<true>>("line");
  CHECK(floats_of(Session(onnx::load(host, path)).run({{"x", x}}).at("y")) ==
        std::vector<float>{103, 94});
}

TEST_CASE("versions: without a declaration, the error names both versions and the change") {
  const auto failure = refusal<Line2<false>>();
  check_says(failure.message, {"[line] node 'first':", "needs version 1", "version 2 is installed",
                               "new input 'gain'"});
  check_says(failure.hint, {"use a plugin with version 1", "op.added_input(2, \"gain\")"});
  check_says(refusal<Line3<0>>().message,
             {"[line] node 'first':", "needs version 1", "version 3 is installed",
              "no longer has parameter 'a'"});
  check_says(refusal<Line4<true>>().message,
             {"[line] node 'first':", "needs version 1", "version 4 is installed",
              "does not take float32 as input 'x'"});
  const auto bounds = refusal<Line4<false>>();
  check_says(bounds.message, {"[line] node 'first':", "parameter 'a' is 3",
                              "at most 2 in version 4", "made for version 1"});
  CHECK(bounds.hint == "use a plugin with version 1");
}

TEST_CASE("versions: renamed, removed and added parameters") {
  const auto run = [](auto* line, double d) {
    const auto file = old_file(d);
    ApplicationHost host;
    host.add<std::remove_pointer_t<decltype(line)>>("line");
    return floats_of(Session(Graph::from_bytes(host, file)).run({{"x", x}}).at("between"));
  };
  CHECK(run(static_cast<Line3<1>*>(nullptr), 5) ==
        std::vector<float>{100, 10});  // a is b, any d is dropped, c was 10
  CHECK(run(static_cast<Line3<2>*>(nullptr), 7) == std::vector<float>{100, 10});  // d was 7
  check_says(refusal<Line3<2>>(5).message, {"[line] node 'first':", "parameter 'd' is 5",
                                            "version 3 of the operator removed it", "as for 7"});
}

TEST_CASE(
    "versions: graph.json accepts names of older versions; missing parameters have the current "
    "defaults") {
  ApplicationHost host;
  host.add<Line3<2>>("line");
  const auto text = [](const char* parameters) {
    return std::string(
               R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]}},
                   "nodes": [{"name": "n", "op": "line", "inputs": ["x"],
      "attrs": {)") +
           parameters + R"(}}], "outputs": {"y": "n"}})";
  };
  const auto run = [&](const char* parameters) {
    return floats_of(Session(Graph::from_json(host, text(parameters))).run({{"x", x}}).at("y"));
  };
  CHECK(run(R"("a": 3, "d": 7)") == std::vector<float>{10, 1});
  CHECK(run(R"("b": 3, "c": 2)") == std::vector<float>{20, 2});
  CHECK(failure_of([&] { run(R"("a": 3, "d": 6)"); }).message.find("always computes as for 7") !=
        std::string::npos);
  CHECK(failure_of([&] {
          run(R"("a": 3, "b": 3)");
        }).message.find("parameter 'b' is given twice") != std::string::npos);
  CHECK(failure_of([&] { run(R"("e": 3)"); }).message.find("unknown parameter 'e'") !=
        std::string::npos);
  CHECK(floats_of(host.call("line", {x}, {{"a", 3.0}})) == std::vector<float>{10, 1});
}

TEST_CASE(
    "versions: a failure changes nothing, so the graph runs once the right version is installed") {
  const auto file = old_file();
  ApplicationHost host;
  host.add<Line3<2>>("line");
  auto graph = Graph::from_bytes(host, file);
  CHECK_THROWS(Session(graph));
  host.add<Line1>("line");
  CHECK(floats_of(Session(graph).run({{"x", x}}).at("between")) == std::vector<float>{3, -6});
}
