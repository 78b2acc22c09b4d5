// A run changes states, variables and accumulating destinations once or, if it fails, not at all.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <stop_token>
#include <tenon/host/batched_run.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>
#include <tuple>
#include <vector>

#include "failing_host.hpp"
#include "failure_of.hpp"
#include "run/host_impl.hpp"
#include "run/session/session_impl.hpp"
#include "run/vectors.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

using namespace failing_runs;

namespace {

/// Changes states, a variable in place and a copied one, and an accumulating output; then a node,
/// and a later stage, that may fail. A constant subgraph makes the optimized graph differ from the
/// original.
Graph changing_graph(Host& host, bool late = true) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto tallied = graph.add("tally", {x}, {}, "tally");
  const auto in_place = graph.variable("in_place", vector_of({1, 2, 3, 4})),
             copied = graph.variable("copied", vector_of({5, 6, 7, 8}));
  const auto step = graph.constant("step", vector_of({0.5F, 0.25F, 2, 1}));
  graph.update(in_place, graph.add("drift", {in_place, step}));
  const auto moved = graph.add("drift", {copied, graph.add("sum_gradients", {step, step})});
  graph.update(copied, moved);
  graph.output("moved", graph.add("copied", {moved}));
  graph.output("sum", graph.add("copied", {tallied}));
  graph.output("direct", x);
  const auto checked = graph.add("picky", {tallied}, {}, "picky");
  graph.output("checked", checked);
  if (late) graph.output("late", graph.add("even", {graph.add("positive", {checked})}, {}, "even"));
  return graph;
}

NamedTensors session_tensors(const Session& session) {
  NamedTensors kept;
  for (const char* name : {"tally_runs", "picky_seen", "in_place", "copied"})
    if (const auto tensor = session.tensor(name)) kept.emplace(name, tensor.clone());
  return kept;
}

bool same_tensors(const NamedTensors& left, const NamedTensors& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const auto& one, const auto& other) {
                      return one.first == other.first && same_bits(one.second, other.second);
                    });
}

Tensor four_from(float first) {
  return vector_of({first, 2, 3, 4});
}

/// A session, and one that makes the same runs except the failing ones.
struct SessionPair {
  SessionPair(const Graph& graph, const SessionOptions& options)
      : tried(graph, options), untouched(graph, options) {}

  void succeed(float first) {
    const NamedTensors inputs{{"x", four_from(first)}};
    CHECK(same_tensors(tried.run(inputs), untouched.run(inputs)));
    compare();
  }
  void compare() const {
    CHECK(same_tensors(session_tensors(tried), session_tensors(untouched)));
    CHECK(tried.step() == untouched.step());
  }

  Session tried, untouched;
};

}  // namespace

TEST_CASE(
    "whole runs: failed runs leave states, variables and accumulating destinations unchanged") {
  struct Case {
    const char* name;
    float first;  // the first element of x
    bool late;
    const char* message;
  };
  const Case cases[] = {{"a kernel", RefusesOrStops::fails - 1, false,
                         "[picky] node 'picky': it met -1"},  // tally adds 1 or more
                        {"a later stage", -9, true,
                         "[even] node 'even': x is [3] but needs an even number of elements"},
                        {"a stop", RefusesOrStops::stops - 1, true, "the run was stopped"}};
  for (const bool training : {false, true})
    for (const auto optimize : {Optimize::full, Optimize::none})
      for (const auto& tried : cases) {
        CAPTURE(std::string(tried.name));
        CAPTURE(training);
        CAPTURE(optimize == Optimize::full);
        FailingHost host;
        SessionPair pair(changing_graph(host, tried.late),
                         {.training = training, .plans = 1, .optimize = optimize});
        for (int round = 0; round < 4; ++round) {
          const auto runs = static_cast<float>(round);  // tally will add one more than this
          RefusesOrStops::source = {};
          const Tensor sum = vector_of({1, 1, 1, 1}), moved = sum.clone(), direct = sum.clone();
          RunOptions request{.destinations = {{"sum", {sum, Write::add}},
                                              {"moved", {moved, Write::add}},
                                              {"direct", {direct, Write::add}}},
                             .stop = RefusesOrStops::source.get_token()};
          const auto failure = failure_of([&] {
            pair.tried.run({{"x", four_from(tried.first - runs)}}, request);
          });
          CAPTURE(failure.message);
          CHECK(failure.message.starts_with(tried.message));
          CHECK(same_bits(sum, vector_of({1, 1, 1, 1})));
          CHECK(same_bits(moved, vector_of({1, 1, 1, 1})));
          CHECK(same_bits(direct, vector_of({1, 1, 1, 1})));
          if (round > 0) pair.compare();  // before the first run, some states have no elements
          pair.succeed(1);
        }
        CHECK(first_of(pair.tried.tensor("tally_runs")) == 4);
        CHECK(first_of(pair.tried.tensor("in_place")) == (training ? 3 : 1));
        CHECK(first_of(pair.tried.tensor("copied")) == (training ? 9 : 5));
      }
}

