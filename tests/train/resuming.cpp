// Trainings that stop and resume as if they had never stopped.
#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "digits.hpp"
#include "run/graph_impl.hpp"

using namespace tenon;

namespace {

struct Run {
  std::vector<double> losses;
  std::map<std::string, Tensor> values;
  std::string checkpoint;  // its final bytes
};

/// Trains up to step `steps`; after each of `stops`, everything is discarded and resumed from the
/// checkpoint.
Run train(const std::string& json, const TrainerOptions& options, std::uint64_t steps,
          const std::vector<std::uint64_t>& stops) {
  const TemporaryFolder folder;
  const auto path = folder / "checkpoint.tenon";
  Run run;
  auto next = stops.begin();
  for (bool first = true; first || run.losses.size() < steps; first = false) {
    DigitsHost digits_host(1 + static_cast<int>(run.losses.size() % 3));
    Trainer trainer(Graph::from_json(digits_host.host, json), digits(0, 200), options);
    if (!first) trainer.resume(path);
    CHECK(trainer.steps() == run.losses.size());
    const auto end = next == stops.end() ? steps : *next++;
    while (trainer.steps() < end) run.losses.push_back(trainer.step().metrics.loss);
    trainer.save_checkpoint(path);
    run.values = values_of(trainer.graph());
    run.checkpoint = read_bytes(path);
  }
  return run;
}

}  // namespace

TEST_CASE("resuming: training continues bit for bit, wherever it stopped") {
  const struct {
    const std::string& json;
    std::string optimizer;
    Schedule::Kind schedule;
    std::int64_t accumulate;
  } rows[] = {
      {mlp_json, "adam", Schedule::Kind::constant, 1},
      {convnet_json, "adamw", Schedule::Kind::cosine, 1},
      {mlp_json, "nesterov", Schedule::Kind::step, 2},
      {convnet_json, "sgd", Schedule::Kind::constant, 3},
  };
  for (const auto& row : rows) {
    CAPTURE(row.optimizer);
    auto options = digits_options();
    options.optimizer = row.optimizer;
    options.batch = 24;  // 9 batches per epoch, the last one smaller
    options.accumulate = row.accumulate;
    options.epochs = 3;
    options.clip_norm = 1;
    options.schedule.kind = row.schedule;
    options.schedule.every = 4;
    options.schedule.warm_up = 3;
    const auto straight = train(row.json, options, 22, {});
    const auto broken = train(row.json, options, 22, {1, 2, 9, 10, 21});
    CHECK(straight.losses == broken.losses);
    CHECK(same_values(straight.values, broken.values));
    CHECK(straight.checkpoint == broken.checkpoint);
  }
}

TEST_CASE("resuming: within an epoch, needs more examples than the epoch has used") {
  const TemporaryFolder folder;
  const auto path = folder / "checkpoint.tenon";
  DigitsHost digits_host;
  const auto graph = Graph::from_json(digits_host.host, mlp_json);
  Trainer trainer(graph, digits(0, 200), digits_options());
  trainer.step(), trainer.step();
  trainer.save_checkpoint(path);
  Trainer fewer(graph, digits(0, 128), digits_options()),
      enough(graph, digits(0, 129), digits_options());
  const auto failure = failure_of([&] { fewer.resume(path); });
  CHECK(failure.kind == 4);
  CHECK(failure.message ==
        path.string() +
            ": cannot resume: it stopped after 128 examples of an epoch, but the data has 128");
  enough.resume(path);
  CHECK(enough.steps() == 2);
}

TEST_CASE(
    "resuming: restores variables that are not trained, too, and does not change the caller's "
    "tensors") {
  const TemporaryFolder folder;
  DigitsHost digits_host;
  const auto make = [&](const Tensor& aside) {
    Graph graph(digits_host.host);
    const auto x = graph.input("x", f32, {-1, 1});
    const auto product = graph.add("mul", {x, graph.variable("w", Tensor::from({2.F}, {1}))});
    graph.output("loss", graph.add("mean", {product}));
    graph.output("other", graph.add("mul", {x, graph.variable("aside", aside)}));
    TrainerOptions options;
    options.loss = "loss";
    return Trainer(graph, {{"x", Tensor::from({1.F, 2.F}, {2, 1})}}, options);
  };
  auto first = make(Tensor::from({7.F}, {1}));
  first.step();
  first.save_checkpoint(folder / "c.tenon");
  const auto other = Tensor::from({8.F}, {1});
  auto second = make(other);
  second.resume(folder / "c.tenon");
  CHECK(same_values(values_of(first.graph()), values_of(second.graph())));
  CHECK(other.values<float>()[0] == 8);
}

