// CUDA calls per step, as counted by CUPTI on a real GPU; steady_state.cpp and captures.cpp use the
// simulated GPUs' own counts.
#include <doctest/doctest.h>

#include "bench/kernel_times.hpp"
#include "device/devices.hpp"
#include "gpu_graph.hpp"

using namespace tenon;

TEST_SUITE_BEGIN("counted");

#if defined(TENON_HAVE_CUPTI)
TEST_CASE("a repeated run launches one CUDA graph, allocates nothing and waits once") {
  constexpr std::uint64_t runs = 5, kernels = 20;
  try {
    KernelWatch().stop();
  } catch (const std::exception& problem) {
    MESSAGE("skipped: " << problem.what());
    return;
  }
  GpuHost gpu;
  Graph graph(gpu.host);
  auto value = graph.input("x", f32, {100});
  for (std::uint64_t i = 0; i < kernels; ++i)
    value = graph.add("scale", {value}, {{"factor", 1.0}});
  graph.output("y", value);
  for (const bool capture : {true, false}) {
    CAPTURE(capture);
    SessionOptions options;
    options.device = "cuda";
    options.capture = capture;
    Session session(graph, options);
    const NamedTensors inputs{{"x", vector_of(std::vector<float>(100, 1))}};
    const Destinations outputs{{"y", {vector_of(std::vector<float>(100, 0)), Write::to}}};
    KernelWatch watch;
    for (int i = 0; i < 3; ++i) session.run(inputs, outputs);
    find_device("cuda").synchronize();
    const auto before = watch.stop();
    KernelWatch steady;
    for (std::uint64_t i = 0; i < runs; ++i) session.run(inputs, outputs);
    const auto times = steady.stop();
    CHECK(before.kernels > 0);
    CHECK(times.lost == 0);
    CHECK(times.kernels >= runs * kernels);
    CHECK(times.graph_launches == (capture ? runs : 0));
    CHECK(times.allocations == 0);
    CHECK(times.waits <= 2 * runs);  // for the output, which is not pinned, and for the run
  }
}
#endif

TEST_SUITE_END();
