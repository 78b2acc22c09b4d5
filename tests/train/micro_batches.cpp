// Trainings with several micro-batches per step: sums computed by hand, and bit-identical results
// however they run.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/udf.hpp>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "../plugin_options.hpp"
#include "digits.hpp"
#include "probe_operators.hpp"
#include "words.hpp"

using namespace tenon;

namespace {

/// The loss is the sum of x * w, w is 0 at first, and a step is as long as the gradient: afterwards
/// w is minus the mean of x.
struct Line {
  DigitsHost digits_host;
  TrainerOptions options;

  explicit Line(std::int64_t micro_batches, std::int64_t accumulate = 1, std::int64_t batch = 1) {
    options.loss = "loss";
    options.optimizer = "sgd";
    options.schedule.rate = 1;
    options.batch = batch;
    options.accumulate = accumulate;
    options.micro_batches = micro_batches;
    options.shuffle = false;
  }
  Trainer trainer(const std::vector<float>& xs) {
    Graph graph(digits_host.host);
    const auto x = graph.input("x", f32, {-1, 1});
    graph.output(
        "loss",
        graph.add("sum", {graph.add("mul", {x, graph.variable("w", Tensor::from({0.F}, {1}))})}));
    return {graph, {{"x", Tensor::from(xs, {static_cast<std::int64_t>(xs.size()), 1})}}, options};
  }
};

float value_of(const Trainer& trainer, const char* name) {
  const auto graph = trainer.graph();
  return graph.tensor(graph.find(name)).values<float>()[0];
}

/// A layer with a state that cannot be averaged: its number of runs.
struct CountsRuns : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.state("runs", "0-d, runs so far");
  }
  void infer(Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("runs", Shape::scalar(), i64);
  }
  void forward(const Call& call) const {
    if (call.training()) ++call.state<std::int64_t>("runs")[0];
    Copy::forward(call);
  }
};

/// convnet_json with dropout after its pool.
std::string dropping_convnet() {
  auto json = convnet_json;
  const std::string scores = R"({"name": "scores", "op": "fully_connected", "inputs": ["pool"])";
  json.replace(json.find(scores), scores.size(),
               R"({"name": "drop", "op": "dropout", "inputs": ["pool"], "attrs": {"p": 0.2}},
   {"name": "scores", "op": "fully_connected", "inputs": ["drop"])");
  return json;
}

struct Task {
  const char* name;
  std::string json;
  NamedTensors data;
  TrainerOptions options;
};

std::vector<Task> tasks() {
  auto options = digits_options();
  options.batch = 8;
  options.clip_norm = 1;
  auto of_words = WordsModel::options();
  of_words.batch = 6;
  const WordsModel words;
  return {{"perceptron", mlp_json, digits(0, 150), options},
          {"convnet", dropping_convnet(), digits(0, 150), options},
          {"words", words.json(), words.texts(100), of_words}};
}

/// The checkpoint's bytes after some steps; with `stop`, the training is stopped and resumed every
/// `stop` steps, each time with another number of threads.
std::string bytes_after(std::map<int, DigitsHost>& hosts, const Task& task, int steps, int threads,
                        int stop = 0) {
  const TemporaryFolder folder;
  const auto path = folder / "c.tenon";
  for (int done = 0; done < steps; threads = threads % 4 + 1) {
    Trainer trainer(
        Graph::from_json(hosts.try_emplace(threads, threads, true).first->second.host, task.json),
        task.data, task.options);
    if (done > 0) trainer.resume(path);
    for (int i = 0; done < steps && (stop == 0 || i < stop); ++i, ++done) trainer.step();
    trainer.save_checkpoint(path);
  }
  return read_bytes(path);
}

}  // namespace

TEST_CASE("micro-batches: the tree's sum, in the arithmetic of the gradient") {
  const float big = 3e7F;  // absorbs 1 but not 3
  const auto step = [](std::int64_t micro_batches, std::int64_t accumulate,
                       const std::vector<float>& xs) {
    Line line(micro_batches, accumulate);
    auto trainer = line.trainer(xs);
    CHECK(trainer.step().examples == static_cast<std::int64_t>(xs.size()));
    CHECK(trainer.epoch() == 1);
    return -value_of(trainer, "w");
  };
  const std::vector<float> x{big, 1, 1, 1, -big, 1, 1, 1};
  const auto share = [&](std::size_t i) { return x[i] / 8; };
  const float in_micro_batches = ((share(0) + share(1)) + (share(2) + share(3))) +
                                 ((share(4) + share(5)) + (share(6) + share(7)));
  const float in_two = (((share(0) + share(1)) + share(2)) + share(3)) +
                       (((share(4) + share(5)) + share(6)) + share(7));
  const float in_order =
      ((((((share(0) + share(1)) + share(2)) + share(3)) + share(4)) + share(5)) + share(6)) +
      share(7);
  CHECK(step(8, 1, x) == in_micro_batches);
  CHECK(step(4, 2, x) == in_micro_batches);
  CHECK(step(2, 4, x) == in_two);
  CHECK(step(1, 8, x) == in_order);
  CHECK(in_micro_batches != in_two);
  CHECK(in_two != in_order);

  const float third = static_cast<float>(1.0 / 3), sixth = static_cast<float>(1.0 / 6);
  CHECK(step(3, 1, {big, 1, 1}) == (big * third + third) + third);
  CHECK(step(6, 1, {big, 1, 1, 1, 1, -big}) ==
        ((big * sixth + sixth) + (sixth + sixth)) + (sixth + -big * sixth));
}

