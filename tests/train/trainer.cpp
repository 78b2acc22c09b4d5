// Training of whole networks.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>
#include <tenon/visit.hpp>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "digits.hpp"
#include "run/impl_access.hpp"

using namespace tenon;

namespace {

/// A third-party optimizer: each step is as long as the learning rate, and slightly shorter every
/// time.
struct SignDescent : Operator {
  double fading = 0.99;

  static constexpr void describe(auto& op) {
    op.doc("weight - learning_rate * sign(grad)");
    op.types({f32});
    op.input("weight", "any shape");
    op.input("grad", "same shape");
    op.input("learning_rate", "0-d");
    op.output("updated", "same shape");
    op.state("taken", "0-d, steps so far");
    op.param("fading", &SignDescent::fading, "relative decrease of the step length")
        .at_least(0)
        .at_most(1);
    op.inplace("weight", "updated");
  }
  void infer(Infer& io) const {
    io.set_output(0, io.input("weight").shape);
    io.set_state("taken", Shape::scalar(), i64);
  }
  void forward(const Call& call) const {
    const auto weight = call.input<float>("weight"), grad = call.input<float>("grad");
    const auto length =
        call.input<float>("learning_rate")[0] *
        static_cast<float>(std::pow(fading, call.state<std::int64_t>("taken")[0]++));
    for (std::int64_t i = 0; i < weight.size(); ++i)
      call.output<float>(0)[i] = weight[i] - (grad[i] > 0 ? length : grad[i] < 0 ? -length : 0);
  }
};

/// Values after `steps` steps.
std::map<std::string, Tensor> trained(const std::string& json, TrainerOptions options, int steps,
                                      int threads = 2, std::int64_t examples = 300) {
  DigitsHost digits_host(threads);
  Trainer trainer(Graph::from_json(digits_host.host, json), digits(0, examples),
                  std::move(options));
  for (int i = 0; i < steps; ++i) trainer.step();
  return values_of(trainer.graph());
}

Graph load(Host& host, const std::string& json) {
  return Graph::from_json(host, json);
}

}  // namespace

TEST_CASE("trainer: the loss falls, and unseen digits are classified well") {
  const struct {
    const std::string& json;
    std::string optimizer;
    double rate;
  } rows[] = {{mlp_json, "adam", 5e-3}, {mlp_json, "sgd", 0.3}, {convnet_json, "momentum", 0.02}};
  for (const auto& row : rows) {
    CAPTURE(row.optimizer);
    DigitsHost digits_host;
    auto options = digits_options();
    options.optimizer = row.optimizer;
    options.schedule.rate = row.rate;
    Trainer trainer(load(digits_host.host, row.json), digits(0, 1500), options);
    const auto first = trainer.step();
    CHECK(first.step == 1);
    CHECK(first.examples == 64);
    CHECK(trainer.steps_per_epoch() == 24);
    while (trainer.epoch() < 12) trainer.step();
    CHECK(trainer.steps() == 12 * 24);
    CHECK(trainer.position() == 0);
    const auto seen = trainer.evaluate(digits(0, 1500)),
               fresh = trainer.evaluate(digits(1500, 1797));
    CHECK(seen.loss < first.metrics.loss / 5);
    CHECK(*seen.accuracy > 0.95);
    CHECK(*fresh.accuracy > 0.88);
  }
}

