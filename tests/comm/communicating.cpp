// Nodes that communicate with other processes: each runs exactly once per run, in the order of the
// graph, and one at a time.
#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>
#include <thread>
#include <vector>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "run/host_impl.hpp"

using namespace tenon;

namespace {

/// Returns x, and records its number.
struct Calling : Operator {
  std::int64_t number = 0;
  static inline std::vector<std::int64_t> calls;
  static inline std::atomic<int> at_once = 0, most = 0;
  static inline std::mutex changing;

  static constexpr void describe(auto& op) {
    op.doc("x; pretends to communicate");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.param("number", &Calling::number, "number that each call records");
    op.communicates();
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const Call& call) const {
    const int now = ++at_once;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    {
      const std::lock_guard lock(changing);
      calls.push_back(number);
      most = std::max<int>(most, now);
    }
    --at_once;
    std::copy_n(call.input<float>(0).data(), call.input<float>(0).size(),
                call.output<float>(0).data());
  }
};

struct CallingHost : ApplicationHost {
  explicit CallingHost(int threads = 1) : ApplicationHost(threads) { add<Calling>(); }
};

std::vector<std::int64_t> calls_of(Session& session, const NamedTensors& inputs,
                                   const RunOptions& options = {}) {
  Calling::calls.clear();
  session.run(inputs, options);
  return Calling::calls;
}

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE(
    "communicating nodes run exactly once, even if no output needs them or their inputs are "
    "constant") {
  CallingHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {2});
  const auto constant = graph.constant("c", Tensor::from({1.F, 2.F}, {2}));
  graph.add("calling", {x}, {{"number", 1}}, "lost");
  const auto behind =
      [&](const char* name) {  // values that depend only on a constant, computed twice
        return graph.add("quadratic", {graph.add("calling", {constant}, {{"number", 2}}, name)},
                         {{"b", 1}});
      };
  graph.output("y", behind("of a constant"));
  graph.output("z", behind("its twin"));
  graph.output("x2", graph.add("quadratic", {x}, {{"b", 1}}));
  for (const auto optimize : {Optimize::none, Optimize::full}) {
    SessionOptions options;
    options.optimize = optimize;
    Session session(graph, options);
    for (int run = 0; run < 2; ++run)
      CHECK(calls_of(session, {{"x", Tensor::from({1.F, 2.F}, {2})}}) == Numbers{1, 2, 2});
    CHECK(calls_of(session, {{"x", Tensor::from({1.F, 2.F}, {2})}}, {.outputs = {"x2"}}).empty());
  }
}

TEST_CASE("independent communicating nodes run one at a time, in the order of the graph") {
  CallingHost host(4);
  Graph graph(host);
  const auto x = graph.input("x", f32, {2});
  Numbers expected;
  for (std::int64_t branch = 0; branch < 6; ++branch) {
    const auto before = graph.add("quadratic", {x}, {{"b", 1}});
    graph.output("y" + std::to_string(branch),
                 graph.add("calling", {before}, {{"number", branch}}));
    expected.push_back(branch);
  }
  Session session(graph);
  Calling::most = 0;
  for (int run = 0; run < 6; ++run)
    CHECK(calls_of(session, {{"x", Tensor::from({1.F, 2.F}, {2})}}) == expected);
  CHECK(Calling::most == 1);
}

TEST_CASE("all_reduce in a single process; version 1 called the leaves lanes") {
  ApplicationHost host;
  host.add_plugins(TENON_TEST_PLUGINS);
  const auto x = Tensor::from({1.F, 2.F}, {2});
  for (const char* name : {"leaves", "lanes"}) {
    CHECK(all_close(host.call("all_reduce", {x}, {{name, 3}}), x));
    CHECK(failure_of([&] {
            host.call("all_reduce", {x}, {{name, -1}});
          }).message.find("parameter 'leaves' is -1 but must be at least 0") != std::string::npos);
  }
}

TEST_CASE("communicating nodes of plugins are not folded, merged or removed by optimization") {
  ApplicationHost host;
  host.add_plugins(TENON_TEST_PLUGINS);
  Graph graph(host);
  const auto constant = graph.constant("c", Tensor::from({1.F, 2.F}, {2}));
  const auto behind = [&](const char* op) { return graph.add("neg", {graph.add(op, {constant})}); };
  graph.output("y", graph.add("add", {behind("all_reduce"), behind("all_reduce")}));
  graph.output("z", graph.add("add", {behind("exp"), behind("exp")}));
  graph.add("all_reduce", {constant}, {}, "lost");
  const auto optimized = Session(graph, {.optimize = Optimize::full}).optimized();
  int reductions = 0, exponents = 0;
  for (const auto& node : optimized.nodes()) {
    reductions += node.op == "all_reduce" ? 1 : 0;
    exponents += node.op == "exp" ? 1 : 0;
  }
  CHECK(reductions == 3);
  CHECK(exponents == 0);
}
