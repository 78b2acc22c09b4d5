// Operators added while a host is in use: later objects use the new one, earlier ones keep the old
// one.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>
#include <thread>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"
#include "temporary_folder.hpp"

using tenon::Argument;
using tenon::Graph;
using tenon::PreparedCall;
using tenon::Session;
using tenon::Tensor;

namespace {

/// x + by; `by` is not a parameter but set by the object's factory.
struct Shift : tenon::Operator {
  float by = 0;

  static constexpr void describe(auto& op) {
    op.doc("x, shifted");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i] + by;
  }
  void gradient(tenon::Gradient& g) const { g.set_input_grad(0, g.output_grad(0)); }
};

/// x * factor + offset: a parameter, and a member that is not one.
struct StraightLine : tenon::Elementwise {
  float factor = 1, offset = 0;

  static constexpr void describe(auto& op) {
    op.doc("factor * x + offset");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factor", &StraightLine::factor, "factor");
  }
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(factor * x + offset);
  }
};

/// left - right, or right - left if the class lists its inputs in that order.
template <bool turned>
struct Difference : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left - right");
    op.input(turned ? "right" : "left", "any shape");
    op.input(turned ? "left" : "right", "any shape");
    op.output("difference", "both broadcast");
  }
  template <class T>
  T operator()(T first, T second) const {
    return turned ? second - first : first - second;
  }
};

void add_shift(tenon::Host& host, float by, const char* name = "shift") {
  host.add<Shift>(name, [by] {
    Shift shift;
    shift.by = by;
    return shift;
  });
}

const Tensor& zero() {
  static const Tensor tensor = Tensor::from({0.f}, {1});
  return tensor;
}
float called(tenon::Host& host, const char* op = "shift") {
  return first_of(host.call(op, {zero()}));
}
float prepared(PreparedCall& call) {
  const std::vector<Tensor> inputs = {zero()};
  return first_of(call(inputs));
}
float run(Session& session, const char* output = "y") {
  return first_of(session.run({{"x", zero()}}).at(output));
}
Graph graph_of(tenon::Host& host) {
  Graph graph(host);
  graph.output("y", graph.add("shift", {graph.input("x", tenon::f32, {1})}));
  return graph;
}
std::string example(const char* name) {
  return std::string(TENON_TEST_EXAMPLES) + "/" + name + ".so";
}

}  // namespace

TEST_CASE("a replaced operator: later calls, prepared calls, nodes and sessions use the new one") {
  ApplicationHost host;
  add_shift(host, 1);
  CHECK(called(host) == 1);
  auto early = host.prepare("shift", {Argument::like(zero())});
  auto graph = graph_of(host);
  Session session(graph);
  const auto bytes = graph.to_bytes();
  auto unbound = Graph::from_bytes(host, bytes);
  Session of_unbound(unbound);

  add_shift(host, 2);
  CHECK(called(host) == 2);
  auto late = host.prepare("shift", {Argument::like(zero())});
  CHECK(prepared(early) == 1);
  CHECK(prepared(late) == 2);
  CHECK(run(session) == 1);
  Session again(graph);  // its node is bound
  CHECK(run(again) == 1);
  CHECK(run(of_unbound) == 1);
  Session unbound_again(unbound);
  CHECK(run(unbound_again) == 2);

  graph.output("new", graph.add("shift", {graph.find("x")}));
  Session both(graph);
  CHECK(run(both) == 1);
  CHECK(run(both, "new") == 2);
  auto loaded = Graph::from_bytes(host, graph.to_bytes());
  Session of_loaded(loaded);
  CHECK(run(of_loaded) == 2);
  CHECK(run(of_loaded, "new") == 2);
}

TEST_CASE(
    "a replaced operator: a graph that could not be bound is bound to the operators available "
    "then") {
  ApplicationHost other, host;
  add_shift(other, 0);
  other.add<StraightLine>("line", [] { return StraightLine{}; });
  Graph made(other);
  made.output("y", made.add("line", {made.add("shift", {made.input("x", tenon::f32, {1})})},
                            {{"factor", 3}}));
  add_shift(host, 1);
  auto graph = Graph::from_bytes(host, made.to_bytes());
  CHECK(failure_of([&] { graph.bind(); }).message.find("line") != std::string::npos);
  add_shift(host, 1, "line");  // it has no parameter
  CHECK(failure_of([&] { graph.bind(); }).message.find("factor") != std::string::npos);
  add_shift(host, 2);
  host.add<StraightLine>("line", [] { return StraightLine{}; });
  graph.bind();
  Session session(graph);
  CHECK(run(session) == 6);
}