TEST_CASE("whole runs: failed positional runs that repeat the last one change nothing") {
  FailingHost host;
  for (const bool training : {false, true}) {
    auto graph = changing_graph(host, false);
    Session session(graph, {.training = training});
    for (int run = 1; run <= 4; ++run) {
      std::vector<Tensor> outputs(graph.outputs().size());
      const auto number = session.step();
      CHECK(failure_of([&] {
              session.run_in_order(std::vector{four_from(-1 - static_cast<float>(run))}, outputs);
            }).message.starts_with("[picky] node 'picky': it met -1"));
      CHECK(session.step() == number);
      outputs.assign(outputs.size(), {});
      session.run_in_order(std::vector{four_from(1)}, outputs);
      CHECK(first_of(session.tensor("tally_runs")) == static_cast<float>(run));
      CHECK(first_of(session.tensor("in_place")) ==
            (training ? 1 + 0.5F * static_cast<float>(run) : 1));
    }
  }
}

TEST_CASE("whole runs: batched runs succeed or fail together") {
  FailingHost host;
  Graph graph(host);
  graph.output(
      "y", graph.add("picky", {graph.add("tally", {graph.input("x", f32, {-1})}, {}, "tally")}, {},
                     "picky"));
  Session session(graph);
  const NamedTensors good{{"x", vector_of({1, 1, 1, 1, 1, 1})}},
      bad{{"x", vector_of({1, 1, 1, 1, 1, -4})}};
  int taken = 0;
  for (int round = 0; round < 3; ++round) {
    const auto before = static_cast<float>(3 * round);
    const NamedTensors worse{{"x", vector_of({1, 1, 1, 1, 1, -4 - before})}};
    CHECK(failure_of([&] {
            run_in_batches(session, worse, 2);
          }).message.starts_with("[picky] node 'picky': it met -1"));
    CHECK(failure_of([&] {
            run_each_batch(session, worse, 2, [&](const NamedTensors&, std::int64_t) { ++taken; });
          }).kind == 1);
    CHECK(session.step() == static_cast<std::uint64_t>(before));
    if (round > 0) CHECK(first_of(session.tensor("tally_runs")) == before);
    run_in_batches(session, good, 2);
    CHECK(first_of(session.tensor("tally_runs")) == before + 3);
  }
  CHECK(taken == 6);
}

TEST_CASE("whole runs: the search for non-finite values changes nothing") {
  FailingHost host;
  Session session(changing_graph(host), {.training = true});
  const NamedTensors inputs{{"x", four_from(1)}};
  session.run(inputs);
  const auto before = session_tensors(session);
  CHECK(session.first_non_finite(inputs).empty());
  CHECK(same_tensors(session_tensors(session), before));
  CHECK(failure_of([&] { session.first_non_finite({{"x", four_from(-9)}}); }).kind == 1);
  CHECK(same_tensors(session_tensors(session), before));
}

