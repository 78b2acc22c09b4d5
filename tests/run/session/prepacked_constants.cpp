// Packed constants of kernels: when they are allowed, which sessions share them, and how changes of
// elements are detected.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>
#include <thread>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

namespace {

std::atomic<int> fills{0}, used{0};

/// y = sum of the weight times x. A stale packed sum shows in the result.
struct SumTimes : Operator {
  std::int64_t fault = 0;
  bool twice = false;

  static constexpr void describe(auto& op) {
    op.doc("x times the sum of the weight");
    op.types({f32});
    op.input("x", "[n]");
    op.input("weight", "[k]").weight();
    op.output("y", "[n]");
    op.param("twice", &SumTimes::twice, "whether the sum counts twice");
    op.param("fault", &SumTimes::fault, "the fault of prepare(); 0: none");
    op.backward_reads("x", "weight");
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  static float sum(const View<const float>& weight) {
    float sum = 0;
    for (const float each : weight) sum += each;
    return sum;
  }
  void prepare(Prepare& io) const {
    if (!io.is_constant("weight")) return;
    const auto fill = [&](void* memory) {
      if (fault == 1) throw Error("there is no sum today");
      ++fills;
      *static_cast<float*>(memory) = (twice ? 2 : 1) * sum(io.constant<float>("weight"));
    };
    if (fault == 2) io.prepack(0, "x", "sum", sizeof(float), fill);
    if (fault == 3) io.prepack(TENON_MAX_KEPT, "weight", "sum", sizeof(float), fill);
    if (fault == 4) io.prepack(0, "weight", "sum", 0, fill);
    if (fault == 5) io.prepack(0, "weight", "", sizeof(float), fill);
    if (fault == 11) io.prepack(0, "weight", std::string(4097, 'k'), sizeof(float), fill);
    if (fault == 6) (void)io.constant<double>("weight");
    if (fault == 7) (void)io.is_constant("wieght");
    const int slot = io.backward() ? 3 : 0;
    io.prepack(slot, "weight", twice ? "twice the sum" : "sum",
               fault == 8 ? std::size_t{1} << 45 : sizeof(float), fill);
    if (fault == 9) io.prepack(slot, "weight", "other", sizeof(float), fill);
    if (fault == 10) {  // as a plugin in C may
      auto& raw = const_cast<tenon_prepare&>(io.raw());
      raw.keep(&raw, slot + 1, 1, "nothing", sizeof(float), nullptr, nullptr);
    }
  }
  float factor(const Call& call) const {
    const auto* packed = static_cast<const float*>(call.prepacked(call.backward() ? 3 : 0));
    used += packed != nullptr;
    return packed ? *packed : (twice ? 2 : 1) * sum(call.input<float>("weight"));
  }
  void forward(const Call& call) const {
    const float times = factor(call);
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = times * call.input<float>(0)[i];
  }
  void backward(const Call& call) const {
    const float times = factor(call);
    const auto dy = call.output_grad<float>(0), x = call.input<float>(0);
    float along = 0;
    for (std::int64_t i = 0; i < dy.size(); ++i) along += dy[i] * x[i];
    if (call.write(0) != Write::none)
      for (std::int64_t i = 0; i < dy.size(); ++i) call.input_grad<float>(0)[i] = times * dy[i];
    if (call.write(1) != Write::none)
      for (float& each : call.input_grad<float>(1)) each = along;
  }
};

/// y = factor * the sum of the weight * x, where factor is not a parameter.
struct TimesHidden : Operator {
  float factor = 1;

