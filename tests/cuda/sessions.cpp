// Graphs over devices: where nodes run, which values are copied, and what is reported.
#include <doctest/doctest.h>

#include "check_says.hpp"
#include "device/devices.hpp"
#include "failure_of.hpp"
#include "gpu_graph.hpp"
#include "run/session/session_impl.hpp"

using namespace tenon;

namespace {

/// y = 3 * backwards(2 * x); `backwards` has no kernel for CUDA.
Graph mixed(Host& host) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  const auto a = graph.add("scale", {x}, {{"factor", 2.0}}, "a");
  const auto b = graph.add("backwards", {a}, {}, "b");
  graph.output("y", graph.add("scale", {b}, {{"factor", 3.0}}, "c"));
  return graph;
}

SessionOptions on(const std::string& device) {
  SessionOptions options;
  options.device = device;
  return options;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("sessions: nodes without a GPU kernel run on the CPU, and the copies are reported once") {
  GpuHost gpu;
  Session session(mixed(gpu.host), on("cuda"));
  for (int i = 0; i < 3; ++i)
    CHECK(floats_of(session.run({{"x", vector_of({1, 2, 3})}}).at("y")) ==
          std::vector<float>{18, 12, 6});
  CHECK(gpu.warnings ==
        std::vector<std::string>{
            "[backwards] node 'b': runs on the CPU, not on cuda:0: there is no kernel for cuda in "
            "any "
            "plugin; copied for it: 'a' (12 bytes) from cuda:0, 'b' (12 bytes) to cuda:0"});
  CHECK(floats_of(session.run({{"x", vector_of({1, 2})}}).at("y")) == std::vector<float>{12, 6});
  CHECK(gpu.warnings.size() == 1);
}

TEST_CASE("sessions: plans show devices, copies and the memory of each device") {
  GpuHost gpu;
  Session session(mixed(gpu.host), on("cuda"));
  const auto plan = session.plan({{"x", {3}}});
  CHECK(describe(plan) ==
        "    0  x.cuda:0                 copy                 cuda:0 from cpu, 12 bytes  float32 "
        "[3] at 0\n"
        "    1  a                        scale                cuda:0  float32 [3] in place at 0\n"
        "    2  a.cpu                    copy                 cpu from cuda:0, 12 bytes  float32 "
        "[3] at 0\n"
        "    3  b                        backwards            cpu  float32 [3] at 64\n"
        "    4  b.cuda:0                 copy                 cuda:0 from cpu, 12 bytes  float32 "
        "[3] at 0\n"
        "    5  c                        scale                cuda:0  float32 [3] in place at 0\n"
        "    6  c.cpu                    copy                 cpu from cuda:0, 12 bytes  float32 "
        "[3] graph output\n"
        "7 steps\n"
        "cpu: 128 bytes of memory, lower bound 128 bytes, ratio 1.000, execution order\n"
        "cuda:0: 64 bytes of memory, lower bound 64 bytes, ratio 1.000, execution order\n");
  std::string streams;
  for (const auto& step : plan.steps) {
    streams += step.node + ": " + (step.stream.empty() ? "cpu" : step.stream);
    for (const auto earlier : step.after) streams += ", after " + std::to_string(earlier);
    streams += '\n';
  }
  CHECK(streams ==
        "x.cuda:0: copies to the device\n"
        "a: kernels, after 0\n"
        "a.cpu: copies from the device, after 1\n"
        "b: cpu\n"
        "b.cuda:0: copies to the device\n"  // the CPU waited for the copy of a, which reads the
                                            // same memory
        "c: kernels, after 4\n"
        "c.cpu: copies from the device, after 5\n");
  CHECK(describe_memory(plan) ==
        "value                    device          bytes       offset         steps  in place of\n"
        "x.cuda:0                 cuda:0             12            0          0..1  -\n"
        "a                        cuda:0             12            0          1..2  x.cuda:0\n"
        "a.cpu                    cpu                12            0          2..3  -\n"
        "b                        cpu                12           64          3..4  -\n"
        "b.cuda:0                 cuda:0             12            0          4..5  -\n"
        "c                        cuda:0             12            0          5..6  b.cuda:0\n"
        "7 steps\n"
        "cpu: 128 bytes of memory, lower bound 128 bytes, ratio 1.000, execution order\n"
        "cuda:0: 64 bytes of memory, lower bound 64 bytes, ratio 1.000, execution order\n");
}

TEST_CASE("sessions: a node's own device overrides the session's, and needs a kernel") {
  GpuHost gpu;
  auto graph = mixed(gpu.host);
  put(graph, "a", "cuda:0");
  put(graph, "c", "cpu");
  Session session(graph);
  CHECK(floats_of(session.run({{"x", vector_of({1, 2, 3})}}).at("y")) ==
        std::vector<float>{18, 12, 6});
  const auto steps = session.plan({{"x", {3}}}).steps;
  CHECK(std::count_if(steps.begin(), steps.end(),
                      [](const PlannedStep& step) { return !step.copied_from.empty(); }) == 2);
  CHECK(gpu.warnings.empty());

  struct Case {
    const char *node, *device, *message, *hint;
  };
  const Case cases[] = {
      {"b", "cuda:0",
       "[backwards] node 'b': is placed on cuda:0, but there is no kernel for cuda in any plugin",
       "it has a kernel for cpu: remove the node's \"device\" to run it there"},
      {"a", "cuda:7", "[scale] node 'a': there is no device 'cuda:7': this machine has cpu", ""},
  };
  for (const auto& c : cases) {
    auto refused = mixed(gpu.host);
    put(refused, c.node, c.device);
    const auto failure = failure_of([&] { Session(refused, on("cuda")); });
    CHECK(failure.message.substr(0, std::string(c.message).size()) == c.message);
    CHECK(failure.hint == c.hint);
  }
}

TEST_CASE(
    "sessions: nodes with types that the GPU kernel does not support run on the CPU, unless the "
    "graph places them") {
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto z = graph.input("z", c64, {2}), x = graph.input("x", f32, {2});
  graph.output("zz", graph.add("plus", {z, z}, {}, "complex"));
  graph.output("xx", graph.add("plus", {x, x}, {}, "real"));
  Session session(graph, on("cuda"));
  const auto complex = Tensor::from(std::vector<Complex<float>>{{1, 2}, {3, -4}}, {2});
  const auto found = session.run({{"z", complex}, {"x", vector_of({1, 2})}});
  CHECK(found.at("zz").values<Complex<float>>()[1] == Complex<float>(6, -8));
  CHECK(floats_of(found.at("xx")) == std::vector<float>{2, 4});
  REQUIRE(gpu.warnings.size() == 1);
  check_says(gpu.warnings[0], {"[plus] node 'complex': runs on the CPU, not on cuda:0",
                               "kernel for cuda does not compute these types", "left complex64 [2]",
                               "right complex64 [2]"});
  put(graph, "complex", "cuda:0");
  check_says(failure_of([&] { Session(graph, on("cuda")); }).message,
             {"[plus] node 'complex':", "placed on cuda:0",
              "kernel for cuda does not compute these types"});
  check_says(failure_of([&] {
               gpu.host.call("plus", {complex.to("cuda:0"), complex.to("cuda:0")});
             }).message,
             {"[plus] no kernel for cuda", "left complex64 [2]", "right complex64 [2]"});
}

TEST_CASE("sessions: values are copied between GPUs") {
  if (devices().size() < 3) return;
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto x = graph.input("x", f32, {1000});
  const auto a = graph.add("scale", {x}, {{"factor", 2.0}}, "a");
  const auto b = graph.add("scale", {a}, {{"factor", 3.0}}, "b");
  graph.output("y", graph.add("plus", {a, b}, {}, "c"));
  put(graph, "b", "cuda:1");
  Session session(graph, on("cuda:0"));
  for (float i = 1; i < 20; ++i) {
    const auto y = floats_of(session.run({{"x", vector_of(std::vector<float>(1000, i))}}).at("y"));
    REQUIRE(y == std::vector<float>(1000, 8 * i));
  }
}

TEST_CASE("sessions: inputs may be on any device; outputs stay on theirs only on request") {
  GpuHost gpu;
  for (const char* from : {"cpu", "cuda:0"}) {
    for (const bool keep : {false, true}) {
      CAPTURE(from);
      CAPTURE(keep);
      auto options = on("cuda:0");
      options.keep_on_device = keep;
      Graph graph(gpu.host);
      const auto x = graph.input("x", f32, {3});
      const auto a = graph.add("scale", {x}, {{"factor", 2.0}}, "a");
      graph.output("a", a);
      graph.output("again", a);
      graph.output("x", x);
      graph.output("b", graph.add("scale", {a}, {{"factor", 2.0}}, "b"));
      Session session(graph, options);
      const auto there = Tensor::from({0.f, 0.f, 1.f}, {3}).to("cuda:0"),
                 here = Tensor::from({0.f, 0.f, 1.f}, {3});
      for (int i = 0; i < 2; ++i) {
        const auto out = session.run({{"x", vector_of({1, 2, 3}).to(from)}},
                                     {{"b", {there, Write::add}}, {"again", {here, Write::to}}});
        CHECK(out.at("a").device() == (keep ? "cuda:0" : "cpu"));
        CHECK(out.at("x").device() == (keep ? from : "cpu"));
        CHECK(floats_of(out.at("a")) == std::vector<float>{2, 4, 6});
        CHECK(floats_of(out.at("x")) == std::vector<float>{1, 2, 3});
        CHECK(floats_of(here) == std::vector<float>{2, 4, 6});
      }
      CHECK(floats_of(there) == std::vector<float>{8, 16, 25});
    }
  }
}

TEST_CASE("sessions: sparse values are copied between devices") {
  GpuHost gpu;
  const auto csr = Tensor::csr(vector_of({1, 2, 3}), Tensor::from<std::int64_t>({0, 2, 1}, {3}),
                               Tensor::from<std::int64_t>({0, 2, 2, 3}, {4}), {3, 4});
  const auto rows = Tensor::row_sparse(Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}),
                                       Tensor::from<std::int64_t>({1, 4}, {2}), {6, 2});
  for (const auto& given : {csr, rows}) {
    for (const char* from : {"cpu", "cuda:0"}) {
      Graph graph(gpu.host);
      const auto x = graph.input("x", f32, given.shape());
      graph.output("y", graph.add("scale", {x}, {{"factor", 2.0}}, "a"));
      Session session(graph, on("cuda:0"));
      for (int i = 0; i < 2; ++i) {
        const auto y = session.run({{"x", given.to(from)}}).at("y");
        CHECK(y.device() == "cpu");
        CHECK(y.storage() == given.storage());
        CHECK(floats_of(y) == (given.size() == 12 && given.stored() == 3
                                   ? std::vector<float>{2, 4, 6}
                                   : std::vector<float>{2, 4, 6, 8}));
      }
    }
  }
}

