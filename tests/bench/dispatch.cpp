// The overhead of running a plan compared with a bare loop over the same function pointers.
#include <benchmark/benchmark.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "run/execution/step.hpp"

namespace {

struct Nothing : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.inplace("x", "y");
  }
  void forward(const tenon::Call&) const {}
};

struct Square : tenon::Elementwise {
  float a = 1;
  static constexpr void describe(auto& op) {
    op.doc("a*x*x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("a", &Square::a, "factor");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return a * x * x;
  }
};

constexpr int nodes = 1000;

template <class Op>
tenon::Graph chain(tenon::Host& host, int length = nodes) {
  tenon::Graph graph(host);
  auto value = graph.input("x", tenon::f32, {1});
  for (int i = 0; i < length; ++i) value = graph.udf(Op{}, {value});
  graph.output("y", value);
  return graph;
}

tenon::HostOptions options() {
  tenon::HostOptions options;
  options.threads = 1;
  options.search_defaults = false;
  return options;
}

template <class Op>
void session(benchmark::State& state) {
  tenon::Host host(options());
  tenon::Session session(chain<Op>(host));
  const tenon::NamedTensors inputs{{"x", tenon::Tensor::zeros(tenon::f32, {1})}};
  for (auto _ : state) benchmark::DoNotOptimize(session.run(inputs));
  state.SetItemsProcessed(state.iterations() * nodes);
}

void one_node(benchmark::State& state) {
  tenon::Host host(options());
  tenon::Session session(chain<Square>(host, 1));
  const tenon::NamedTensors inputs{{"x", tenon::Tensor::zeros(tenon::f32, {1})}};
  for (auto _ : state) benchmark::DoNotOptimize(session.run(inputs));
}

void one_node_by_index(benchmark::State& state) {
  tenon::Host host(options());
  tenon::Session session(chain<Square>(host, 1));
  const std::vector<tenon::Tensor> inputs{tenon::Tensor::zeros(tenon::f32, {1})};
  std::vector<tenon::Tensor> outputs(1);
  for (auto _ : state) {
    outputs[0] = {};  // a new output for each run, as in run()
    session.run_in_order(inputs, outputs);
    benchmark::DoNotOptimize(outputs.data());
  }
}

// Like a session, with the same objects and calls, but in a plain array.
template <class Op>
void bare(benchmark::State& state) {
  const auto* table = tenon::table_of<Op>();
  void* object = nullptr;
  char text[64];
  tenon_error error{sizeof error, 0, 0, text, sizeof text};
  if (table->create(nullptr, 0, &object, &error) != 0) state.SkipWithError(text);
  float values[2] = {};
  std::int64_t shape[1] = {1};
  tenon_tensor tensors[2] = {};
  for (int i = 0; i < 2; ++i) {
    tensors[i].size = sizeof tensors[i];
    tensors[i].dtype = TENON_F32;
    tensors[i].dense = {&values[i], TENON_CPU, 0, 1, 2, 32, 1, shape, nullptr, 0};
  }
  const tenon_tensor* input = &tensors[0];
  tenon_tensor* output = &tensors[1];
  const std::uint8_t write = TENON_WRITE_TO;
  tenon_call call{};
  call.size = sizeof call;
  call.error = &error;
  call.input_count = call.output_count = 1;
  call.inputs = &input;
  call.outputs = &output;
  call.writes = &write;
  call.threads = 1;
  std::vector<tenon_call> calls(nodes, call);
  std::vector<tenon::Step> steps;
  for (auto& each : calls) steps.push_back({table->forward, object, &each});
  for (auto _ : state)
    for (const auto& step : steps)
      benchmark::DoNotOptimize(step.function(step.instance, step.call));
  state.SetItemsProcessed(state.iterations() * nodes);
  table->destroy(object);
}

}  // namespace

BENCHMARK(bare<Nothing>)->Name("bare loop, no-op");
BENCHMARK(session<Nothing>)->Name("session, no-op");
BENCHMARK(bare<Square>)->Name("bare loop, one element");
BENCHMARK(session<Square>)->Name("session, one element");
BENCHMARK(one_node)->Name("session of one node");
BENCHMARK(one_node_by_index)->Name("session of one node, by index");
BENCHMARK_MAIN();