TEST_CASE("whole runs: outputs are finished once, also in a run of several stages") {
  FailingHost host;
  TemporaryFolder folder;
  const auto with = [](auto set) {
    SessionOptions options;
    set(options);
    return options;
  };
  for (const auto& options :
       {SessionOptions(), with([](auto& each) { each.optimize = Optimize::none; }),
        with([](auto& each) { each.profile = true; }), with([](auto& each) { each.debug = true; }),
        with([&](auto& each) { each.trace = (folder.path() / "trace.json").string(); })}) {
    Session session(changing_graph(host), options);
    std::vector<std::string> finished;
    const Tensor sum = vector_of({0, 0, 0, 0});
    RunOptions request{
        .destinations = {{"sum", {sum, Write::to}}},
        .on_output_ready = [&](const std::string& name) { finished.push_back(name); }};
    CHECK(failure_of([&] { session.run({{"x", four_from(-9)}}, request); }).kind == 1);
    CHECK(finished.size() <= 1);
    finished.clear();
    session.run({{"x", four_from(1)}}, request);
    CHECK(finished == std::vector<std::string>{"sum"});
    CHECK(first_of(sum) == 2);
  }
}

// x through an operator, along with a constant that optimization computes once.
static Graph optimizable(Host& host, const char* op) {
  Graph graph(host);
  const auto constant = graph.add(
      "sum_gradients", {graph.constant("a", vector_of({1})), graph.constant("b", vector_of({2}))});
  graph.output("constant", graph.add("drift", {constant, constant}));
  graph.output("y", graph.add(op, {graph.input("x", f32, {-1})}, {}, op));
  return graph;
}

TEST_CASE("whole runs: after a refused request, the next run still repeats the last one") {
  FailingHost host;
  for (const auto optimize : {Optimize::full, Optimize::none}) {
    Session session(optimizable(host, "even"), {.optimize = optimize});
    const auto run = [&](int size, RunOptions options = {}) {
      return session.run({{"x", Tensor::zeros(f32, {size})}}, options);
    };
    run(2);
    const auto& impl = impl_of(session);
    const auto* const graph = &impl.graphs.last();
    const auto repeats = [&] {
      if (impl.planner.quick == nullptr || &impl.graphs.last() != graph) return false;
      const auto used = impl.plans.last()->used;
      run(2);
      return impl.plans.last()->used == used && impl.plans.made() == 1;  // no plan was looked up
    };
    CHECK(repeats());
    CHECK(failure_of([&] { run(3); }).kind != 0);
    CHECK(repeats());
    CHECK(failure_of([&] { session.plan({{"x", {3}}}); }).kind != 0);
    CHECK(repeats());
    CHECK(failure_of([&] { session.run({{"x", Tensor::zeros(f32, {2, 2, 2})}}); }).kind != 0);
    CHECK(repeats());
    for (const int size : {2, 6}) {  // with a plan, and without one
      RunOptions options;
      options.destinations["y"] = {Tensor::zeros(f32, {7}), Write::to};
      CHECK(failure_of([&] { run(size, options); }).kind != 0);
      CHECK(repeats());
    }
  }
}

TEST_CASE("whole runs: if memory does not suffice for a known plan, the last run still repeats") {
  FailingHost host;
  auto& limit = impl_of(host).options.memory_limit;
  for (const auto optimize : {Optimize::full, Optimize::none}) {
    Session session(optimizable(host, "even"), {.optimize = optimize});
    const auto run = [&](int size) { return session.run({{"x", Tensor::zeros(f32, {size})}}); };
    session.plan({{"x", {4}}});
    run(2);
    const auto& planner = impl_of(session).planner;
    const auto* const quick = planner.quick.get();
    REQUIRE(quick != nullptr);
    limit = 1;
    CHECK(failure_of([&] { run(4); }).message.find("the memory limit leaves") != std::string::npos);
    limit = 0;
    CHECK(planner.quick.get() == quick);
    CHECK(run(2).at("y").shape() == Shape{2});
    CHECK(run(4).at("y").shape() == Shape{4});
  }
}