TEST_CASE("trainer: one step of gradient descent matches its definition") {
  DigitsHost digits_host;
  Graph graph(digits_host.host);
  const auto x = graph.input("x", f32, {-1, 1}), y = graph.input("y", f32, {-1, 1});
  const auto w = graph.variable("w", Tensor::from({0.5F}, {1, 1}));
  const auto product =
      graph.add("fully_connected", {x, w}, {{"num_hidden", 1}, {"no_bias", true}}, "product");
  graph.output("error", graph.add("mean_squared_error", {product, y}, {}, "error"));
  // five examples in batches of two, two batches per step: a step of four examples, then one of the
  // last
  const std::vector<float> xs{1, 2, 3, 4, 5}, ys{2, 1, 0, 1, 2};
  for (const std::int64_t accumulate : {1, 2, 5}) {
    TrainerOptions options;
    options.loss = "error";
    options.optimizer = "sgd";
    options.schedule.rate = 0.01;
    options.batch = accumulate == 5 ? 1 : 4 / accumulate;
    options.accumulate = accumulate;
    options.shuffle = false;
    Trainer trainer(graph, {{"x", Tensor::from(xs, {5, 1})}, {"y", Tensor::from(ys, {5, 1})}},
                    options);
    double expected = 0.5;
    const std::size_t group = accumulate == 5 ? 5 : 4;
    for (std::size_t begin = 0; begin < 5; begin += group) {
      const auto end = std::min<std::size_t>(begin + group, 5);
      double slope = 0, loss = 0;
      for (auto i = begin; i < end; ++i) {
        const double miss = expected * static_cast<double>(xs[i]) - static_cast<double>(ys[i]),
                     n = static_cast<double>(end - begin);
        slope += 2 * miss * static_cast<double>(xs[i]) / n;
        loss += miss * miss / n;
      }
      CHECK(trainer.step().metrics.loss == doctest::Approx(loss).epsilon(1e-6));
      expected -= 0.01 * slope;
      CHECK(trainer.graph().tensor(trainer.graph().find("w")).values<float>()[0] ==
            doctest::Approx(expected).epsilon(1e-6));
    }
    CHECK(trainer.epoch() == 1);
  }
  CHECK(graph.tensor(w).values<float>()[0] == 0.5F);  // the caller's own
}

TEST_CASE("trainer: a schedule without a length lasts for the training") {
  auto options = digits_options();
  options.schedule.kind = Schedule::Kind::cosine;
  options.batch = 100;
  options.epochs = 2;  // 3 steps each
  const auto as_long = trained(mlp_json, options, 4);
  options.schedule.total = 6;
  CHECK(same_values(as_long, trained(mlp_json, options, 4)));
  options.schedule.total = 5;
  CHECK_FALSE(same_values(as_long, trained(mlp_json, options, 4)));
}

TEST_CASE("trainer: clipping bounds the gradients of all variables together") {
  DigitsHost digits_host;
  auto options = digits_options();
  options.optimizer = "sgd";
  options.schedule.rate = 1;
  const auto start = trained(mlp_json, options, 0);
  const auto moved = [&](double clip) {
    options.clip_norm = clip;
    double squares = 0;
    for (const auto& [name, after] : trained(mlp_json, options, 1)) {
      const auto before = start.at(name).values<float>(), now = after.values<float>();
      for (std::size_t i = 0; i < now.size(); ++i)
        squares += std::pow(static_cast<double>(now[i]) - static_cast<double>(before[i]), 2);
    }
    return std::sqrt(squares);
  };
  const auto free = moved(0);
  CHECK(moved(free / 4) == doctest::Approx(free / 4).epsilon(1e-4));
  CHECK(moved(free * 2) == doctest::Approx(free).epsilon(1e-6));
}

TEST_CASE(
    "trainer: the same seed gives the same bits on any number of threads, other seeds do not") {
  for (const auto* json : {&mlp_json, &convnet_json})
    for (const std::int64_t accumulate : {1, 3}) {
      auto options = digits_options();
      options.batch = 32;
      options.accumulate = accumulate;
      options.clip_norm = 0.5;
      const auto one = trained(*json, options, 7, 1);
      CHECK(same_values(one, trained(*json, options, 7, 4)));
      CHECK(same_values(one, trained(*json, options, 7, 3)));
      options.seed = 6;
      CHECK_FALSE(same_values(one, trained(*json, options, 7, 1)));
    }
}

