// The host's work in instructions, which other work on the machine does not affect. check.py runs
// it under callgrind, which counts between begin() and end(). Without callgrind it does the same
// and prints nothing.
#include <valgrind/callgrind.h>

#include <array>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/trainer.hpp>
#include <tenon/host/udf.hpp>

#include "../../plan/plan_of.hpp"
#include "../../plugin_options.hpp"
#include "../../temporary_folder.hpp"
#include "../plus.hpp"

using namespace tenon;

namespace {

struct Nothing : Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.inplace("x", "y");
  }
  void forward(const Call&) const {}
};

/// Counts `times` calls as `name`. The first call is not counted: it fills caches and resolves
/// library functions.
template <class Work>
void count(const std::string& name, int times, Work&& work) {
  const auto dump_label = name + '*' + std::to_string(times);
  work();
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  for (int i = 0; i < times; ++i) work();
  CALLGRIND_DUMP_STATS_AT(dump_label.c_str());
  CALLGRIND_STOP_INSTRUMENTATION;
}

HostOptions options(const TemporaryFolder& cache) {
  auto options = plugin_options(cache);
  options.threads = 1;
  return options;
}

Graph chain(Host& host, int nodes) {
  Graph graph(host);
  auto value = graph.input("x", f32, {4});
  for (int i = 0; i < nodes; ++i) value = graph.add("nothing", {value});
  graph.output("y", value);
  return graph;
}

/// Nodes that branch and join, with as many long-lived values as a gradient has.
Graph lattice(Host& host, int nodes) {
  Graph graph(host);
  auto left = graph.input("x", f32, {-1, 4}),
       right = graph.variable("w", Tensor::zeros(f32, {1, 4}));
  for (int i = 0; i < nodes; ++i) left = graph.add("plus", {left, std::exchange(right, left)});
  graph.output("y", left);
  return graph;
}

void runs(Host& host) {
  constexpr int nodes = 1000;
  const auto x = Tensor::zeros(f32, {4});
  const NamedTensors inputs{{"x", x}};
  Session large(chain(host, nodes)), small(chain(host, 1));
  count("dispatch: a run of 1,000 nodes", 10, [&] { large.run(inputs); });
  count("dispatch: a run of one node", 1000, [&] { small.run(inputs); });
  std::array<Tensor, 1> in{x}, out;
  count("dispatch: a run of one node, by index", 1000, [&] { small.run_in_order(in, out); });
}

void calls(Host& host) {
  const std::vector<Tensor> inputs{Tensor::zeros(f32, {1}), Tensor::zeros(f32, {1})};
  auto prepared = host.prepare("plus", {Argument::like(inputs[0]), Argument::like(inputs[1])});
  auto output = Tensor::zeros(f32, {1});
  count("eager call: by name", 1000, [&] { host.call("plus", inputs); });
  count("eager call: prepared", 1000, [&] { prepared(inputs); });
  count("eager call: prepared, into given memory", 1000, [&] {
    prepared.forward(inputs, {&output, 1});
  });
}

void from_file_to_plan(Host& host, const TemporaryFolder& folder) {
  constexpr int nodes = 2000;
  const auto path = folder / "lattice.tenon";
  lattice(host, nodes).save(path);
  count("open: a file of 2,000 nodes", 3, [&] { Graph::load(host, path); });
  std::vector<Graph> opened;
  for (int i = 0; i < 4; ++i) opened.push_back(Graph::load(host, path));
  std::size_t next = 0;
  count("bind: 2,000 nodes", 3, [&] { opened.at(next++).bind(); });
  auto& graph = opened.front();
  const auto tensors = tensors_of(model_of(graph));
  const auto types = input_types(model_of(graph), {{"x", {8, 4}}});
  count("infer: 2,000 nodes", 3,
        [&] { infer_with(model_of(graph), impl_of(graph).binding(), tensors, types); });
  count("plan: a session of 2,000 nodes and its plan", 3, [&] {
    Session(graph).plan({{"x", {8, 4}}});
  });
}

void training(Host& host) {
  constexpr std::int64_t batch = 32, features = 128, classes = 10;
  Graph graph(host);
  auto x = graph.input("image", f32, {-1, features});
  for (int i = 0; i < 2; ++i)
    x = graph.add("relu", {graph.add("fully_connected", {x}, {{"num_hidden", 64}})});
  const auto scores = graph.add("fully_connected", {x}, {{"num_hidden", classes}}, "scores");
  graph.output(
      "loss", graph.add("softmax_cross_entropy", {scores, graph.input("label", DType::i64, {-1})}));
  graph.initialize();
  auto image = Tensor::empty(f32, {batch, features});
  auto label = Tensor::empty(DType::i64, {batch});
  for (std::int64_t i = 0; i < image.size(); ++i)
    image.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i * 7919 % 256) / 256;
  for (std::int64_t i = 0; i < batch; ++i)
    label.values<std::int64_t>()[static_cast<std::size_t>(i)] = i % classes;
  TrainerOptions options;
  options.loss = "loss";
  options.batch = batch;
  Trainer trainer(graph, {{"image", image}, {"label", label}}, options);
  count("training: a step of a perceptron by adam", 10, [&] { trainer.step(); });
}

}  // namespace

int main() {
  const TemporaryFolder folder;
  Host host(options(folder));
  host.add<Nothing>("nothing");
  host.add<Plus>("plus");
  host.add_plugins(TENON_TEST_PLUGINS);
  runs(host);
  calls(host);
  from_file_to_plan(host, folder);
  training(host);
}