  static constexpr void describe(auto& op) {
    op.doc("x times the sum of the weight times a number");
    op.types({f32});
    op.input("x", "[n]");
    op.input("weight", "[k]").weight();
    op.output("y", "[n]");
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  void prepare(Prepare& io) const {
    if (!io.is_constant("weight")) return;
    io.prepack(0, "weight", "factor", sizeof(float), [&](void* memory) {
      ++fills;
      *static_cast<float*>(memory) = factor * SumTimes::sum(io.constant<float>("weight"));
    });
  }
  void forward(const Call& call) const {
    const auto* packed = static_cast<const float*>(call.prepacked(0));
    used += packed != nullptr;
    const float times = packed ? *packed : factor * SumTimes::sum(call.input<float>("weight"));
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = times * call.input<float>(0)[i];
  }
};

struct PackedHost : ApplicationHost {
  PackedHost() {
    add<SumTimes>();
    fills = used = 0;
  }
};

// Only the graph has the tensor, unless the caller has a handle.
Graph graph_of(Host& host, const Tensor& weight, const Attributes& attributes = {}) {
  Graph graph(host);
  graph.output("y",
               graph.add("sum_times", {graph.input("x", f32, {-1}), graph.variable("w", weight)},
                         attributes, "s"));
  return graph;
}

float first(Session& session) {
  return session.run({{"x", vector_of({1, 2})}}).at("y").values<float>()[0];
}

}  // namespace

TEST_CASE(
    "packed constants: made once, used in every run, shared by plans and by sessions of a graph "
    "and its clone") {
  PackedHost host;
  const auto graph = graph_of(host, vector_of({1, 2, 3}));
  {
    Session one(graph), other(graph), third(graph.clone());
    CHECK(fills == 0);
    CHECK(first(one) == 6);
    CHECK(first(one) == 6);
    one.run({{"x", vector_of({1, 2, 3})}});  // another plan
    CHECK(first(other) == 6);
    CHECK(first(third) == 6);
    CHECK(fills == 1);
    CHECK(used == 5);
  }
  Session later(graph);  // no session holds it now
  CHECK(first(later) == 6);
  CHECK(fills == 2);
  Tensor made[1];
  const Tensor given[] = {vector_of({1, 2})};
  for (int i = 0; i < 3; ++i) later.run_in_order(given, made);
  CHECK(made[0].values<float>()[1] == 12);
  CHECK(used == 9);
}

TEST_CASE(
    "packed constants: different packings of one tensor are separate, equal ones are shared") {
  PackedHost host;
  auto graph = graph_of(host, vector_of({1, 2, 3}));
  const auto s = graph.find("s"), w = graph.find("w");
  const auto t = graph.add("sum_times", {s, w}, {{"twice", true}}, "t");
  graph.output("z", graph.add("sum_times", {t, w}, {}, "u"));
  Session session(graph);
  CHECK(session.plan({{"x", {2}}}).packed_bytes() == 8);
  CHECK(session.run({{"x", vector_of({1, 2})}}).at("z").values<float>()[1] == 2 * 6 * 12 * 6);
  CHECK(fills == 2);
  CHECK(used == 3);
}

TEST_CASE(
    "packed constants: operators of one class with different objects do not share them, sessions "
    "do") {
  PackedHost host;
  const auto with = [](float factor) {
    TimesHidden made;
    made.factor = factor;
    return made;
  };
  host.add<TimesHidden>("times_two", [&] { return with(2); });
  host.add<TimesHidden>("times_three", [&] { return with(3); });
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1}), w = graph.variable("w", vector_of({1, 2, 3}));
  graph.output("two", graph.add("times_two", {x, w}));
  graph.output("three", graph.add("times_three", {x, w}));
  graph.output("five", graph.udf(with(5), {x, w}));
  graph.output("seven", graph.udf(with(7), {x, w}));
  Session one(graph), other(graph), third(graph.clone());
  for (auto* session : {&one, &other, &third}) {
    const auto made = session->run({{"x", vector_of({1, 2})}});
    CHECK(same_bits(made.at("two"), vector_of({12, 24})));
    CHECK(same_bits(made.at("three"), vector_of({18, 36})));
    CHECK(same_bits(made.at("five"), vector_of({30, 60})));
    CHECK(same_bits(made.at("seven"), vector_of({42, 84})));
  }
  CHECK(used == 12);
  CHECK(fills == 4);
}

TEST_CASE("packed constants: counted in the plan, where they are not filled") {
  PackedHost host;
  const auto graph = graph_of(host, vector_of({1, 2, 3}));
  Session session(graph);
  const auto plan = session.plan({{"x", {2}}});
  REQUIRE(plan.steps.size() == 1);
  REQUIRE(plan.steps[0].packed_constants.size() == 1);
  CHECK(plan.steps[0].packed_constants[0].value == "w");
  CHECK(plan.steps[0].packed_constants[0].key == "sum");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  REQUIRE(plan.steps[0].kept.size() == 1);  // the old name
  CHECK(plan.steps[0].kept[0].key == "sum");
#pragma GCC diagnostic pop
  CHECK(plan.packed_bytes() == 4);
  CHECK(describe(plan).find("packs 4 bytes of w") != std::string::npos);
  CHECK(describe_memory(plan).find("s packs 4 bytes of w: sum") != std::string::npos);
  CHECK(summarize(plan).find("; 4 bytes packed from constants") != std::string::npos);
  CHECK(fills == 0);
  Session as_written(graph, {.optimize = Optimize::none});
  CHECK(as_written.plan({{"x", {2}}}).packed_bytes() == 0);
  CHECK(first(as_written) == 6);
  CHECK(used == 0);
}