TEST_CASE("trainer: a memory budget changes which values are stored, but no bits of the result") {
  DigitsHost digits_host;
  std::string deep = mlp_json;
  std::string layers, last = "act";
  for (int i = 0; i < 6; ++i) {
    const auto name = "deep" + std::to_string(i);
    layers += R"(   {"name": ")" + name + R"(", "op": "fully_connected", "inputs": [")" + last +
              R"("], "attrs": {"num_hidden": 48}},)" + R"({"name": "t)" + name +
              R"(", "op": "tanh", "inputs": [")" + name + "\"]},\n";
    last = "t" + name;
  }
  deep.replace(deep.find("\"inputs\": [\"act\"]"), 17, "\"inputs\": [\"" + last + "\"]");
  deep.insert(deep.find("   {\"name\": \"drop\""), layers);
  for (const auto& json :
       {deep, convnet_json}) {  // the second one's normalization has states and is never recomputed
    auto options = digits_options();
    options.memory_budget = 1;
    const auto message =
        failure_of([&] { Trainer(load(digits_host.host, json), digits(0, 300), options); }).message;
    REQUIRE(message.starts_with("the gradient needs at least "));
    options.memory_budget = std::stoll(message.substr(28));
    const auto tight = trained(json, options, 7);
    options.memory_budget = 0;
    CHECK(same_values(tight, trained(json, options, 7)));
  }
}

TEST_CASE("trainer: every bundled optimizer trains") {
  for (const std::string name :
       {"sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad"}) {
    CAPTURE(name);
    DigitsHost digits_host;
    auto options = digits_options();
    options.optimizer = name;
    options.schedule.rate = 0.01;
    Trainer trainer(load(digits_host.host, mlp_json), digits(0, 640), options);
    const auto before = trainer.evaluate(digits(0, 640)).loss;
    while (trainer.epoch() < 3) trainer.step();
    CHECK(trainer.evaluate(digits(0, 640)).loss < before);
  }
}

TEST_CASE("trainer: a third-party optimizer trains and resumes") {
  const TemporaryFolder folder;
  DigitsHost digits_host;
  digits_host.host.add<SignDescent>();
  auto options = digits_options();
  options.optimizer = "sign_descent";
  options.parameters = {{"fading", 0.98}};
  const auto make = [&] {
    return Trainer(load(digits_host.host, mlp_json), digits(0, 640), options);
  };
  auto straight = make(), first = make(), second = make();
  const auto before = straight.evaluate(digits(0, 640)).loss;
  for (int i = 0; i < 40; ++i) straight.step();
  for (int i = 0; i < 17; ++i) first.step();
  first.save_checkpoint(folder / "c.tenon");
  second.resume(folder / "c.tenon");
  for (int i = 17; i < 40; ++i) second.step();
  CHECK(straight.evaluate(digits(0, 640)).loss < 0.8 * before);
  CHECK(same_values(values_of(straight.graph()), values_of(second.graph())));
}

TEST_CASE("trainer: a trained graph is saved and runs like any other") {
  const TemporaryFolder folder;
  DigitsHost digits_host;
  Trainer trainer(load(digits_host.host, convnet_json), digits(0, 1500), digits_options());
  while (trainer.epoch() < 2) trainer.step();
  const auto metrics = trainer.evaluate(digits(1500, 1797));
  trainer.graph().save(folder / "trained.tenon");
  trainer.save_checkpoint(folder / "checkpoint.tenon");
  for (const char* name : {"trained.tenon", "checkpoint.tenon"}) {
    const auto outputs =
        Session(Graph::load(digits_host.host, folder / name)).run(digits(1500, 1797));
    CHECK(static_cast<double>(outputs.at("loss").values<float>()[0]) ==
          doctest::Approx(metrics.loss).epsilon(1e-5));
  }
  CHECK_FALSE(
      model_of(Graph::load(digits_host.host, folder / "trained.tenon")).training.has_value());
}

TEST_CASE(
    "trainer: NaN and infinities stop training before they reach variables, naming the node that "
    "produced them first") {
  DigitsHost digits_host;
  Graph graph(digits_host.host);
  const auto x = graph.input("x", f32, {-1, 1});
  const auto w = graph.variable("w", Tensor::from({1.F}, {1, 1}));
  const auto product =
      graph.add("fully_connected", {x, w}, {{"num_hidden", 1}, {"no_bias", true}}, "product");
  const auto logarithm = graph.add("log", {product}, {}, "logarithm");
  const auto root = graph.add("sqrt", {product}, {}, "root");
  graph.output("loss", graph.add("mean", {logarithm}, {}, "average"));
  graph.output("roots", graph.add("mean", {root}, {}, "roots"));
  TrainerOptions options;
  options.loss = "loss";
  options.batch = 2;
  options.shuffle = false;
  const struct {
    const char* loss;
    float bad;
    std::string message;
  } rows[] = {
      {"loss", -1,
       "step 2 of epoch 0: the loss is nan; first [log] node 'logarithm': element 1 is nan"},
      {"loss", 0,
       "step 2 of epoch 0: the loss is -inf; first [log] node 'logarithm': element 1 is -inf"},
      {"loss", NAN, "step 2 of epoch 0: the loss is nan; first 'x': element 1 is nan"},
      {"roots", 0,
       "step 2 of epoch 0: the gradient of 'w' is not finite; first [sqrt backward] node "
       "'root_backward': element 1 is inf"},
  };
  for (const auto& row : rows) {
    options.loss = row.loss;
    Trainer trainer(graph, {{"x", Tensor::from({1.F, 2.F, 3.F, row.bad}, {4, 1})}}, options);
    trainer.step();
    const auto before = values_of(trainer.graph());
    const auto failure = failure_of([&] { trainer.step(); });
    CHECK(failure.kind == 1);
    CHECK(failure.message == row.message);
    CHECK(same_values(before, values_of(trainer.graph())));
  }
}

TEST_CASE("trainer: what cannot be trained is refused before anything runs") {
  DigitsHost digits_host;
  const auto graph = load(digits_host.host, mlp_json);
  const struct {
    std::function<void(TrainerOptions&)> change;
    int kind;
    std::string message, hint;
  } rows[] = {
      {[](auto& o) { o.loss = ""; }, 2, "the name of the loss is empty", ""},
      {[](auto& o) { o.loss = "los"; }, 2, "the graph has no value 'los'", "did you mean loss?"},
      {[](auto& o) { o.loss = "scores"; }, 2,
       "the loss 'scores' has shape [?, 10] but must be one number",
       "use sum, mean, or a loss with reduction mean, which return one number"},
      {[](auto& o) { o.loss = "label"; }, 2, "the loss 'label' is uint8 but must be floating-point",
       "use sum, mean, or a loss with reduction mean, which return one number"},
      {[](auto& o) { o.optimizer = "adan"; }, 3, "unknown optimizer 'adan'", "did you mean adam?"},
      {[](auto& o) { o.optimizer = "relu"; }, 2,
       "'relu' is not an optimizer: an optimizer has the inputs weight, grad and learning_rate and "
       "the output updated",
       "optimizers are adagrad, adam, adamw, momentum, nesterov, rmsprop, sgd"},
      {[](auto& o) { o.batch = 0; }, 2, "batch is 0 but must be at least 1", ""},
      {[](auto& o) { o.accumulate = 0; }, 2, "accumulate is 0 but must be at least 1", ""},
      {[](auto& o) { o.clip_norm = -1; }, 2, "clip_norm is -1 but must be 0 or more", ""},
      {[](auto& o) { o.memory_budget = -5; }, 2, "memory_budget is -5 but must be 0 or more", ""},
      {[](auto& o) { o.label = ""; }, 2, "accuracy needs both scores and label", ""},
      {[](auto& o) { o.schedule.rate = -1; }, 2,
       "the learning rate is -1 but must be a finite number, 0 or more", ""},
  };
  for (const auto& row : rows) {
    auto options = digits_options();
    row.change(options);
    const auto failure = failure_of([&] { Trainer(graph, digits(0, 10), options); });
    CHECK(failure.message == row.message);
    CHECK(failure.hint == row.hint);
    CHECK(failure.kind == row.kind);
  }
  auto options = digits_options();
  options.parameters = {{"bta1", 0.5}};
  const auto failure = failure_of([&] { Trainer(graph, digits(0, 10), options); });
  CHECK(failure.kind == 2);
  CHECK((failure.message + failure.hint).find("beta1") != std::string::npos);
}

TEST_CASE("trainer: data that does not match the graph's inputs is refused at construction") {
  DigitsHost digits_host;
  const auto graph = load(digits_host.host, mlp_json);
  auto missing = digits(0, 10), unknown = digits(0, 10), other = digits(0, 10);
  missing.erase("label");
  unknown["weather"] = unknown.at("label");
  other["image"] = Tensor::zeros(f64, {10, 64});
  const struct {
    NamedTensors& data;
    const char* message;
  } cases[] = {
      {missing, "there are no examples for input 'label'"},
      {unknown, "the graph has no input 'weather'"},
      {other, "input 'image' is float64 but the graph needs uint8"},
  };
  for (const auto& c : cases) {
    const auto failure = failure_of([&] { Trainer(graph, c.data, digits_options()); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == c.message);
  }
}

TEST_CASE("evaluator: a batch of 0, and labels that are not classes, are refused") {
  DigitsHost digits_host;
  const auto graph = load(digits_host.host, mlp_json);
  CHECK(failure_of([&] {
          Evaluator(graph, {.loss = "loss", .scores = {}, .label = {}, .batch = 0});
        }).message == "batch is 0 but must be at least 1");
  Evaluator evaluator(graph, {.loss = {}, .scores = "scores", .label = "label"});
  auto data = digits(0, 10);
  CHECK(evaluator.evaluate(data).examples == 10);
  data.at("label") = full(u8, {10}, 99);
  check_says(failure_of([&] { evaluator.evaluate(data); }).message,
             {"label 99 of example 0", "10 classes"});
}

TEST_CASE("trainer: a step with the caller's batch equals the trainer's own step") {
  DigitsHost own_host, given_host;
  TrainerOptions options;
  options.loss = "loss";
  options.batch = 20;
  options.shuffle = false;
  const auto data = digits(0, 60);
  Trainer own(load(own_host.host, mlp_json), data, options),
      given(load(given_host.host, mlp_json), digits(0, 1), options);
  for (const std::int64_t first : {0, 20, 40}) {
    const auto expected = own.step(), report = given.step(digits(first, first + 20));
    CHECK(report.metrics.loss == expected.metrics.loss);
    CHECK(report.step == expected.step);
    CHECK(report.examples == 20);
  }
  CHECK(given.position() == 0);
  CHECK(given.epoch() == 0);
  const auto expected = values_of(own.graph()), values = values_of(given.graph());
  REQUIRE(values.size() == expected.size());
  for (const auto& value : expected)
    CHECK_MESSAGE(same_bits(values.at(value.first), value.second),
                  value.first);  // clang 14 cannot capture structured bindings
}

TEST_CASE("trainer: an invalid batch changes nothing") {
  DigitsHost host;
  TrainerOptions options;
  options.loss = "loss";
  Trainer trainer(load(host.host, mlp_json), digits(0, 10), options);
  const auto before = values_of(trainer.graph());
  auto other_type = digits(0, 4), short_labels = digits(0, 4), unknown = digits(0, 4);
  auto missing = digits(0, 4);
  other_type["image"] = Tensor::zeros(f64, other_type.at("image").shape());
  short_labels["label"] = digits(0, 3).at("label");
  unknown["weather"] = unknown.at("label");
  missing.erase("label");
  const struct {
    NamedTensors& batch;
    const char* message;
  } cases[] = {
      {other_type, "input 'image' is float64 but the graph needs uint8"},
      {short_labels, "'image' has 4 examples but 'label' has 3"},
      {unknown, "the graph has no input 'weather'"},
      {missing, "there are no examples for input 'label'"},
  };
  for (const auto& c : cases)
    CHECK(failure_of([&] { trainer.step(c.batch); }).message == c.message);
  CHECK(trainer.steps() == 0);
  for (const auto& value : values_of(trainer.graph()))
    CHECK_MESSAGE(same_bits(before.at(value.first), value.second), value.first);
  CHECK(trainer.step(digits(4, 8)).step == 1);
}
