// The memory of a session with many input shapes.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>

#include "../../application_host.hpp"
#include "../../check_says.hpp"
#include "../../failure_of.hpp"
#include "../../probe_operators.hpp"
#include "device/devices.hpp"
#include "device/memory.hpp"
#include "run/session/memory_need.hpp"
#include "run/session/session_impl.hpp"
#include "run/vectors.hpp"
#include "tensor/sparse/rows.hpp"

using namespace tenon;

namespace {

struct FirstOf : Operator {
  static constexpr void describe(auto& op) {
    op.doc("the first element");
    op.types({f32});
    op.input("x", "any shape");
    op.output("first", "[1]");
  }
  void infer(Infer& io) const { io.set_output(0, {1}); }
  void forward(const Call& call) const { call.output<float>(0)[0] = call.input<float>(0)[0]; }
};

struct MemoryHost : ApplicationHost {
  explicit MemoryHost(const HostOptions& options = ApplicationHost::options(2))
      : ApplicationHost(options) {
    add<probes::Plus>("plus");
  }
};

/// y = 2 ((x + 1)^2 + x): intermediate values that need memory.
Graph quadratic_graph(Host& host) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, 8});
  const auto one = graph.constant("one", Tensor::from({1.0f}, {1}));
  const auto square =
      graph.add("quadratic", {graph.add("plus", {x, one})}, {{"a", 1.0}, {"b", 0.0}}, "squared");
  const auto sum = graph.add("plus", {square, x}, {}, "sum");
  graph.output("y", graph.add("plus", {sum, sum}, {}, "twice"));
  return graph;
}

Tensor numbered_rows(std::int64_t rows) {
  std::vector<float> values(static_cast<std::size_t>(8 * rows));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::from(values, {rows, 8});
}

void check_run(Session& session, std::int64_t rows) {
  const auto result = session.run({{"x", numbered_rows(rows)}}).at("y");
  const auto y = result.values<float>();
  REQUIRE(y.size() == static_cast<std::size_t>(8 * rows));
  bool right = true;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto x = static_cast<float>(i);
    right = right && y[i] == 2 * ((x + 1) * (x + 1) + x);
  }
  CHECK(right);
}

}  // namespace