TEST_CASE(
    "a replaced operator: a graph is not bound to one of the same version with other inputs") {
  ApplicationHost other, host;
  other.add<Difference<false>>("difference");
  Graph made(other);
  made.output("y", made.add("difference", {made.input("x", tenon::f32, {1}),
                                           made.variable("five", Tensor::from({5.f}, {1}))}));
  host.add<Difference<true>>("difference");
  const auto bytes = made.to_bytes();
  auto graph = Graph::from_bytes(host, bytes);
  check_says(failure_of([&] { graph.bind(); }).message,
             {"[difference] node 'difference':", "another version 1 of the operator",
              "input 'left' in another position"});
  host.add<Difference<false>>("difference");
  auto again = Graph::from_bytes(host, bytes);
  Session session(again);
  CHECK(run(session) == -5);
}

TEST_CASE("a replaced operator: gradient nodes use the operator of their node") {
  ApplicationHost host;
  host.add<StraightLine>("line", [] { return StraightLine{}; });
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1});
  const auto y = graph.add("line", {x}, {{"factor", 3}});
  add_shift(host, 1, "line");
  graph.output("y", graph.gradient(y, {x})[0]);
  Session session(graph);
  CHECK(run(session) == 3);
}

TEST_CASE("a replaced operator: recomputed nodes use the operator of the first computation") {
  ApplicationHost host;
  add_shift(host, 1);
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1});
  const auto shifted = graph.add("shift", {x});
  const auto squared = graph.add("quadratic", {shifted}, {{"a", 1}, {"b", 0}, {"c", 0}});
  add_shift(host, 5);
  graph.output("new", graph.add("shift", {x}));
  tenon::GradientOptions options;
  options.recompute = {shifted};
  graph.output("y", graph.gradient(squared, {x}, options)[0]);
  Session session(graph);
  CHECK(run(session, "new") == 5);
  CHECK(run(session) == 2);  // of (x + 1)^2 at 0
}

TEST_CASE(
    "a replaced operator: those of plugins, the application and the host coexist, and replace only "
    "their own kind") {
  ApplicationHost host;
  add_shift(host, 7, "cosine");
  CHECK(called(host, "cosine") == 7);
  host.add_plugins(example("cosine"));
  const auto catalog = host.catalog();
  const auto& plugins = catalog.operators();
  const auto from_file =
      std::find_if(plugins.begin(), plugins.end(), [](const auto& op) { return op.file == 0; });
  REQUIRE(from_file != plugins.end());
  CHECK(called(host, from_file->full_name().c_str()) == 1);
  CHECK(called(host, "app.cosine") == 7);
  CHECK(failure_of([&] { called(host, "cosine"); }).kind == 3);  // ambiguous
  add_shift(host, 5, "cosine");
  CHECK(called(host, "app.cosine") == 5);
  CHECK(called(host, from_file->full_name().c_str()) == 1);
  add_shift(host, 1, "cast_storage");
  CHECK(called(host, "app.cast_storage") == 1);
  CHECK(called(host, "cast_storage") == 0);
}

TEST_CASE("a replaced operator: a rebuilt plugin is read again") {
  TemporaryFolder folder;
  const auto file = folder / "it.so";
  const auto put = [&](const char* name) {  // replaces the file, as linkers do
    std::filesystem::remove(file);
    write_bytes(file, read_bytes(example(name)));
    std::filesystem::permissions(file, std::filesystem::perms(0755));
  };
  ApplicationHost host;
  put("cosine");
  host.add_plugins(file);
  auto call = host.prepare("example_cosine.cosine", {Argument::like(zero())});
  put("quadratic");
  host.add_plugins(file);
  const auto catalog = host.catalog();
  CHECK(catalog.find("cosine")->file == -1);  // the test host's own
  const auto& built = catalog.operators();
  const auto made =
      std::find_if(built.begin(), built.end(), [](const auto& op) { return op.file >= 0; });
  CHECK(first_of(host.call(made->full_name(), {zero()}, {{"c", 4}})) == 4);
  CHECK(prepared(call) == 1);
}

TEST_CASE("a graph with two descriptions of one operator runs, but cannot be saved") {
  ApplicationHost host;
  host.add<StraightLine>("line", [] { return StraightLine{}; });
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1});
  graph.output("y", graph.add("line", {x}, {{"factor", 3}}));
  add_shift(host, 2, "line");
  graph.output("new", graph.add("line", {x}));
  Session session(graph);
  CHECK(run(session) == 0);
  CHECK(run(session, "new") == 2);
  const auto failure = failure_of([&] { (void)graph.to_bytes(); });
  CHECK(failure.kind == 2);
  check_says(failure.message,
             {"operator 'app.line' was replaced", "two descriptions", "a file holds one"});
}

