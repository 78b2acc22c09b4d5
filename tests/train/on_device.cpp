// Training on a GPU, real or simulated.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/tensor_functions.hpp>

#include "check_says.hpp"
#include "device/devices.hpp"
#include "digits.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

bool no_gpu() {
  if (devices().size() > 1) return false;
  MESSAGE("skipped: it needs a GPU, or a build with TENON_CUDA=SIMULATED");
  return true;
}

TrainerOptions options_on(const std::string& device) {
  auto options = digits_options();
  options.device = device;
  options.batch = 20;
  return options;
}

double furthest(const std::map<std::string, Tensor>& left,
                const std::map<std::string, Tensor>& right) {
  double furthest = left.size() == right.size() ? 0 : INFINITY;
  for (const auto& [name, tensor] : left) {
    const auto a = tensor.to("cpu"), b = right.at(name).to("cpu");
    for (std::size_t i = 0; i < a.values<float>().size(); ++i)
      furthest = std::max(
          furthest, static_cast<double>(std::abs(a.values<float>()[i] - b.values<float>()[i])));
  }
  return furthest;
}

}  // namespace

TEST_CASE("training on a GPU matches the CPU up to rounding, with all tensors left there") {
  if (no_gpu()) return;
  const struct {
    const std::string& json;
    std::string optimizer;
    std::int64_t accumulate, micro_batches;
    double clip;
  } rows[] = {{mlp_json, "adam", 1, 1, 0},
              {convnet_json, "momentum", 2, 1, 1},
              {convnet_json, "momentum", 1, 3, 1}};
  for (const auto& row : rows) {
    CAPTURE(row.optimizer);
    DigitsHost digits_host;
    std::vector<Trainer> trainers;
    for (const char* device : {"cpu", "cuda"}) {
      auto options = options_on(device);
      options.optimizer = row.optimizer;
      options.accumulate = row.accumulate;
      options.micro_batches = row.micro_batches;
      options.clip_norm = row.clip;
      trainers.emplace_back(Graph::from_json(digits_host.host, row.json), digits(0, 60), options);
    }
    for (int step = 0; step < 4; ++step) {
      const auto here = trainers[0].step(), there = trainers[1].step();
      CHECK(there.metrics.loss == doctest::Approx(here.metrics.loss).epsilon(1e-3));
      CHECK(*there.metrics.accuracy == doctest::Approx(*here.metrics.accuracy).epsilon(0.1));
    }
    const auto here = values_of(trainers[0].graph()), there = values_of(trainers[1].graph());
    for (const auto& variable : there) {
      CAPTURE(variable.first);
      CHECK(variable.second.device() == "cuda:0");
    }
    CHECK(furthest(here, there) < 2e-3);
    CHECK(trainers[1].evaluate(digits(60, 100)).loss ==
          doctest::Approx(trainers[0].evaluate(digits(60, 100)).loss).epsilon(1e-2));
  }
}

TEST_CASE("a checkpoint resumes on the other device, and bit for bit on the same one") {
  if (no_gpu()) return;
  const TemporaryFolder folder;
  DigitsHost digits_host;
  const auto make = [&](const std::string& device) {
    return Trainer(Graph::from_json(digits_host.host, mlp_json), digits(0, 60), options_on(device));
  };
  for (const std::string from : {"cpu", "cuda"}) {
    auto first = make(from);
    for (int step = 0; step < 2; ++step) first.step();
    const auto path = folder / (from + ".tenon");
    first.save_checkpoint(path);
    first.step();
    for (const std::string to : {"cpu", "cuda"}) {
      CAPTURE(from + " to " + to);
      auto second = make(to);
      second.resume(path);
      CHECK(second.steps() == 2);
      second.step();
      const auto expected = values_of(first.graph()), found = values_of(second.graph());
      if (from == to)
        CHECK(same_values(expected, found));
      else
        CHECK(furthest(expected, found) < 1e-3);
    }
    const auto loaded = Graph::load(digits_host.host, path);  // it runs on any device
    const NamedTensors inputs = digits(0, 3);
    const auto here = Session(loaded).run(inputs).at("scores"),
               there = Session(loaded, {.seed = 0,
                                        .training = false,
                                        .device = "cuda",
                                        .trace = {},
                                        .keep_on_device = false})
                           .run(inputs)
                           .at("scores");
    CHECK(furthest({{"scores", here}}, {{"scores", there}}) < 1e-3);
  }
}

TEST_CASE("a gradient on a GPU that is not finite is found, and the variables are unchanged") {
  if (no_gpu()) return;
  DigitsHost digits_host;
  Graph graph(digits_host.host);
  const auto x = graph.input("x", f32, {-1, 1});
  const auto root = graph.add(
      "sqrt", {graph.add("mul", {x, graph.variable("w", Tensor::from({4.F}, {1}))})}, {}, "root");
  graph.output("loss", graph.add("mean", {root}));
  TrainerOptions options;
  options.loss = "loss";
  options.optimizer = "sgd";
  options.device = "cuda";
  options.batch = 1;
  options.shuffle = false;
  Trainer trainer(graph, {{"x", Tensor::from({1.F, 0.F}, {2, 1})}}, options);
  trainer.step();
  const auto before = values_of(trainer.graph());
  const auto failure = failure_of([&] { trainer.step(); });
  CHECK(failure.kind == 1);
  check_says(failure.message, {"step 2 of epoch 0:", "gradient of 'w' is not finite; first"});
  CHECK(same_values(before, values_of(trainer.graph())));
}

TEST_CASE(
    "a step that fails on a GPU after its kernels ran changes no state and draws no random "
    "numbers") {
  if (no_gpu()) return;
  DigitsHost digits_host;
  auto json = mlp_json;  // with states and dropout
  const std::string act = R"({"name": "act", "op": "relu", "inputs": ["fc1"]})";
  json.replace(json.find(act), act.size(),
               R"({"name": "norm", "op": "batch_norm", "inputs": ["fc1"]},
         {"name": "act", "op": "relu", "inputs": ["norm"]})");
  Trainer failing(Graph::from_json(digits_host.host, json), digits(0, 60), options_on("cuda"));
  Trainer other(Graph::from_json(digits_host.host, json), digits(0, 60), options_on("cuda"));
  auto no_class = digits(20, 40);
  no_class["label"] = full(DType::u8, {20}, 200);
  for (int step = 0; step < 3; ++step) {
    const auto before = values_of(failing.graph());
    const auto failure = failure_of([&] { failing.step(no_class); });
    CHECK(failure.message.starts_with(
        "[softmax_cross_entropy] node 'loss': index 200 is out of range"));
    CHECK(failing.can_be_saved());
    CHECK(same_values(before, values_of(failing.graph())));
    failing.step();
    other.step();
    CHECK_FALSE(same_values(before, values_of(failing.graph())));
    CHECK(same_values(values_of(other.graph()), values_of(failing.graph())));
  }
}