TEST_CASE("sessions: a sparse value is made dense for a GPU kernel that needs it dense") {
  GpuHost gpu;
  const auto rows = Tensor::row_sparse(Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}),
                                       Tensor::from<std::int64_t>({1, 4}, {2}), {6, 2});
  for (const char* from : {"cpu", "cuda:0"}) {
    Graph graph(gpu.host);
    const auto x = graph.input("x", f32, {6, 2});
    graph.output("y",
                 graph.add("tally", {graph.add("scale", {x}, {{"factor", 2.0}}, "a")}, {}, "b"));
    Session session(graph, on("cuda:0"));
    for (float i = 1; i < 3; ++i)
      CHECK(floats_of(session.run({{"x", rows.to(from)}}).at("y")) ==
            std::vector<float>{i, i, 2 + i, 4 + i, i, i, i, i, 6 + i, 8 + i, i, i});
  }
}

TEST_CASE("sessions: inputs are copied before anything runs, so that kernels follow each other") {
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto x = graph.input("x", f32, {3}), late = graph.input("late", f32, {3});
  const auto a = graph.add("scale", {x}, {}, "a");
  graph.output("y", graph.add("plus", {graph.add("scale", {a}, {}, "b"), late}, {}, "c"));
  Session session(graph, on("cuda"));
  std::string order;
  for (const auto& step : session.plan({}).steps) order += step.node + (step.captured ? "! " : " ");
  CHECK(order == "x.cuda:0 late.cuda:0 a! b! c! c.cpu ");
}