TEST_CASE("micro-batches: the last step of an epoch fills the first ones and drops empty ones") {
  Line line(4, 2);
  auto trainer = line.trainer({1, 1, 1, 1, 1, 1, 1, 1, 3e7F, 1, -3e7F, 1,
                               1});  // steps of eight, then five batches in three micro-batches
  CHECK(trainer.steps_per_epoch() == 2);
  CHECK(trainer.step().examples == 8);
  const float before = value_of(trainer, "w");
  CHECK(before == -1);
  CHECK(trainer.step().examples == 5);
  const auto fifth = static_cast<float>(1.0 / 5);
  CHECK(value_of(trainer, "w") ==
        before - (((3e7F * fifth + fifth) + (-3e7F * fifth + fifth)) + fifth));
  CHECK(trainer.epoch() == 1);
  CHECK(trainer.position() == 0);
}

TEST_CASE(
    "micro-batches: each begins with the step's initial states and contributes equally to their "
    "mean") {
  DigitsHost digits_host;
  const std::vector<double> xs{1,  3, 5, 9,
                               -2, 4, 7, 7};  // batches of two with the means 2, 7, 1 and 7
  const auto moving_mean = [&](std::int64_t micro_batches, std::int64_t accumulate) {
    Graph graph(digits_host.host);
    const auto x = graph.input("x", f32, {-1, 1});
    const auto normal = graph.add("batch_norm", {x}, {{"momentum", 0.75}}, "norm");
    graph.output(
        "loss",
        graph.add("sum",
                  {graph.add("mul", {normal, graph.variable("w", Tensor::from({1.F}, {1}))})}));
    TrainerOptions options;
    options.loss = "loss";
    options.batch = 2;
    options.micro_batches = micro_batches;
    options.accumulate = accumulate;
    options.shuffle = false;
    const std::vector<float> given(xs.begin(), xs.end());
    Trainer trainer(graph, {{"x", Tensor::from(given, {8, 1})}}, options);
    trainer.step();
    const auto values = values_of(trainer.graph());
    for (const auto& [name, tensor] : values)
      if (name.find("moving_mean") != std::string::npos)
        return static_cast<double>(tensor.values<float>()[0]);
    return std::nan("");
  };
  const auto after = [](double old, double mean) { return 0.75 * old + 0.25 * mean; };
  CHECK(moving_mean(4, 1) ==
        doctest::Approx((after(0, 2) + after(0, 7) + after(0, 1) + after(0, 7)) / 4));
  CHECK(moving_mean(3, 1) == doctest::Approx((after(0, 2) + after(0, 7) + after(0, 1)) / 3));
  CHECK(moving_mean(2, 2) == doctest::Approx((after(after(0, 2), 7) + after(after(0, 1), 7)) / 2));
  CHECK(moving_mean(1, 4) == doctest::Approx(after(after(after(after(0, 2), 7), 1), 7)));
}

TEST_CASE("micro-batches: a state that cannot be averaged must agree") {
  DigitsHost digits_host;
  digits_host.host.add<CountsRuns>();
  Graph graph(digits_host.host);
  const auto x = graph.add("counts_runs", {graph.input("x", f32, {-1, 1})}, {}, "counter");
  graph.output(
      "loss",
      graph.add("sum", {graph.add("mul", {x, graph.variable("w", Tensor::from({1.F}, {1}))})}));
  TrainerOptions options;
  options.loss = "loss";
  options.batch = 1;
  options.accumulate = 2;
  options.micro_batches = 3;
  Trainer trainer(
      graph, {{"x", Tensor::from({1.F, 2.F, 3.F, 4.F, 5.F, 6.F, 7.F, 8.F, 9.F}, {9, 1})}}, options);
  trainer.step();
  const auto values = values_of(trainer.graph());
  CHECK(values.at("counter_runs").values<std::int64_t>()[0] == 2);
  const auto failure = failure_of(
      [&] { trainer.step(); });  // three batches: two in the first micro-batch, one in the second
  CHECK(failure.kind == 1);
  check_says(failure.message,
             {"state 'counter_runs' is int64", "differs between the step's micro-batches",
              "only floating-point states"});
  CHECK(same_values(values, values_of(trainer.graph())));
  CHECK(trainer.steps() == 1);
  CHECK(trainer.position() == 6);
}