TEST_CASE(
    "packed constants: writes to a borrowed weight between runs show, unless it is declared "
    "constant") {
  PackedHost host;
  float memory[] = {1, 2, 3};
  const auto graph = graph_of(host, Tensor::borrow(memory, f32, {3}));
  Session session(graph);
  CHECK(session.plan({{"x", {2}}}).packed_bytes() == 0);
  CHECK(first(session) == 6);
  memory[0] = 11;
  CHECK(first(session) == 16);
  CHECK(used == 0);
  Session promised(graph, {.constant_weights = true});
  CHECK(first(promised) == 16);
  CHECK(used == 1);
  memory[0] = 21;
  CHECK(first(session) == 26);
  Session after(graph, {.constant_weights =
                            true});  // must not share what relies on another session's promise
  CHECK(first(after) == 26);
  Session read_only(graph_of(host, Tensor::borrow_read_only(memory, f32, {3})));
  CHECK(first(read_only) == 26);
  CHECK(used == 3);
}

TEST_CASE("packed constants: writes through an application's handle show") {
  PackedHost host;
  std::optional<Tensor> handle = vector_of({1, 2, 3});
  const auto graph = graph_of(host, *handle);
  Session session(graph);
  CHECK(first(session) == 6);
  handle->data<float>()[0] = 11;
  CHECK(first(session) == 16);
  CHECK(used == 0);
  handle.reset();  // without a handle, the application cannot write
  CHECK(first(session) == 16);
  CHECK(used == 1);

  SUBCASE("from the graph") {
    handle = graph.tensor("w");
  }
  SUBCASE("from the session") {
    handle = session.tensor("w");
  }
  SUBCASE("from another session of the graph") {
    handle = Session(graph).tensor("w");
  }
  SUBCASE("through a view") {
    handle = graph.tensor("w").reshape({3, 1});
  }
  SUBCASE("through DLPack") {
    handle = Tensor::from_dlpack(graph.tensor("w").to_dlpack());
  }
  CHECK(first(session) == 16);
  handle->data<float>()[0] = 21;
  CHECK(first(session) == 26);
  CHECK(used == 1);
  handle->data<float>()[0] = 31;
  handle.reset();
  CHECK(first(session) == 36);
  CHECK(used == 2);
  CHECK(fills == 2);
}

TEST_CASE(
    "packed constants: a handle that existed between two runs may have been written through") {
  PackedHost host;
  const auto graph = graph_of(host, vector_of({1, 2, 3}));
  Session session(graph), same(graph);
  CHECK(first(session) == 6);
  graph.tensor("w").data<float>()[1] = 12;
  CHECK(first(session) == 16);
  CHECK(first(same) == 16);
  CHECK(used == 3);
  CHECK(fills == 2);
  const auto seen = graph.tensor("w").read_only_view();  // does not prevent packing
  CHECK(seen.values<float>()[1] == 12);
  CHECK(seen.read_only());
  CHECK(first(session) == 16);
  CHECK(used == 4);
}

TEST_CASE("packed constants: two graphs with one tensor") {
  PackedHost host;
  std::optional<Tensor> handle = vector_of({1, 2, 3});
  const auto graph = graph_of(host, *handle), other = graph_of(host, *handle);
  handle.reset();
  Session one(graph), two(other);
  CHECK(first(one) == 6);
  CHECK(first(two) == 6);
  CHECK(fills == 1);
  graph.tensor("w").data<float>()[1] = 12;
  CHECK(first(two) == 16);
  CHECK(first(one) == 16);
  CHECK(used == 4);
}

TEST_CASE(
    "packed constants: a training session packs none of the variables it updates; its gradients "
    "pack others") {
  PackedHost host;
  auto graph = graph_of(host, vector_of({1, 2, 3}));
  const auto w = graph.find("w"), frozen = graph.variable("frozen", vector_of({2, 2}));
  const auto y = graph.add("sum_times", {graph.find("s"), frozen}, {}, "t");
  graph.output("t", y);
  const auto dw = graph.gradient(y, {w})[0];
  graph.update(w, graph.add("test_add", {w, dw}));
  Session session(graph, {.training = true});
  const auto plan = session.plan({{"x", {2}}});
  int steps = 0;
  for (const auto& step : plan.steps)
    for (const auto& packed : step.packed_constants) {
      CHECK(packed.value == "frozen");
      ++steps;
    }
  CHECK(steps == 2);  // forward and backward
  CHECK(plan.packed_bytes() == 4);
  float sum = 6;
  for (int run = 0; run < 3; ++run) {
    CHECK(session.run({{"x", vector_of({1, 2})}}).at("t").values<float>()[0] == 4 * sum);
    sum += 3 * 4 * 3;  // three weights, each by the gradient 4 (1 + 2)
  }
  CHECK(fills == 1);
  CHECK(used == 6);
}

