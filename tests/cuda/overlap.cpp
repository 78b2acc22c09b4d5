// Copies overlap kernels and wait exactly for what they read and write. On simulated GPUs,
// operations that should have waited run too early.
#if defined(TENON_SIMULATED_CUDA)
#include <cuda_simulated.h>
#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "device/devices.hpp"
#include "gpu_graph.hpp"
#include "plan/gpu_schedule.hpp"
#include "run/impl_access.hpp"

using namespace tenon;

namespace {

constexpr std::int64_t large = large_copy / sizeof(float), small = 100;

struct Lingering {
  explicit Lingering(int milliseconds) { simulated_linger(milliseconds); }
  ~Lingering() { simulated_linger(0); }
};

SessionOptions on(const char* device, bool capture = true) {
  SessionOptions options;
  options.device = device;
  options.capture = capture;
  return options;
}

Tensor counting(std::int64_t count, float from) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = from + static_cast<float>(i % 100);
  return vector_of(values);
}

NamedTensors inputs_of(const Graph& graph, float from) {
  NamedTensors inputs;
  const auto& model = model_of(graph);
  for (const auto id : model.inputs)
    inputs.emplace(model.strings[model.values[id].name],
                   counting(model.values[id].type.dims[0], from++));
  return inputs;
}

/// Every run gives the same bits as on the CPU, whatever is delayed.
void compare(const Graph& graph, const SessionOptions& options, int runs) {
  Session there(graph, options), here(graph, on("cpu"));
  for (int i = 0; i < runs; ++i) {
    CAPTURE(i);
    const auto inputs = inputs_of(graph, static_cast<float>(i));
    const auto expected = here.run(inputs), found = there.run(inputs);
    for (const auto& each : expected)
      REQUIRE_MESSAGE(same_bits(found.at(each.first), each.second), each.first);
  }
}

struct Example {
  std::string what;
  std::function<void(Graph&)> make;
  std::uint64_t overlaps, waits;  // overlaps: at least, per run; waits: exactly, per run
};

const Example examples[] = {
    {"nothing can overlap",
     [](Graph& graph) {
       graph.output("y",
                    graph.add("scale", {graph.input("x", f32, {large})}, {{"factor", 2.0}}, "a"));
     },
     0, 1},
    {"inputs that are used late",
     [](Graph& graph) {
       const auto a = graph.add("tally", {graph.input("x", f32, {large})}, {}, "a");
       const auto b = graph.add("plus", {a, graph.input("late", f32, {large})}, {}, "b");
       graph.output("y", graph.add("plus", {b, graph.input("later", f32, {large})}, {}, "c"));
     },
     1, 1},
    {"an output that is ready early",
     [](Graph& graph) {
       const auto a = graph.add("scale", {graph.input("x", f32, {large})}, {{"factor", 2.0}}, "a");
       graph.output("a", a);
       graph.output("y", graph.add("tally", {graph.add("tally", {a}, {}, "b")}, {}, "c"));
     },
     1, 1},
    {"a node on the CPU that reuses memory of nodes on the GPU",
     [](Graph& graph) {
       const auto x = graph.input("x", f32, {small});
       const auto a = graph.add("scale", {x}, {{"factor", 2.0}}, "a");
       const auto c = graph.add(
           "tally", {graph.add("tally", {graph.add("tally", {x}, {}, "c1")}, {}, "c2")}, {}, "c3");
       const auto b = graph.add("backwards", {a}, {}, "b");
       graph.output("y", graph.add("plus", {graph.add("tally", {b}, {}, "d"), c}, {}, "e"));
     },
     1, 3},
};

std::string at(const char* device, std::uint32_t number) {
  return device + std::to_string(number);
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("overlap: copies and kernels run concurrently") {
  GpuHost gpu;
  for (const auto& example : examples) {
    for (const bool capture : {false, true}) {
      CAPTURE(example.what);
      CAPTURE(capture);
      Graph graph(gpu.host);
      example.make(graph);
      Session session(graph, on("cuda", capture));
      for (int i = 0; i < 2; ++i) session.run(inputs_of(graph, 1));  // the next run captures
      const auto before = simulated_counts().overlaps;
      const Lingering linger(200);
      session.run(inputs_of(graph, 1));
      CHECK(simulated_counts().overlaps - before >= example.overlaps);
      if (example.overlaps == 0) CHECK(simulated_counts().overlaps == before);
    }
  }
}

TEST_CASE(
    "overlap: a repeated run allocates nothing, and waits at its end and for values that the CPU "
    "reads") {
  GpuHost gpu;
  for (const auto& example : examples) {
    CAPTURE(example.what);
    Graph graph(gpu.host);
    example.make(graph);
    Session session(graph, on("cuda"));
    for (int i = 0; i < 2; ++i) session.run(inputs_of(graph, 1));
    const auto before = simulated_counts();
    session.run(inputs_of(graph, 1));
    const auto after = simulated_counts();
    CHECK(after.allocations == before.allocations);
    CHECK(after.synchronizations - before.synchronizations == example.waits);
  }
}

TEST_CASE("overlap: the same bits, whatever is delayed") {
  GpuHost gpu;
  for (const int milliseconds : {0, 5}) {
    const Lingering linger(milliseconds);
    for (const auto& example : examples) {
      for (const bool capture : {false, true}) {
        CAPTURE(milliseconds);
        CAPTURE(example.what);
        CAPTURE(capture);
        Graph graph(gpu.host);
        example.make(graph);
        compare(graph, on("cuda", capture), 4);
      }
    }
  }
}

TEST_CASE("overlap: random graphs over devices give the same bits as the CPU") {
  GpuHost gpu;
  const Lingering linger(3);
  const auto gpus = static_cast<std::uint32_t>(devices().size() - 1);
  for (std::uint32_t n = 0; n < 16; ++n) {
    CAPTURE(n);
    std::mt19937 random(n);
    const auto below = [&](std::size_t count) {
      return static_cast<std::uint32_t>(random() % count);
    };
    Graph graph(gpu.host);
    const auto count = n % 5 == 0 ? large : small;
    std::vector<Value> values;
    for (std::uint32_t i = 0; i < 4; ++i) values.push_back(graph.input(at("x", i), f32, {count}));
    for (std::uint32_t i = 0; i < 16; ++i) {
      const auto left = values[values.size() - 1 - below(5) % values.size()],
                 right = values[below(values.size())];
      const char* const unary[] = {"scale", "tally", "backwards"};
      const auto kind = below(5);
      const auto name = at("n", i);
      values.push_back(kind < 3 ? graph.add(unary[kind], {left}, {}, name)
                                : graph.add("plus", {left, right}, {}, name));
      if (kind != 2 && below(3) == 0) put(graph, name, at("cuda:", below(gpus)));
      if (below(4) == 0) graph.output(at("y", i), values.back());
    }
    graph.output("last", values.back());
    compare(graph, on("cuda", n % 2 == 0), 3);
  }
}
#endif
