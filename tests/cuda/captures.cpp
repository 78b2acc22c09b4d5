// Captures: kernels that sessions launch as one CUDA graph give the same results with fewer calls,
// no allocations and one wait per run.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "device/block.hpp"
#include "device/captured_graph.hpp"
#include "device/devices.hpp"
#include "failure_of.hpp"
#include "gpu_graph.hpp"
#if defined(TENON_SIMULATED_CUDA)
#include <cuda_simulated.h>
#endif

using namespace tenon;

namespace {

/// y = x * 2^length, by way of `op` in the middle.
Graph group(Host& host, int length, const char* op = nullptr) {
  Graph graph(host);
  auto value = graph.input("x", f32, {100});
  for (int i = 0; i < length; ++i) {
    if (i == length / 2 && op != nullptr) value = graph.add(op, {value}, {}, "middle");
    value = graph.add("scale", {value}, {{"factor", 2.0}});
  }
  graph.output("y", value);
  return graph;
}

SessionOptions on_gpu(bool capture = true) {
  SessionOptions options;
  options.device = "cuda";
  options.capture = capture;
  return options;
}

Tensor filled(float value) {
  return vector_of(std::vector<float>(100, value));
}

std::size_t captured(const PlanInfo& plan) {
  std::size_t count = 0;
  for (const auto& step : plan.steps) count += step.captured ? 1 : 0;
  return count;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("captures: which steps are captured") {
  GpuHost gpu;
  struct Case {
    const char* middle;
    bool capture;
    std::size_t captured;
  };
  const Case cases[] = {
      {nullptr, true, 10},     {nullptr, false, 0},
      {"noise", true, 10},      // random numbers differ between runs
      {"backwards", true, 10},  // on the CPU
      {"tally", true, 11},     {"liar", true, 11},
  };
  for (const auto& c : cases) {
    CAPTURE(c.middle);
    Session session(group(gpu.host, 10, c.middle), on_gpu(c.capture));
    CHECK(captured(session.plan({})) == c.captured);
  }
}

TEST_CASE("captures: every run gives the same bits as without captures") {
  GpuHost gpu;
  for (const char* middle : {"noise", "tally", "backwards"}) {
    CAPTURE(middle);
    Session session(group(gpu.host, 6, middle), on_gpu()),
        plain(group(gpu.host, 6, middle), on_gpu(false));
    for (int i = 0; i < 6; ++i) {
      const NamedTensors inputs{{"x", filled(static_cast<float>(i))}};
      CHECK(same_bits(session.run(inputs).at("y"), plain.run(inputs).at("y")));
    }
  }
}

TEST_CASE("captures: buffers of inputs and outputs, and write modes, may change between runs") {
  GpuHost gpu;
  auto options = on_gpu();
  options.keep_on_device = true;
  Session session(group(gpu.host, 3), options);
  const Tensor sums[] = {filled(0).to("cuda:0"), filled(0).to("cuda:0")};
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const auto value = static_cast<float>(i);
    const auto& sum = sums[i % 2];
    const auto before = floats_of(sum)[0];
    const bool add = i % 3 == 0;
    const auto x = filled(value).to("cuda:0");
    const auto y = session.run({{"x", x}}, {{"y", {sum, add ? Write::add : Write::to}}}).at("y");
    CHECK(y.data() == sum.data());
    CHECK(floats_of(sum) == std::vector<float>(100, 8 * value + (add ? before : 0)));
    CHECK(floats_of(session.run({{"x", x}}).at("y")) == std::vector<float>(100, 8 * value));
  }
}

TEST_CASE("captures: later runs follow what the application writes to a constant on the CPU") {
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto amount = graph.constant("amount", vector_of({1}));
  graph.output("z", graph.add("plus", {graph.input("x", f32, {1}), amount}, {}, "on_cpu"));
  put(graph, "on_cpu", "cpu");
  const auto twice = graph.add("scale", {graph.input("w", f32, {100})}, {{"factor", 2.0}});
  graph.output("y", graph.add("scale", {graph.add("shift", {twice, amount})}, {{"factor", 3.0}}));
  Session session(graph, on_gpu());
  const auto run = [&] {
    const auto made = session.run({{"x", vector_of({10})}, {"w", filled(1)}});
    return std::pair(floats_of(made.at("z"))[0], floats_of(made.at("y"))[99]);
  };
  CHECK(captured(session.plan({})) == 3);
  for (const float value : {1.F, 5.F, 1.F}) {
    graph.tensor("amount").data<float>()[0] = value;
    for (int i = 0; i < 4; ++i) CHECK(run() == std::pair(10 + value, 3 * (2 + value)));
  }
}

TEST_CASE("captures: a later run silently repeats a capture that another thread broke") {
  GpuHost gpu;
  Session session(group(gpu.host, 4, "disturbed"), on_gpu());
  for (int i = 0; i < 4; ++i) {
#if defined(TENON_SIMULATED_CUDA)
    const auto before = simulated_counts().graph_launches;
#endif
    CHECK(floats_of(session.run({{"x", filled(1)}}).at("y")) == std::vector<float>(100, 16));
#if defined(TENON_SIMULATED_CUDA)
    CHECK(simulated_counts().graph_launches - before == (i < 2 ? 0 : 1));
#endif
  }
  CHECK(gpu.warnings.empty());
}

TEST_CASE("captures: a thread creates its library handles before it captures") {
  GpuHost gpu;
  Session session(group(gpu.host, 4, "with_library"), on_gpu());
  const auto run = [&] {
    CHECK(floats_of(session.run({{"x", filled(1)}}).at("y")) == std::vector<float>(100, 16));
  };
  run();
  std::async(std::launch::async, [&] {
    for (int i = 0; i < 3; ++i) {
#if defined(TENON_SIMULATED_CUDA)
      const auto before = simulated_counts();
#endif
      run();
#if defined(TENON_SIMULATED_CUDA)
      CHECK(simulated_counts().graph_launches - before.graph_launches == (i == 0 ? 0 : 1));
      CHECK(simulated_counts().broken_captures == before.broken_captures);
#endif
    }
  }).get();
  CHECK(gpu.warnings.empty());
}

TEST_CASE("captures: device synchronization waits for captures in progress") {
  auto& device = find_device("cuda");
  const Stream stream(device);
  std::atomic<bool> waited = false;
  std::future<void> other;
  const CapturedGraph captured(stream, [&] {
    other = std::async(std::launch::async, [&] {
      device.synchronize();
      waited = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(waited);
  });
  other.get();
  CHECK(waited);
}

TEST_CASE("captures: other threads' use of the device does not break a capture") {
  GpuHost gpu;
  std::atomic<bool> done = false;
  auto other = std::async(std::launch::async, [&] {
    GpuHost own;
    auto& device = find_device("cuda");
    const Stream stream(device);
    while (!done) {
      device.synchronize();
      CHECK_THROWS_AS(Block(stream, device.memory().total + 1, "this test"), Failure);
      const PinnedBlock pinned(device, 1000, "this test");
      Session session(group(own.host, 2), on_gpu());
      CHECK(floats_of(session.run({{"x", filled(1)}}).at("y")) == std::vector<float>(100, 4));
    }
    CHECK(own.warnings.empty());
  });
  for (int i = 0; i < 20; ++i) {
    Session session(group(gpu.host, 6), on_gpu());
    for (int run = 0; run < 3; ++run)
      CHECK(floats_of(session.run({{"x", filled(1)}}).at("y")) == std::vector<float>(100, 64));
  }
  done = true;
  other.get();
  CHECK(gpu.warnings.empty());
}

TEST_CASE("captures: a capturable kernel that takes scratch is reported and not captured") {
  GpuHost gpu;
  Session session(group(gpu.host, 4, "scratchy"), on_gpu());
  for (int i = 0; i < 5; ++i)
    CHECK(floats_of(session.run({{"x", filled(1)}}).at("y")) == std::vector<float>(100, 16));
  REQUIRE(gpu.warnings.size() == 1);
  CHECK(gpu.warnings[0].find("a kernel that allocates scratch cannot be captured") !=
        std::string::npos);
}

TEST_CASE("the current device of an application's thread is preserved") {
  GpuHost gpu;
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  const int own = count - 1;  // the same device if there is only one
  REQUIRE(cudaSetDevice(own) == cudaSuccess);
  const auto still_current = [&] {
    int now = -1;
    return cudaGetDevice(&now) == cudaSuccess && now == own;
  };
  Session session(group(gpu.host, 4, "tally"), on_gpu());
  CHECK(still_current());
  for (int i = 0; i < 3; ++i) {
    session.run({{"x", filled(1)}});
    CHECK(still_current());
  }
  gpu.host.call("scale", {filled(1).to("cuda:0")});
  CHECK(still_current());
  if (count > 1) {  // a plan that begins and ends on different devices
    auto graph = group(gpu.host, 4);
    put(graph, "scale_3", "cuda:1");
    Session both(graph, on_gpu());
    for (const int device : {0, 1}) {
      REQUIRE(cudaSetDevice(device) == cudaSuccess);
      for (int i = 0; i < 3; ++i) {
        both.run({{"x", filled(1)}});
        int now = -1;
        CHECK(cudaGetDevice(&now) == cudaSuccess);
        CHECK(now == device);
      }
    }
  }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE("captures: a kernel that wrongly declares capturable is reported, and runs fall back") {
  GpuHost gpu;
  Session session(group(gpu.host, 4, "liar"), on_gpu());
  for (int i = 0; i < 4; ++i)
    CHECK(floats_of(session.run({{"x", filled(1)}}).at("y")) == std::vector<float>(100, 16));
  REQUIRE(gpu.warnings.size() == 1);
  CHECK(gpu.warnings[0].starts_with("kernels cannot be captured and run one by one: "));
}

TEST_CASE("captures: a fault of a captured kernel is reported as its node's error in every run") {
  GpuHost gpu;
  Graph graph(gpu.host);
  const auto e =
      graph.add("take", {graph.input("data", f32, {3}), graph.input("index", i64, {2})}, {}, "e");
  graph.output("y", graph.add("scale", {e}));
  Session session(graph, on_gpu());
  for (const std::int64_t index : {0, 1, 7, 2, 7, 7, 0}) {
    std::string message;
    try {
      const auto y = session
                         .run({{"data", vector_of({5, 6, 7})},
                               {"index", Tensor::from<std::int64_t>({index, index}, {2})}})
                         .at("y");
      CHECK(floats_of(y) == std::vector<float>(2, 5 + static_cast<float>(index)));
    } catch (const Failure& failure) {
      message = failure.what();
    }
    CHECK((message.find("node 'e': index 7 is out of range: it must be from 0 to 2") !=
           std::string::npos) == (index == 7));
  }
}

#if defined(TENON_SIMULATED_CUDA)
TEST_CASE(
    "captures: a repeated run allocates nothing, waits once and launches all kernels together") {
  GpuHost gpu;
  struct Case {
    const char* middle;
    bool capture;
    std::uint64_t graphs, waits;
  };
  const Case cases[] = {
      {nullptr, true, 1, 1}, {nullptr, false, 0, 1},    {"tally", true, 1, 1},
      {"noise", true, 2, 1}, {"backwards", true, 2, 2},
  };
  for (const auto& c : cases) {
    CAPTURE(c.middle);
    Session session(group(gpu.host, 8, c.middle), on_gpu(c.capture));
    const NamedTensors inputs{{"x", filled(1)}};
    for (int i = 0; i < 2; ++i) session.run(inputs);
    for (int i = 0; i < 3; ++i) {
      const auto before = simulated_counts();
      session.run(inputs);
      const auto after = simulated_counts();
      CHECK(after.allocations == before.allocations);
      CHECK(after.graph_launches - before.graph_launches == c.graphs);
      if (c.middle == nullptr || std::string(c.middle) != "backwards")
        CHECK(after.synchronizations - before.synchronizations == c.waits);
    }
  }
}
#endif
