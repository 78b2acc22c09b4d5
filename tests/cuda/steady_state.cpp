// The cost of a repeated run: it allocates nothing and waits once, at its end.
#include <doctest/doctest.h>

#include <new>

#include "gpu_graph.hpp"
#include "host_allocations.hpp"
#include "run/session/session_impl.hpp"
#if defined(TENON_SIMULATED_CUDA)
#include <cuda_simulated.h>
#endif

using namespace tenon;

namespace {

constexpr std::int64_t elements = 100;

Tensor ones() {
  return vector_of(std::vector<float>(elements, 1));
}

Graph inference(Host& host, int length) {
  Graph graph(host);
  auto value = graph.input("x", f32, {elements});
  for (int i = 0; i < length; ++i) value = graph.add("scale", {value}, {{"factor", 1.5}});
  graph.output("y", value);
  return graph;
}

/// One gradient step on the last variable: forward, backward and update in one run that also
/// returns the loss.
Graph training(Host& host, int length) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {elements}), w = graph.variable("w", ones());
  auto value = x;
  for (int i = 0; i < length; ++i)
    value = graph.add("plus", {graph.add("scale", {value}, {{"factor", 0.5}}), w});
  graph.output("loss", value);
  const auto step = graph.add("scale", graph.gradient(value, {w}), {{"factor", -0.1}});
  graph.update(w, graph.add("plus", {w, step}));
  return graph;
}

/// With the kernels of the operators that gradients use, if there are any.
struct TrainingHost : GpuHost {
  TrainingHost() {
    if (const auto core = built("plugins/tenon_core_cuda.so"); std::filesystem::exists(core))
      host.add_plugins(core);
  }
};

struct Work {
  const char* name;
  Graph (*make)(Host& host, int length);
  bool training, capture;
} const works[] = {
    {"inference", inference, false, true},
    {"inference, not captured", inference, false, false},
    {"a training step", training, true, true},
    {"a training step, not captured", training, true, false},
};

SessionOptions options_of(const Work& work) {
  SessionOptions options;
  options.device = "cuda";
  options.training = work.training;
  options.capture = work.capture;
  return options;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("steady state: exactly the allocations are counted") {
  const HostAllocations allocations;
  CHECK(allocations.count() == 0);
  ::operator delete(::operator new(100));
  CHECK(allocations.count() == 1);
}

TEST_CASE("steady state: a step allocates no CPU or GPU memory and only waits at its end") {
  TrainingHost gpu;
  for (const auto& work : works) {
    CAPTURE(work.name);
    Session session(work.make(gpu.host, 20), options_of(work));
    const NamedTensors inputs{{"x", ones()}};
    const Destinations outputs{{work.training ? "loss" : "y", {ones(), Write::to}}};
    for (int i = 0; i < 3; ++i) session.run(inputs, outputs);
    auto& execution =
        *impl_of(session).plans.all().begin()->second.execution;  // with the last run's tensors
    for (int i = 0; i < 3; ++i) {
      std::uint64_t made = 0;
      bool ran = true;
#if defined(TENON_SIMULATED_CUDA)
      const auto before = simulated_counts();
      auto inside = before;
#endif
      {
        const HostAllocations allocations;
        for (const auto& step : execution.start())
          ran = ran && step.function(step.instance, step.call) == 0;
#if defined(TENON_SIMULATED_CUDA)
        inside = simulated_counts();
#endif
        execution.finish();
        made = allocations.count();
      }
      CHECK(ran);
      CHECK(made == 0);
#if defined(TENON_SIMULATED_CUDA)
      const auto after = simulated_counts();
      CHECK(inside.synchronizations == before.synchronizations);
      CHECK(after.synchronizations == before.synchronizations + 1);
      CHECK(after.allocations == before.allocations);
      CHECK((inside.graph_launches - before.graph_launches > 0) == work.capture);
#endif
    }
  }
}

TEST_CASE("steady state: a session's allocations around its steps are constant in steps and runs") {
  TrainingHost gpu;
  for (const auto& work : works) {
    CAPTURE(work.name);
    std::vector<std::uint64_t> made;
    for (const int length : {5, 50}) {
      Session session(work.make(gpu.host, length), options_of(work));
      const NamedTensors inputs{{"x", ones()}};
      for (int i = 0; i < 4; ++i) session.run(inputs);
      for (int i = 0; i < 2; ++i) {
        const HostAllocations allocations;
        session.run(inputs);
        made.push_back(allocations.count());
      }
    }
    CHECK(made == std::vector<std::uint64_t>(4, made[0]));
    CHECK(made[0] < 40);
  }
}