TEST_CASE("resuming: a checkpoint that does not match is refused with the difference") {
  const TemporaryFolder folder;
  DigitsHost digits_host;
  const auto path = folder / "c.tenon";
  const auto graph = Graph::from_json(digits_host.host, mlp_json);
  Trainer trainer(graph, digits(0, 200), digits_options());
  for (int i = 0; i < 3; ++i) trainer.step();
  trainer.save_checkpoint(path);
  const auto with = [&](const std::string& json, std::int64_t examples,
                        const std::function<void(TrainerOptions&)>& change) {
    auto options = digits_options();
    change(options);
    return failure_of([&] {
      Trainer(Graph::from_json(digits_host.host, json), digits(0, examples), options).resume(path);
    });
  };
  auto wider = mlp_json;
  wider.replace(wider.find("32}"), 2, "33");
  const struct {
    FailureText failure;
    int kind;
    const char* words;
  } rows[] = {
      {with(mlp_json, 200, [](auto&) {}), 0, ""},
      {with(mlp_json, 200, [](auto& o) { o.batch = 10; }), 0, ""},
      {with(mlp_json, 100, [](auto&) {}), 4,
       "it stopped after 192 examples of an epoch, but the data has 100"},
      {with(mlp_json, 200, [](auto& o) { o.optimizer = "sgd"; }), 2,
       "the checkpoint has optimizer tenon.adam, but this training has tenon.sgd"},
      {with(mlp_json, 200, [](auto& o) { o.seed = 6; }), 2,
       "the checkpoint has seed 5, but this training has 6"},
      {with(mlp_json, 200,
            [](auto& o) {
              o.parameters = {{"beta1", 0.5}};
            }),
       2, "the checkpoint has optimizer parameters lazy_update=true beta1=0.9"},
      {with(convnet_json, 200, [](auto&) {}), 4, "it belongs to another graph"},
      {with(wider, 200, [](auto&) {}), 4,
       "it has node 'fc1 fully_connected scaled fc1_weight fc1_bias num_hidden=32"},
  };
  for (const auto& row : rows) {
    CHECK(row.failure.kind == row.kind);
    CHECK(row.failure.message.find(row.words) != std::string::npos);
    if (row.kind == 4) CHECK(row.failure.message.find("cannot resume") != std::string::npos);
    INFO(row.failure.message);
  }
  auto model = Graph::load(digits_host.host, path);
  auto& edited = impl_of(model).edit().model;
  auto& slots = edited.training->slots;
  const auto count = slots.size();
  slots.push_back(
      {"more", slots.back().variable, static_cast<std::uint32_t>(edited.tensors.size())});
  edited.tensors.push_back(Tensor::from({1.F}, {1}));
  model.save(path);
  CHECK(with(mlp_json, 200, [](auto&) {})
            .message.ends_with("it has " + std::to_string(count + 1) +
                               " optimizer states but needs " + std::to_string(count)));
  impl_of(model).edit().model.training->slots.resize(count - 1);
  model.save(path);
  CHECK(with(mlp_json, 200, [](auto&) {}).message.find("it has no 'steps' for 'scores_bias'") !=
        std::string::npos);
  trainer.graph().save(path);
  CHECK(with(mlp_json, 200, [](auto&) {}).message.find("it has no training state") !=
        std::string::npos);
}

TEST_CASE("resuming: a checkpoint that is refused changes nothing") {
  const TemporaryFolder folder;
  const auto path = folder / "c.tenon";
  DigitsHost digits_host;
  const auto make = [&](std::int64_t width) {
    Graph graph(digits_host.host);
    const auto x = graph.input("x", f32, {-1, 1});
    const auto first = graph.add("mul", {x, graph.variable("a", Tensor::from({2.F}, {1}))});
    const auto other = graph.variable("b", Tensor::zeros(f32, {width}));
    graph.output("loss", graph.add("mean", {graph.add("add", {first, other})}));
    TrainerOptions options;
    options.loss = "loss";
    return Trainer(graph, {{"x", Tensor::from({1.F, 2.F}, {2, 1})}}, options);
  };
  auto trainer = make(1);
  for (int i = 0; i < 3; ++i) trainer.step();
  trainer.save_checkpoint(path);

  SUBCASE("the second variable has another shape") {
    auto other = make(2);
    other.step();
    const auto before = values_of(other.graph());
    CHECK(failure_of([&] { other.resume(path); }).message.find("'b' is float32 [1]") !=
          std::string::npos);
    CHECK(same_values(values_of(other.graph()), before));
    CHECK(other.steps() == 1);
  }
  SUBCASE("it lacks a state of the optimizer") {
    auto checkpoint = Graph::load(digits_host.host, path);
    impl_of(checkpoint).edit().model.training->slots.pop_back();
    checkpoint.save(path);
    auto other = make(1), undisturbed = make(1);
    other.step(), undisturbed.step();
    CHECK(failure_of([&] { other.resume(path); }).message.find("it has no ") != std::string::npos);
    other.step(), undisturbed.step();
    CHECK(same_values(values_of(other.graph()), values_of(undisturbed.graph())));
  }
}