TEST_CASE("micro-batches: a batch draws the same random numbers in any of them") {
  const auto first_loss = [](std::int64_t micro_batches, std::int64_t accumulate) {
    DigitsHost digits_host;
    auto options = digits_options();
    options.batch = 10;
    options.micro_batches = micro_batches;
    options.accumulate = accumulate;
    Trainer trainer(Graph::from_json(digits_host.host, mlp_json), digits(0, 60), options);
    return trainer.step().metrics.loss;
  };
  const auto in_order = first_loss(1, 4);
  CHECK(first_loss(4, 1) == in_order);
  CHECK(first_loss(2, 2) == in_order);
}

TEST_CASE("micro-batches: the same file on any number of threads, and wherever training stops") {
  std::map<int, DigitsHost> hosts;  // by number of threads
  for (auto& task : tasks()) {
    CAPTURE(task.name);
    std::vector<std::string> files;
    for (const std::int64_t micro_batches : {1, 2, 3, 8}) {
      CAPTURE(micro_batches);
      task.options.micro_batches = micro_batches;
      const int steps = micro_batches == 8
                            ? 5
                            : 7;  // with 8 micro-batches, past the first epoch's short last step
      const auto file = bytes_after(hosts, task, steps, 1);
      for (const int threads : {2, 3, 4}) CHECK((bytes_after(hosts, task, steps, threads) == file));
      CHECK((bytes_after(hosts, task, steps, 2, 2) == file));
      files.push_back(file);
    }
    for (std::size_t i = 1; i < files.size(); ++i) CHECK((files[i] != files[i - 1]));
  }
}

TEST_CASE("micro-batches: a checkpoint stores their number, and another number is warned about") {
  const TemporaryFolder folder;
  const auto path = folder / "c.tenon";
  std::vector<std::string> warnings;
  const TemporaryFolder cache;
  auto host_options = plugin_options(cache);
  host_options.warn = [&](const std::string& text) { warnings.push_back(text); };
  Host host(host_options);
  host.add_plugins(TENON_TEST_PLUGINS);
  const auto trainer = [&](std::int64_t micro_batches) {
    auto options = digits_options();
    options.batch = 10;
    options.micro_batches = micro_batches;
    return Trainer(Graph::from_json(host, mlp_json), digits(0, 100), options);
  };
  auto first = trainer(3);
  first.step();
  first.save_checkpoint(path);
  CHECK(model_of(Graph::load(host, path)).training->micro_batches == 3);
  trainer(3).resume(path);
  CHECK(warnings.empty());
  trainer(2).resume(path);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == path.string() +
                           ": the checkpoint has number of micro-batches 3, but this training has "
                           "2: training continues, but the results will differ");
}

TEST_CASE(
    "micro-batches: invalid numbers are refused, and an overflowing sum is reported as such") {
  Line none(0), many(2, 1, 2);
  CHECK(failure_of([&] { none.trainer({1}); }).message ==
        "micro_batches is 0 but must be at least 1");
  auto trainer = many.trainer({3.3e38F, 3.3e38F, 3.3e38F, 3.3e38F});
  const auto failure = failure_of([&] { trainer.step(); });
  check_says(failure.message,
             {"step 1 of epoch 0:", "gradient of 'w' is not finite", "micro-batches is too large"});
  CHECK(value_of(trainer, "w") == 0);
  Line huge(std::int64_t{1} << 62, std::int64_t{1} << 62);
  auto whole = huge.trainer({1, 2, 3});
  CHECK(whole.steps_per_epoch() == 1);
  CHECK(whole.step().examples == 3);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
TEST_CASE("micro-batches: the option's old name counts if the new one is not set") {
  const TrainerOptions both{.micro_batches = 4, .lanes = 3, .distributed = false};
  CHECK(both.micro_batches == 4);
  const struct {
    std::int64_t micro_batches, lanes, position;
  } rows[] = {{1, 3, 3}, {3, 1, 3}, {2, 3, 2}, {1, 1, 1}};
  for (const auto& row : rows) {
    Line line(row.micro_batches);
    line.options.lanes = row.lanes;
    auto trainer = line.trainer({1, 2, 3, 4, 5, 6});
    trainer.step();
    CHECK(trainer.position() == row.position);
  }
  Line line(1);
  line.options.lanes = 0;
  CHECK(failure_of([&] { line.trainer({1}); }).message ==
        "micro_batches is 0 but must be at least 1");
}
#pragma GCC diagnostic pop