TEST_CASE(
    "plans of a session: for any sequence of shapes, memory is the largest plan's, plus at most a "
    "tenth") {
  MemoryHost host;
  SessionOptions options;
  options.plans = 3;
  Session session(quadratic_graph(host), options);
  for (const std::int64_t rows :
       {1, 2, 3, 4, 100, 2, 4, 1, 100, 7, 200, 100, 200, 1, 50, 50, 0, 1}) {
    CAPTURE(rows);
    check_run(session, rows);
    CHECK(impl_of(session).plans.all().size() <= 3);
  }
  const auto bytes = impl_of(session).plans.arenas().bytes({&cpu_device(), nullptr, {}}),
             most = session.plan_bytes({{"x", {200, 8}}});
  CHECK(bytes >= most);
  CHECK(bytes <= most + most / 10);
  Session one(quadratic_graph(host));
  check_run(one, 200);
  CHECK(impl_of(one).plans.arenas().bytes({&cpu_device(), nullptr, {}}) ==
        most);  // no spare memory for a single shape
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE(
    "plans of a session: many, each slightly larger than the last, do not fragment the heap") {
  MemoryHost host;
  host.add<FirstOf>();
  auto graph = quadratic_graph(host);
  graph.output("first", graph.add("first_of", {graph.find("squared")}));
  Session session(graph, {.optimize = Optimize::none});
  const auto resident = [] {
    std::uint64_t space = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> space >> pages;
    return static_cast<std::int64_t>(pages) * ::sysconf(_SC_PAGESIZE);
  };
  constexpr std::int64_t most = 40'000;
  const auto all = ones(f32, {most, 8});
  const auto run = [&](std::int64_t rows) {
    CHECK(first_of(session.run({{"x", row_range(all, 0, rows)}}, RunOptions{.outputs = {"first"}})
                       .at("first")) == 4);
  };
  run(most / 2);
  const auto before = resident(), bytes = session.plan_bytes({{"x", {most, 8}}});
  CHECK(bytes > 2'000'000);
  for (std::int64_t rows = most / 2; rows < most; rows += most / 400) run(rows);
  CHECK(resident() - before < 3 * bytes);  // fragmentation by 64 plans would take 64 times as much
}
#endif

TEST_CASE("plans of a session: the least recently used one is evicted") {
  MemoryHost host;
  SessionOptions options;
  options.plans = 2;
  Session session(quadratic_graph(host), options);
  const auto kept = [&](std::int64_t rows) {
    const auto& plans = impl_of(session).plans.all();
    return std::any_of(plans.begin(), plans.end(), [&](const auto& each) {
      return std::find(each.first.begin(), each.first.end(), rows) != each.first.end();
    });
  };
  for (const std::int64_t rows : {11, 12, 11, 13}) check_run(session, rows);
  CHECK(kept(11));
  CHECK_FALSE(kept(12));
  CHECK(kept(13));
  options.plans = 0;
  CHECK(failure_of([&] { Session(quadratic_graph(host), options); }).message ==
        "SessionOptions::plans is 0 but must be at least 1");
}

TEST_CASE("plans of a session: their bytes are bounded, and the newest stays") {
  MemoryHost host;
  std::uint64_t of_one = 0;
  {
    Session session(quadratic_graph(host));
    check_run(session, 10);
    of_one = impl_of(session).plans.bytes();
    CHECK(of_one > 1000);
    check_run(session, 20);
    CHECK(impl_of(session).plans.bytes() == 2 * of_one);
  }
  const auto kept = [&](std::uint64_t bytes) {
    Session session(quadratic_graph(host), {.plan_memory = bytes});
    for (const std::int64_t rows : {11, 12, 13, 14, 12}) {
      check_run(session, rows);
      CHECK(impl_of(session).plans.bytes() == impl_of(session).plans.all().size() * of_one);
    }
    return std::pair(impl_of(session).plans.all().size(), impl_of(session).plans.made());
  };
  CHECK(kept(4 * of_one) == std::pair<std::size_t, std::uint64_t>(4, 4));
  CHECK(kept(4 * of_one - 1) == std::pair<std::size_t, std::uint64_t>(3, 4));
  CHECK(kept(3 * of_one - 1) == std::pair<std::size_t, std::uint64_t>(2, 5));
  CHECK(kept(0) == std::pair<std::size_t, std::uint64_t>(1, 5));
}

TEST_CASE(
    "plans of a session: the last executed one is forgotten if it is evicted, and only then") {
  MemoryHost host;
  SessionOptions options;
  options.plans = 2;
  Session session(quadratic_graph(host), options);
  const auto& plans = impl_of(session).plans;
  check_run(session, 11), check_run(session, 12);
  const auto* const last = plans.last();
  REQUIRE(last != nullptr);
  CHECK(session.plan_bytes({{"x", {13, 8}}}) > 0);  // evicts the plan for 11 rows
  CHECK(plans.last() == last);
  CHECK(session.plan_bytes({{"x", {14, 8}}}) > 0);
  CHECK(plans.last() == nullptr);
  check_run(session, 13);
}

TEST_CASE("plans of a session: refused keys are bounded by their number and their bytes") {
  const auto stage_of = [](std::size_t values) {
    auto graph = std::make_shared<GraphSnapshot>();
    graph->model.values.resize(values);
    auto stage = std::make_shared<Stage>();
    stage->graph = std::move(graph);
    return std::shared_ptr<const Stage>(std::move(stage));
  };
  const auto stage = stage_of(0);
  const auto refuse = [&](PlanStore& store, std::int64_t first, std::int64_t end) {
    for (auto key = first; key < end; ++key) store.refuse({key}, stage);
  };
  const auto is_refused = [&](const PlanStore& store, std::int64_t key) {
    return store.fallback_for({key}) == stage;
  };
  PlanStore few(2, 1 << 20);
  refuse(few, 0, 32);  // 16 for each plan
  CHECK(is_refused(few, 0));
  refuse(few, 32, 33);
  CHECK_FALSE(is_refused(few, 0));
  CHECK(is_refused(few, 32));

  constexpr auto key_bytes = sizeof(std::int64_t);
  PlanStore small(2, 4 * 3 * key_bytes);  // a quarter is for refused keys
  refuse(small, 0, 1), refuse(small, 0, 3);
  CHECK(is_refused(small, 0));
  refuse(small, 3, 4);
  CHECK_FALSE(is_refused(small, 0));
  refuse(small, 4, 6);
  CHECK(is_refused(small, 3));
  refuse(small, 6, 7);
  CHECK_FALSE(is_refused(small, 3));

  // Each late stage of the original graph has a graph of its own, which counts; shared ones count
  // once.
  PlanStore large(100, 1 << 20);
  std::int64_t key = 0;
  for (; key < 50; ++key) large.refuse({key}, stage_of(1000));
  CHECK(large.fallback_for({key - 1}) != nullptr);
  int remembered = 0;
  for (std::int64_t each = 0; each < key; ++each)
    remembered += large.fallback_for({each}) != nullptr ? 1 : 0;
  CHECK(remembered < 5);
  PlanStore shared(100, 1 << 20);
  const auto whole = stage_of(200);
  for (std::int64_t each = 0; each < 50; ++each) shared.refuse({each}, whole);
  CHECK(shared.fallback_for({0}) == whole);
}

TEST_CASE(
    "plans of a session: one that does not fit memory is refused before allocation, and the "
    "session continues") {
  MemoryHost host;
  Graph graph(host);
  const auto column = graph.input("column", f32, {-1, 1}), row = graph.input("row", f32, {1, -1});
  graph.output("y", graph.add("quadratic", {graph.add("plus", {column, row}, {}, "all_pairs")},
                              {{"a", 1.0}, {"b", 0.0}}));
  Session session(graph);
  const auto run = [&](std::int64_t size) {
    const auto y =
        session.run({{"column", ones(f32, {size, 1})}, {"row", ones(f32, {1, size})}}).at("y");
    return y.values<float>().back();
  };
  CHECK(run(3) == 4);
  const auto failure = failure_of([&] { run(std::int64_t{1} << 19); });
  CHECK(failure.kind == static_cast<int>(FailureKind::failed));
  check_says(failure.message,
             {"needs 1.0 TiB for values inside the graph", "1.0 TiB for its outputs",
              "the largest tensor is 'quadratic', float32 [524288, 524288], of 1.0 TiB"});
  CHECK(run(4) == 4);
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("plans of a session: memory cached for later allocations is released") {
  constexpr std::uint64_t mebibyte = 1 << 20;
  {
    const Memory block = allocate(100 * mebibyte);
    std::memset(block.get(), 1, 100 * mebibyte);
  }
  std::uint64_t space = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> space >> resident;
  auto options = ApplicationHost::options(1);
  options.memory_limit =
      resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + 60 * mebibyte;
  MemoryHost host(options);
  Graph graph(host);
  const auto column = graph.input("column", f32, {-1, 1}), row = graph.input("row", f32, {1, -1});
  graph.output("y", graph.add("plus", {column, row}));
  const auto y =
      Session(graph).run({{"column", ones(f32, {5000, 1})}, {"row", ones(f32, {1, 5000})}}).at("y");
  CHECK(y.values<float>().back() == 2);
}
#endif

TEST_CASE("plans of a session: a host's limit on memory") {
  auto options = ApplicationHost::options(1);
  options.memory_limit = 1;  // the process already uses more
  MemoryHost host(options);
  Session session(quadratic_graph(host));
  const auto failure = failure_of([&] { session.run({{"x", numbered_rows(2)}}); });
  CHECK(failure.message.find(", but the memory limit leaves 0 B; the largest tensor is ") !=
        std::string::npos);
  const NamedTensors inputs{{"x", numbered_rows(2)}};
  CHECK(failure_of([&] {
          session.run(inputs, Destinations{{"y", {numbered_rows(2), Write::to}}});
        }).message.find(" and 0 B for its outputs") != std::string::npos);
}

TEST_CASE("plans of a session: memory of an output counts once, and not if it has a destination") {
  MemoryHost host;
  const auto needed = [&](int names, bool has_destination) {
    Graph graph(host);
    const auto y = graph.add("quadratic", {graph.input("x", f32, {256})}, {{"a", 1.0}});
    for (int i = 0; i < names; ++i) graph.output("y" + std::to_string(i), y);
    Session session(graph);
    session.run({{"x", ones(f32, {256})}});
    const auto& store = impl_of(session).plans;
    Destinations destinations;
    if (has_destination) destinations.emplace("y0", Destination{ones(f32, {256})});
    const auto& plan = *store.all().begin()->second.plan;
    return failure_of([&] { require_memory(plan, store.arenas(), destinations, 0, 1); }).message;
  };
  CHECK(needed(1, false).find("1.0 KiB for its outputs") != std::string::npos);
  CHECK(needed(2, false).find("1.0 KiB for its outputs") != std::string::npos);
  CHECK(needed(1, true).empty());
}