TEST_CASE(
    "operators from a factory: two names for one class, parameters, gradients, and failures") {
  tenon::Host host(ApplicationHost::options(1));
  for (const float offset : {10.f, 20.f}) {
    const auto name = "line_" + std::to_string(static_cast<int>(offset));
    CHECK(host.add<StraightLine>(name, [offset] {
      StraightLine line;
      line.offset = offset;
      line.factor = 99;  // a parameter: set by nodes
      return line;
    }) == "app." + name);
  }
  const auto x = Tensor::from({2.f}, {1});
  CHECK(first_of(host.call("line_10", {x})) == 12);
  CHECK(first_of(host.call("line_20", {x}, {{"factor", 3}})) == 26);
  Graph graph(host);
  const auto in = graph.input("x", tenon::f32, {1});
  const auto y =
      graph.add("line_10", {graph.add("line_20", {in}, {{"factor", 3}})}, {{"factor", 5}});
  graph.output("y", y);
  graph.output("gradient", graph.gradient(y, {in})[0]);
  Session session(graph);
  const auto outputs = session.run({{"x", x}});
  CHECK(first_of(outputs.at("y")) == 140);  // 5 * (3 * 2 + 20) + 10
  CHECK(first_of(outputs.at("gradient")) == 15);

  CHECK(host.add<Shift>({}, [] { return Shift{}; }) == "app.shift");
  host.add<Shift>("throws", []() -> Shift { throw std::runtime_error("there is no table yet"); });
  CHECK(failure_of([&] { called(host, "throws"); }).message == "[throws] there is no table yet");
  host.add<Shift>("throws", []() -> Shift { throw 1; });
  CHECK(failure_of([&] { called(host, "throws"); }).message ==
        "[throws] its factory failed without giving a reason");
  host.add_operator(tenon::manifest_of<Shift>("nothing"), tenon::table_of<Shift>(),
                    [](const tenon_attribute*, std::uint64_t) { return nullptr; });
  CHECK(failure_of([&] { called(host, "nothing"); }).message ==
        "[nothing] its factory returned no object");
}

TEST_CASE("operators from a factory live as long as their objects") {
  const auto table = std::make_shared<int>(0);
  std::optional<Session> session;
  {
    tenon::Host host(ApplicationHost::options(1));
    host.add<Shift>("shift", [table] {
      Shift shift;
      shift.by = static_cast<float>(table.use_count());
      return shift;
    });
    session.emplace(graph_of(host));
  }
  CHECK(table.use_count() > 1);
  CHECK(run(*session) > 1);
  session.reset();
  CHECK(table.use_count() == 1);
}

TEST_CASE("values of another host's graph are refused") {
  ApplicationHost host, other;
  Graph graph(host), stranger(other);
  const auto x = stranger.input("x", tenon::f32, {1});
  for (const std::function<void()>& use :
       {std::function<void()>([&] { graph.add("cosine", {x}); }),
        std::function<void()>([&] { graph.output("y", x); }),
        std::function<void()>([&] { graph.udf(Shift{}, {x}); })}) {
    const auto failure = failure_of(use);
    CHECK(failure.kind == 2);
    CHECK(failure.message == "the value belongs to another graph");
  }
  CHECK(graph.nodes().empty());
}

// Every thread's numbers may only grow: an older operator after a newer one would be a stale
// result.
TEST_CASE(
    "threads call, list, prepare, build, load and run while another thread adds operators and "
    "plugins") {
  constexpr int last = 60;
  ApplicationHost host;
  add_shift(host, 0);
  const auto bytes = graph_of(host).to_bytes();
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  const auto grows = [&](float& newest, float now) {
    if (now < newest || now > last) ++wrong;
    newest = now;
  };
  const auto both = [&](float first, float second) { wrong += first != second ? 1 : 0; };
  const auto run_twice = [&](const Graph& graph) {
    Session session(graph);
    const auto first = run(session);
    both(first, run(session));
    return first;
  };
  const std::function<void(float&)> tasks[] = {
      [&](float& newest) { grows(newest, called(host)); },
      [&](float& newest) {
        auto call = host.prepare("shift", {Argument::like(zero())});
        const auto first = prepared(call);
        grows(newest, first);
        std::this_thread::yield();
        both(first, prepared(call));
      },
      [&](float& newest) { grows(newest, run_twice(graph_of(host))); },
      [&](float& newest) { grows(newest, run_twice(Graph::from_bytes(host, bytes))); },
      [&](float&) { both(std::cos(0.f), called(host, "app.cosine")); },
      [&](float&) {
        std::size_t found = 0;
        for (const auto& op : host.catalog().operators())
          found += op.full_name() == "app.shift" || op.full_name() == "app.cosine" ? 1 : 0;
        const auto catalog = host.catalog();
        for (const auto& file : catalog.files()) wrong += file.path.empty() ? 1 : 0;
        wrong += found != 2 || catalog.find("shift") == nullptr ? 1 : 0;
      },
  };
  std::vector<std::thread> threads;
  for (const auto& task : tasks)
    threads.emplace_back([&] {
      float newest = 0;
      try {
        while (!done) task(newest);
        task(newest);
      } catch (const std::exception& error) {
        MESSAGE(error.what());
        ++wrong;
      }
    });
  for (int by = 1; by <= last; ++by) {
    add_shift(host, static_cast<float>(by));
    if (by % 20 == 0)
      host.add_plugins(by % 40 == 0 ? std::string(TENON_TEST_EXAMPLES) : example("cosine"));
    std::this_thread::yield();
  }
  done = true;
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(called(host) == last);
}