TEST_CASE("packed constants: sessions on several threads fill them once") {
  PackedHost host;
  const auto graph = graph_of(host, vector_of({1, 2, 3}));
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 8; ++i) sessions.push_back(std::make_unique<Session>(graph));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (auto& session : sessions) threads.emplace_back([&] { right += first(*session) == 6; });
  for (auto& thread : threads) thread.join();
  CHECK(right == 8);
  CHECK(fills == 1);
  CHECK(used == 8);
}

TEST_CASE("packed constants: eager and prepared calls make none") {
  PackedHost host;
  const Tensor x = vector_of({1, 2}), w = vector_of({1, 2, 3});
  CHECK(host.call("sum_times", {x, w}).values<float>()[1] == 12);
  auto prepared = host.prepare("sum_times", std::vector{Argument::like(x), Argument::like(w)}, {});
  const Tensor both[] = {x, w};
  CHECK(prepared(both).values<float>()[1] == 12);
  CHECK(used == 0);
}

TEST_CASE("packed constants: faults of prepare() are reported with the node") {
  PackedHost host;
  struct Row {
    int fault;
    const char* words;
  };
  const Row rows[] = {
      {1, "there is no sum today"},
      {2, "its prepare() packs input 0, which is not a constant"},
      {3, "its prepare() uses slot 64, but there are 64"},
      {4, "its prepare() requests 0 bytes for slot 0"},
      {5, "its prepare() gives slot 0 a key that is not 1 to 4096 bytes of printable text"},
      {6, "input 'weight' holds float32, but prepare() requests float64"},
      {7, "prepare() requests input 'wieght', but describe() names x, weight"},
      {9, "its prepare() uses slot 0 twice"},
      {10, "its prepare() has no fill function for slot 1"},
      {11, "its prepare() gives slot 0 a key that is not 1 to 4096 bytes of printable text"}};
  for (const auto& row : rows) {
    CAPTURE(row.fault);
    const auto graph = graph_of(host, vector_of({1, 2, 3}), {{"fault", row.fault}});
    Session session(graph);
    for (int run = 0; run < 2; ++run) {
      const auto failure = failure_of([&] { first(session); });
      CHECK(failure.kind != 0);
      CHECK(failure.message.find("[sum_times] node 's': ") == 0);
      CHECK(failure.message.find(row.words) != std::string::npos);
    }
  }
}

TEST_CASE("packed constants: insufficient memory is refused before a run") {
  PackedHost host;
  const auto graph = graph_of(host, vector_of({1, 2, 3}), {{"fault", 8}});
  Session session(graph);
  const auto failure = failure_of([&] { first(session); });
  CHECK(failure.kind == 1);
  CHECK(failure.message.find("for the kernels' packed constants") != std::string::npos);
  CHECK(fills == 0);
}

TEST_CASE("packed constants: weights of files, initialized ones, and those only of sessions") {
  PackedHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  graph.output("y", graph.add("sum_times",
                              {x, graph.variable("w", f32, {3}, {Init::Kind::value, 2})}, {}, "s"));
  Session separate(graph);
  CHECK(first(separate) == 6);
  CHECK(used == 1);
  separate.tensor("w").data<float>()[0] = 12;
  CHECK(first(separate) == 16);
  CHECK(used == 2);
  const TemporaryFolder folder;
  graph.initialize(0);
  graph.save(folder / "w.tenon");
  const auto loaded = Graph::load(host, folder / "w.tenon");
  Session session(loaded);
  CHECK(first(session) == 6);
  CHECK(used == 3);
}

TEST_CASE("packed constants: a session that trains without updates makes none of its variables") {
  PackedHost host;
  auto graph = graph_of(host, vector_of({1, 2, 3}));
  graph.output("dw", graph.gradient(graph.find("s"), {graph.find("w")})[0]);
  Session session(graph, {.training = true});
  CHECK(session.plan({{"x", {2}}}).packed_bytes() == 0);
  CHECK(first(session) == 6);
  CHECK(used == 0);
}