TEST_CASE("sessions: an invalid index on a GPU is its node's error, and the next run is correct") {
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto data = graph.input("data", f32, {3}), index = graph.input("index", i64, {2});
  const auto e = graph.add("take", {data, index}, {}, "e");
  graph.output("y", graph.add("scale", {e}, {}, "after"));
  Session session(graph, on("cuda"));
  const auto run = [&](std::int64_t second) {
    return session
        .run({{"data", vector_of({5, 6, 7})},
              {"index", Tensor::from<std::int64_t>({0, second}, {2})}})
        .at("y");
  };
  for (int i = 0; i < 3; ++i) {
    check_says(failure_of([&] { run(12); }).message,
               {"[take] node 'e':", "index 12 is out of range", "from 0 to 2", "data float32 [3]",
                "index int64 [2]"});
    CHECK(floats_of(run(2)) == std::vector<float>{5, 7});
  }
}

TEST_CASE("sessions: states, random numbers and updated variables are the same on GPU and CPU") {
  GpuHost gpu;
  const auto make = [&] {
    Graph graph(gpu.host);
    const auto x = graph.input("x", f32, {100});
    const auto w = graph.variable("w", vector_of(std::vector<float>(100, 1)));
    const auto v = graph.variable("v", vector_of(std::vector<float>(100, 1)));
    const auto noise = graph.add("noise", {x}, {}, "noise");
    const auto tally = graph.add("tally", {noise}, {}, "tally");
    const auto back = graph.add("backwards", {w}, {}, "back");
    graph.output("y", graph.add("plus", {tally, graph.add("plus", {w, back})}));
    graph.update(w, graph.add("scale", {v}, {{"factor", 3.0}}, "new w"));  // read by others: copied
    graph.update(v, graph.add("plus", {v, tally}, {}, "new v"));           // in place
    return graph;
  };
  auto options = on("cuda");
  options.training = true;
  Session there(make(), options);
  options.device = "";
  Session here(make(), options);
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    const NamedTensors inputs{{"x", vector_of(std::vector<float>(100, static_cast<float>(i)))}};
    const auto expected = here.run(inputs), found = there.run(inputs);
    CHECK(same_bits(found.at("y"), expected.at("y")));
    for (const char* name : {"w", "v"}) {
      CHECK(impl_of(there).tensor(name).device() == "cuda:0");
      CHECK(there.tensor(name).device() == "cpu");
      CHECK(same_bits(there.tensor(name), here.tensor(name)));
    }
  }
}