TEST_CASE("whole runs: a refused input drops no plan and no execution, on any path") {
  FailingHost host;
  for (const auto optimize : {Optimize::full, Optimize::none}) {
    Session session(optimizable(host, "even"), {.plans = 2, .optimize = optimize});
    const auto run = [&](int size) { return session.run({{"x", Tensor::zeros(f32, {size})}}); };
    run(2), run(4);
    const auto& plans = impl_of(session).plans;
    const auto made = plans.made();
    std::vector<const Execution*> before;
    for (const auto& [key, planned] : plans.all()) before.push_back(planned.execution.get());
    for (int round = 0; round < 3; ++round) {
      CHECK(failure_of([&] { run(3); }).message.find("needs an even number") != std::string::npos);
      CHECK(failure_of([&] {
              session.plan({{"x", {3}}});
            }).message.find("needs an even number") != std::string::npos);
      CHECK(failure_of([&] { session.run({{"x", Tensor::zeros(f32, {2, 2, 2})}}); }).kind != 0);
      CHECK(failure_of([&] { session.run({}); }).message.find("no value passed for input x") !=
            std::string::npos);
      const auto run_to = [&](const char* output, Tensor destination) {
        RunOptions options;
        options.destinations[output] = {std::move(destination), Write::to};
        return failure_of([&] { session.run({{"x", Tensor::zeros(f32, {6})}}, options); }).kind;
      };
      CHECK(run_to("y", Tensor::zeros(f32, {7})) != 0);
      CHECK(run_to("nothing", Tensor::zeros(f32, {6})) != 0);
      std::stop_source stopped;
      stopped.request_stop();
      CHECK(failure_of([&] {
              session.run({{"x", Tensor::zeros(f32, {8})}}, {.stop = stopped.get_token()});
            }).kind != 0);
      CHECK(failure_of([&] {
              run_in_batches(session, {{"x", Tensor::zeros(f32, {5})}}, 3);
            }).kind != 0);
      CHECK(failure_of([&] {
              session.first_non_finite({{"x", Tensor::zeros(f32, {3})}});
            }).kind != 0);
      CHECK(run(2).at("y").shape() == Shape{2});
      CHECK(run(4).at("y").shape() == Shape{4});
    }
    CHECK(plans.made() == made);
    std::vector<const Execution*> after;
    for (const auto& [key, planned] : plans.all())
      if (planned.execution) after.push_back(planned.execution.get());
    CHECK(after == before);
  }
}

TEST_CASE("whole runs: variables that update each other get the values before the run") {
  FailingHost host;
  for (const bool late : {false, true}) {
    for (const bool read_first : {false, true}) {
      CAPTURE(late);
      CAPTURE(read_first);
      Graph graph(host);
      const auto x = graph.input("x", f32, {2});
      const auto a = graph.variable("a", vector_of({1, 2})),
                 b = graph.variable("b", vector_of({3, 4})),
                 follows = graph.variable("follows", vector_of({0, 0})),
                 moves = graph.variable("moves", vector_of({5, 6}));
      graph.update(a, b), graph.update(b, a);
      if (read_first) graph.update(follows, moves);
      graph.update(moves, graph.add("drift", {moves, x}));
      if (!read_first) graph.update(follows, moves);
      graph.output(
          "y", late ? graph.add("even", {graph.add("positive", {x})}) : graph.add("copied", {x}));
      Session session(graph, {.training = true});
      using Values = std::vector<float>;
      for (const auto& [swapped, other, followed] :
           {std::tuple{Values{3, 4}, Values{1, 2}, Values{5, 6}},
            std::tuple{Values{1, 2}, Values{3, 4}, Values{6, 7}}}) {
        session.run({{"x", vector_of({1, 1})}});
        CHECK(floats_of(session.tensor("a")) == swapped);
        CHECK(floats_of(session.tensor("b")) == other);
        CHECK(floats_of(session.tensor("follows")) == followed);
      }
      CHECK(floats_of(session.tensor("moves")) == Values{7, 8});
    }
  }
}