TEST_CASE("sessions: a graph's variables stay on their device if a session runs it on a GPU") {
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto w = graph.variable("w", vector_of({1, 2}));
  graph.output("y", graph.add("scale", {w}, {{"factor", 2.0}}));
  Session session(graph, on("cuda"));
  CHECK(floats_of(session.run({}).at("y")) == std::vector<float>{2, 4});
  CHECK(graph.tensor(w).device() == "cpu");
  CHECK(impl_of(session).tensor("w").device() == "cuda:0");
  CHECK(session.tensor("w").device() == "cpu");
}

TEST_CASE("sessions: the first non-finite value is found on a GPU") {
  GpuHost gpu;
  Session session(mixed(gpu.host), on("cuda"));
  CHECK(session.first_non_finite({{"x", vector_of({1, 2, 3})}}) == "");
  CHECK(session.first_non_finite({{"x", vector_of({1, 2e38f, 3})}}) ==
        "[scale] node 'a': element 1 is inf");
  CHECK(session.first_non_finite({{"x", vector_of({1, 1e38f, 3})}}) ==
        "[scale] node 'c': element 1 is inf");
}

TEST_CASE("sessions: a plan larger than a GPU's memory reports the bytes that it needs") {
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto x = graph.input("x", f32, {-1});
  graph.output("y", graph.add("plus", {graph.add("scale", {x}), x}));
  Session session(graph, on("cuda"));
  const auto run = [&] {
    return session.run({{"x", vector_of({1, 2})}}).at("y").values<float>()[0];
  };
  const auto y = run();
  const auto* const warm = impl_of(session).plans.last()->execution.get();
  const std::map<std::string, Shape> huge{{"x", {std::int64_t{1} << 44}}};
  CHECK(session.plan_bytes(huge) == std::int64_t{1} << 47);
  auto& impl = impl_of(session);
  const Destinations given{{"y", {}}};  // so that the output's memory does not count
  const auto failure =
      failure_of([&] { impl.plans.execution_of(impl.plan(huge), impl.context, given, 0); });
  CHECK(failure.message.substr(0, 50) == "cuda:0 is out of memory: the plan needs 128.0 TiB,");
  CHECK(impl.plans.last()->execution.get() == warm);
  CHECK(run() == y);
}