TEST_CASE("whole runs: variables initialized by a failed run have no values afterwards") {
  FailingHost host;
  host.add<Weighted>("weighted");
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto checked = graph.add("picky", {x}, {}, "picky");
  graph.output("y", graph.add("weighted", {checked}, {}, "weighted"));
  Session session(graph);
  const auto run = [&](int size, float value) {
    return session.run({{"x", Tensor::from(std::vector<float>(size, value), {size})}});
  };
  CHECK(failure_of([&] { run(3, -1); }).message.find("it met -1") != std::string::npos);
  CHECK_FALSE(session.tensor("weighted_w"));
  CHECK(run(2, 1).at("y").shape() == Shape{2});
  CHECK(session.tensor("weighted_w").shape() == Shape{2});
  CHECK(failure_of([&] { run(3, 1); }).kind != 0);
  CHECK(session.tensor("weighted_w").shape() == Shape{2});
}

TEST_CASE("whole runs: a failed run that initialized a variable keeps plans that do not read it") {
  FailingHost host;
  host.add<Weighted>("weighted");
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1}), z = graph.input("z", f32, {-1});
  graph.output("a", graph.add("drift", {x, x}));
  const auto checked = graph.add("picky", {z}, {}, "picky");
  graph.output("b", graph.add("weighted", {checked}, {}, "weighted"));
  Session session(graph);
  const auto run = [&](int size) {
    session.run({{"x", Tensor::zeros(f32, {size})}}, {.outputs = {"a"}});
  };
  run(2), run(3);
  const auto made = impl_of(session).plans.made();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    const auto failure = failure_of([&] {
      session.run({{"z", vector_of({-1, -1})}}, {.outputs = {"b"}});
    });
    CHECK(failure.message.find("it met -1") != std::string::npos);
    CHECK_FALSE(session.tensor("weighted_w"));
    run(2), run(3);
    CHECK(impl_of(session).plans.made() == made + round);  // that of b is made again
  }
}

namespace {

/// x plus the sum of all x so far, which is a state of x's shape.
struct SumsRuns : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.state("sum", "the shape of x");
  }
  void infer(Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("sum", io.input(0).shape);
  }
  void forward(const Call& call) const {
    const auto x = call.input<float>(0);
    const auto sum = call.state<float>("sum");
    for (std::int64_t i = 0; i < x.size(); ++i) call.output<float>(0)[i] = sum[i] += x[i];
  }
};

}  // namespace

TEST_CASE("whole runs: states initialized by a failed run have no values afterwards") {
  FailingHost host;
  host.add<SumsRuns>("sums");
  Graph graph(host);
  const auto sum = graph.add("sums", {graph.input("x", f32, {-1})}, {}, "sums");
  graph.output("y", graph.add("picky", {sum}));
  Session session(graph, {.training = true});
  const auto run = [&](std::initializer_list<float> x) {
    return floats_of(session.run({{"x", vector_of(x)}}).at("y"));
  };
  CHECK(failure_of([&] { run({2, -1}); }).message.find("it met -1") != std::string::npos);
  CHECK_FALSE(session.tensor("sums_sum"));
  CHECK(impl_of(session).plans.all().empty());
  CHECK(run({2, 3}) == std::vector<float>{2, 3});
  CHECK(failure_of([&] { run({2, -4}); }).kind != 0);
  CHECK(run({2, 3}) == std::vector<float>{4, 6});
  CHECK(floats_of(session.tensor("sums_sum")) == std::vector<float>{4, 6});
}

TEST_CASE("whole runs: no plan refers to variables that a failed run initialized") {
  FailingHost host;
  host.add<Weighted>("weighted");
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  graph.add("weighted", {x}, {}, "weighted");  // not among the outputs
  graph.output("y", graph.add("picky", {x}));
  Session session(graph, {.optimize = Optimize::none});
  const auto run = [&](float value) { session.run({{"x", vector_of({value, 2})}}); };
  CHECK(failure_of([&] { run(-1); }).message.find("it met -1") != std::string::npos);
  CHECK_FALSE(session.tensor("weighted_w"));
  CHECK(impl_of(session).plans.all().empty());
  run(1);
  CHECK(session.tensor("weighted_w"));
  CHECK(session.first_non_finite({{"x", vector_of({1, 2})}}).empty());
}
